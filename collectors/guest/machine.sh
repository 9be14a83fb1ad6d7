#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# One run on a machine that is not ours to boot: machine.sh FOLDER WORK. FOLDER holds this script and
# its neighbours, a collector's collector.sh with what that needs, and argv; the results go to FOLDER/out. Lines
# that begin with "profdiff: " tell where we are.
folder=$1
work=$2
out=$folder/out
mkdir -p "$out" "$work"
echo "profdiff: phase settle" >&2
sh "$folder/environment.sh" > "$out/environment"
echo "profdiff: phase measure" >&2
cd "$work" || exit 1
if [ -e "$folder/collector.sh" ]; then sh "$folder/collector.sh" "$folder" "$out"
else "$folder/agent" collect "$folder" "$out"; fi
echo "profdiff: phase collect" >&2
sh "$folder/facts.sh" "$out"
