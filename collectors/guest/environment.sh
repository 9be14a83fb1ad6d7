#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What decides whether and how well perf can record here: lines of "NAME VALUE".
value() {
	[ -r "$2" ] && echo "$1 $(tr '\n' ' ' < "$2" 2> /dev/null)"
}
echo "kernel $(uname -r)"
echo "architecture $(uname -m)"
echo "user $(id -u)"
echo "perf $(command -v perf 2> /dev/null)"
echo "perf_version $(perf version 2> /dev/null | sed 's/^perf version //')"
echo "cpus $(grep -c '^processor' /proc/cpuinfo)"
echo "processor $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
value perf_event_paranoid /proc/sys/kernel/perf_event_paranoid
value kptr_restrict /proc/sys/kernel/kptr_restrict
value perf_event_max_sample_rate /proc/sys/kernel/perf_event_max_sample_rate
value perf_event_mlock_kb /proc/sys/kernel/perf_event_mlock_kb
value nmi_watchdog /proc/sys/kernel/nmi_watchdog
value numa_balancing /proc/sys/kernel/numa_balancing
value randomize_va_space /proc/sys/kernel/randomize_va_space
value governor /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor
value no_turbo /sys/devices/system/cpu/intel_pstate/no_turbo
value boost /sys/devices/system/cpu/cpufreq/boost
value smt /sys/devices/system/cpu/smt/control
value transparent_hugepage /sys/kernel/mm/transparent_hugepage/enabled
value pmu /sys/bus/event_source/devices/cpu/type
for file in /sys/devices/system/cpu/vulnerabilities/*; do
	[ -r "$file" ] && echo "mitigation ${file##*/}: $(cat "$file")"
done
for file in /sys/bus/event_source/devices/*; do
	[ -e "$file" ] && printf 'event_source %s\n' "${file##*/}"
done
grep -qw hypervisor /proc/cpuinfo && echo "hypervisor yes"
exit 0
