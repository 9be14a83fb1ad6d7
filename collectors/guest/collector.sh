#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The workload alone, as often as boot-runs says: collector.sh FOLDER OUT.
state=
[ -e "$1/varied-state" ] && state=$1/varied-state
cat /proc/vmstat > "$2/vmstat-before"
"$1/agent" run "$1/argv" "$2/status" "$2/usage" "$(cat "$1/boot-runs")" $state \
	< /dev/null > "$2/stdout" 2> "$2/stderr"
cat /proc/vmstat > "$2/vmstat-after"
