#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# perf in a guest, with a loader and libraries of its own: those of the workload may be others.
folder=/usr/lib/profdiff-perf
exec $folder/ld.so --library-path $folder $folder/perf "$@"
