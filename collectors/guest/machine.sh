#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# One run on a machine that is not ours to boot: machine.sh FOLDER WORK. FOLDER holds this script and
# its neighbours, attempt.N and argv; the results go to FOLDER/out. Lines that begin with
# "profdiff: " tell where we are.
folder=$1
work=$2
out=$folder/out
mkdir -p "$out"
echo "profdiff: phase settle" >&2
sh "$folder/environment.sh" > "$out/environment"
if ! command -v perf > /dev/null; then
	exit 0
fi
echo "profdiff: phase measure" >&2
cd "$work" || exit 1
sh "$folder/perf.sh" "$folder" "$out"
echo "profdiff: phase collect" >&2
{
	printf 'perf_event_max_sample_rate_after '
	cat /proc/sys/kernel/perf_event_max_sample_rate
} >> "$out/environment"
sh "$folder/facts.sh" "$out"
