#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The workload under perf record: collector.sh FOLDER OUT.
# FOLDER/attempt.N holds arguments of perf record, each ended by a NUL: the first with which perf
# can record is used, and its number goes to OUT/attempt. FOLDER/argv holds the workload.
folder=$1
out=$2
rate=/proc/sys/kernel/perf_event_max_sample_rate
if [ "$folder" = /profdiff ]; then
	# A guest is ours alone: nothing is to stop perf from sampling.
	echo 1000000 > $rate
	echo 0 > /proc/sys/kernel/perf_cpu_time_max_percent
	sh "$folder/environment.sh" > "$out/environment"
fi
command -v perf > /dev/null || exit 0
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
{
	printf 'perf_event_max_sample_rate_after '
	cat $rate
} >> "$out/environment"
