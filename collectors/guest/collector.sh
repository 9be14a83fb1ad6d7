#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The workload alone, as often as boot-runs says: collector.sh FOLDER OUT.
cat /proc/vmstat > "$2/vmstat-before"
"$1/agent" run "$1/argv" "$2/status" "$2/usage" "$(cat "$1/boot-runs")" \
	< /dev/null > "$2/stdout" 2> "$2/stderr"
cat /proc/vmstat > "$2/vmstat-after"
