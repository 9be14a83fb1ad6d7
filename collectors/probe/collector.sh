# SPDX-License-Identifier: GPL-2.0-or-later
# Behind tracefs.sh.
# The workload with events of kprobes on some functions: collector.sh FOLDER OUT. FOLDER/probes holds
# a number, a function and a variable a line; the variable "return" is what the function returns. The
# kernel counts the values itself, by thread (Documentation/trace/{kprobetrace,histogram}.rst). A word
# in OUT/tracefs-refusal says why nothing was probed. Whatever happens, the events are removed.
[ -e $top/kprobe_events ] || refuse events
group=profdiff_$$
tracer=$top/instances/$group
mkdir "$tracer" 2> /dev/null || refuse instance
made=
restore() {
	trap - EXIT
	trap '' HUP INT TERM PIPE
	exec 2> /dev/null
	for trigger in "$tracer"/events/$group/*/trigger "$tracer/events/sched/sched_process_fork/trigger"; do
		while read -r set; do
			case $set in hist:*) echo "!$set" | sed 's/ \[[a-z]*\]$//' > "$trigger" ;; esac
		done < "$trigger"
	done
	rmdir "$tracer"
	for number in $made; do echo "-:$group/probe$number" >> $top/kprobe_events; done
}
trap restore EXIT
trap 'exit 1' HUP INT TERM PIPE

while read -r number function variable; do
	where=p what=$variable
	[ "$variable" = return ] && where=r what='$retval'
	if echo "$where:$group/probe$number $function value=$what" >> $top/kprobe_events 2> /dev/null; then
		made="$made $number"
		echo 'hist:keys=common_pid,value:size=65536' \
			> "$tracer/events/$group/probe$number/trigger" 2> /dev/null || refuse histogram
	else
		echo "$number $(grep -o 'error: .*' $top/error_log 2> /dev/null | tail -n 1)" >> "$out/probe-errors"
	fi
done < "$folder/probes"
[ "$made" ] || refuse probes
# Which threads are the workload's.
echo 'hist:keys=parent_pid,child_pid:size=65536' \
	> "$tracer/events/sched/sched_process_fork/trigger" 2> /dev/null || refuse histogram
state=
[ -e "$folder/varied-state" ] && state=$folder/varied-state
cat /proc/vmstat > "$out/vmstat-before"
sh -c 'echo $$ > "$0"; exec "$@"' "$out/probe-pid" \
	"$folder/agent" run "$folder/argv" "$out/status" "$out/usage" 1 $state \
	< /dev/null > "$out/stdout" 2> "$out/stderr"
for number in $made; do
	cat "$tracer/events/$group/probe$number/hist" > "$out/probe.$number"
done
cat "$tracer/events/sched/sched_process_fork/hist" > "$out/probe-forks"
cat /proc/vmstat > "$out/vmstat-after"
