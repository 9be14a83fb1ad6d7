#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Timed runs on a machine that is not ours to boot: timed.sh FOLDER WORK. FOLDER holds this script
# and its neighbours, the agent, argv and boot-runs; the results go to FOLDER/out. Lines that begin
# with "profdiff: " tell where we are.
folder=$1
work=$2
out=$folder/out
mkdir -p "$out" "$work"
echo "profdiff: phase settle" >&2
sh "$folder/environment.sh" > "$out/environment"
echo "profdiff: phase measure" >&2
cd "$work" || exit 1
cat /proc/vmstat > "$out/vmstat-before"
"$folder/agent" run "$folder/argv" "$out/status" "$out/usage" "$(cat "$folder/boot-runs")" \
	< /dev/null > "$out/stdout" 2> "$out/stderr"
cat /proc/vmstat > "$out/vmstat-after"
echo "profdiff: phase collect" >&2
sh "$folder/facts.sh" "$out"
