#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# How scripts that use ftrace begin: FOLDER OUT. $top is where tracefs is; a word in
# OUT/tracefs-refusal says why it cannot be used.
folder=$1
out=$2
export LC_ALL=C
refuse() {
	echo "$1" > "$out/tracefs-refusal"
	exit 0
}
[ "$(id -u)" = 0 ] || refuse rights
top=/sys/kernel/tracing
[ -e $top/trace ] || mount -t tracefs tracefs $top 2> /dev/null
[ -e $top/trace ] || top=/sys/kernel/debug/tracing
[ -e $top/trace ] || refuse tracefs
