# SPDX-License-Identifier: GPL-2.0-or-later
# Behind tracefs.sh.
# The workload three times: to warm up, alone, and with ftrace's function_graph on some functions:
# collector.sh FOLDER OUT. FOLDER/functions holds their names, one a line; FOLDER/buffer the buffer's
# size in KiB, on all processors together. A word in OUT/tracefs-refusal says why nothing was traced.
# Whatever happens, ftrace is left as it was found.
grep -qw function_graph $top/available_tracers || refuse tracer
# The symbols of the functions, with the suffixes that the compiler gave them.
awk 'NR == FNR { wanted[$1]; next }
	{ name = $1; sub(/\..*/, "", name); if (name in wanted) print $1 }' \
	"$folder/functions" $top/available_filter_functions > "$out/traced-symbols"
[ -s "$out/traced-symbols" ] || refuse functions

# Since Linux 6.11, function_graph runs in an instance of its own (c132be2c4fcc, "function_graph: Have
# the instances use their own ftrace_ops for filtering"). Otherwise ours is the only user.
tracer=$top/instances/profdiff.$$
if mkdir "$tracer" 2> /dev/null && grep -qw function_graph "$tracer/available_tracers"; then
	own=1
else
	rmdir "$tracer" 2> /dev/null
	tracer=$top own=
	[ "$(cat $tracer/current_tracer)" = nop ] || refuse busy
	grep -v '^#' $tracer/set_ftrace_filter > "$folder/filter.was"
	cat $tracer/set_ftrace_pid > "$folder/pid.was"
	kept_on=$(cat $tracer/tracing_on)
	# In brackets: what it will be, or "7 (expanded: 1408)".
	kept_buffer=$(sed 's/[^0-9].*//' $tracer/buffer_size_kb)
fi
options='overwrite function-fork funcgraph-overrun funcgraph-cpu funcgraph-overhead funcgraph-proc
	funcgraph-duration funcgraph-abstime funcgraph-irqs funcgraph-tail funcgraph-retval
	funcgraph-retaddr funcgraph-args sleep-time graph-time'
kept_options=
set_to() { echo "$1" > "$tracer/$2"; }
restore() {
	trap - EXIT
	trap '' HUP INT TERM PIPE
	exec 2> /dev/null
	set_to 0 tracing_on
	for option in $kept_options; do set_to "$option" trace_options; done
	set_to nop current_tracer
	: > "$tracer/set_ftrace_filter"
	: > "$tracer/set_ftrace_pid"
	if [ "$own" ]; then
		rmdir "$tracer"
		return
	fi
	while read -r name _; do echo "$name" >> $tracer/set_ftrace_filter; done < "$folder/filter.was"
	while read -r pid _; do echo "$pid" >> $tracer/set_ftrace_pid; done < "$folder/pid.was"
	: > $tracer/trace
	set_to "$kept_buffer" buffer_size_kb
	set_to "$kept_on" tracing_on
}
trap restore EXIT
trap 'exit 1' HUP INT TERM PIPE

state=
[ -e "$folder/varied-state" ] && state=$folder/varied-state
cat /proc/vmstat > "$out/vmstat-before"
"$folder/agent" run "$folder/argv" "$folder/untraced-status" "$out/untraced-usage" 2 $state \
	< /dev/null > /dev/null 2>&1

set_to 0 tracing_on
: > "$tracer/set_ftrace_filter"
while read -r symbol; do
	echo "$symbol" >> "$tracer/set_ftrace_filter" 2> /dev/null
done < "$out/traced-symbols"
# With no filter, all functions would be traced.
[ "$(grep -vc '^#' "$tracer/set_ftrace_filter")" -gt 0 ] || refuse functions
cpus=0
for cpu in "$tracer"/per_cpu/cpu*; do cpus=$((cpus + 1)); done
set_to $(($(cat "$folder/buffer") / cpus + 1)) buffer_size_kb 2> /dev/null || refuse memory
set_to function_graph current_tracer 2> /dev/null || refuse tracer
for option in $options; do
	now=$(grep -xE "(no)?$option" "$tracer/trace_options") && kept_options="$kept_options $now"
done
for option in nooverwrite function-fork nofuncgraph-overrun nofuncgraph-cpu nofuncgraph-overhead \
	nofuncgraph-proc funcgraph-duration nofuncgraph-abstime funcgraph-irqs funcgraph-tail \
	nofuncgraph-retval nofuncgraph-retaddr nofuncgraph-args sleep-time graph-time; do
	set_to "$option" trace_options 2> /dev/null
done
: > "$tracer/trace"
# Only the workload: the process that becomes the agent, and those that it starts.
sh -c 'tracer=$0; echo $$ > "$tracer/set_ftrace_pid"; echo 1 > "$tracer/tracing_on"; exec "$@"' \
	"$tracer" "$folder/agent" run "$folder/argv" "$out/status" "$out/usage" 1 $state \
	< /dev/null > "$out/stdout" 2> "$out/stderr"
set_to 0 tracing_on
cat /proc/vmstat > "$out/vmstat-after"
cat "$tracer"/per_cpu/cpu*/stats > "$out/trace-buffers"
head -c 536870912 "$tracer/trace" > "$out/trace"
