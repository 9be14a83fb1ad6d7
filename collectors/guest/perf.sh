#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Run the workload under perf record: perf.sh FOLDER OUT, in the workload's folder.
# FOLDER/attempt.N holds arguments of perf record, each ended by a NUL: the first with which perf
# can record is used, and its number goes to OUT/attempt. FOLDER/argv holds the workload.
folder=$1
out=$2
record() { xargs -0 sh -c 'perf record "$@"; echo "exit $?" > "$0"' "$1"; }
for attempt in "$folder"/attempt.*; do
	number=${attempt##*.}
	{ printf -- '-q\0-o\0%s\0' "$folder/probe.data"; cat "$attempt"; printf -- '--\0true\0'; } |
		record "$folder/probe" > /dev/null 2> "$out/perf-refusal.$number"
	if [ "$(cat "$folder/probe" 2> /dev/null)" = "exit 0" ]; then
		rm -f "$out/perf-refusal.$number"
		echo "$number" > "$out/attempt"
		break
	fi
done
rm -f "$folder/probe.data" "$folder/probe"
[ -e "$out/attempt" ] || exit 0
cat /proc/vmstat > "$out/vmstat-before"
{ printf -- '-o\0%s\0' "$out/perf.data"; cat "$attempt"; printf -- '--\0'; cat "$folder/argv"; } |
	record "$out/status" > "$out/stdout" 2> "$out/stderr"
cat /proc/vmstat > "$out/vmstat-after"
