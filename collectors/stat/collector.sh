#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The workload under perf stat: collector.sh FOLDER OUT.
# FOLDER/attempt.N holds arguments of perf stat, each ended by a NUL. The first with which perf counts
# all events is used, or the last with which it starts; its number goes to OUT/attempt. FOLDER/argv
# holds the workload.
folder=$1
out=$2
export LC_ALL=C
tab=$(printf '\t')
[ "$folder" = /profdiff ] && sh "$folder/environment.sh" > "$out/environment"
command -v perf > /dev/null || exit 0
perf --version > "$out/perf-version" 2> /dev/null
stat() { xargs -0 sh -c 'perf stat "$@"; echo "exit $?" > "$0"' "$1"; }
for attempt in "$folder"/attempt.*; do
	number=${attempt##*.}
	rm -f "$folder/probe"
	{ printf -- '-x\0%s\0-o\0%s\0' "$tab" "$folder/probe.stat"; cat "$attempt"; printf -- '--\0true\0'; } |
		stat "$folder/probe" > /dev/null 2> "$out/perf-refusal"
	[ "$(cat "$folder/probe" 2> /dev/null)" = "exit 0" ] || continue
	echo "$number" > "$out/attempt"
	grep -q '^<not ' "$folder/probe.stat" || break
done
rm -f "$folder/probe.stat"
[ -e "$out/attempt" ] || exit 0
rm -f "$out/perf-refusal"
cat /proc/vmstat > "$out/vmstat-before"
# The agent takes the time of the workload alone, and starts it as the other collectors do.
{
	printf -- '-x\0%s\0-o\0%s\0' "$tab" "$out/stat"
	cat "$folder/attempt.$(cat "$out/attempt")"
	printf '%s\0' -- "$folder/agent" run "$folder/argv" "$out/status" "$out/usage" 1
} | stat "$folder/probe" > "$out/stdout" 2> "$out/stderr"
rm -f "$folder/probe"
cat /proc/vmstat > "$out/vmstat-after"
