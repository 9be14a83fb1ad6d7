#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The guest's init: settle, run the workload, send what is to be known back over the second serial
# port. Lines that begin with "profdiff: " tell the host where we are; after "profdiff: archive"
# follows one gzipped tar.
export PATH=/bin:/sbin:/usr/bin:/usr/sbin:/usr/local/bin HOME=/root
# Python would draw the seed of its hashes, and its sets their order, anew in each boot.
export PYTHONHASHSEED=0
# Then it does as its user would have it; in a varied state, it does the same as in the plain one.
vary_python() { [ -e /profdiff/varied-state ] || unset PYTHONHASHSEED; }
/bin/busybox mkdir -p /bin /proc /sys /dev /tmp /root /profdiff/out
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev 2>/dev/null
mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
[ -e /dev/shm ] || mkdir -p /dev/shm
# kptr_restrict hides addresses in kallsyms; it is 0 unless the kernel's configuration says else.
echo 0 > /proc/sys/kernel/kptr_restrict 2>/dev/null
channel=$(cat /profdiff/channel)
out=/profdiff/out
# Raw: without it the line discipline turns LF into CR LF, also in the archive.
stty -F $channel raw -echo 2>/dev/null
# Open from here on: to open a serial port starts it, to close it stops it, and a restored machine
# would do both for each line. The workload does not inherit it.
exec 3> $channel
tell() { echo "profdiff: $*" >&3; }
tell_facts() {
	sh /profdiff/facts.sh .
	grep -c '^cpu[0-9]' /proc/stat > cpus
	[ -x /profdiff/agent ] && /profdiff/agent vdso > vdso
}

# Without another program, which QEMU would translate anew in each restored machine.
module_names() {
	while read -r name rest; do echo "$name"; done < /proc/modules
} 2>/dev/null

tell phase settle
[ -x /profdiff/agent ] && /profdiff/agent random
settle=$(cat /profdiff/settle)
# A boot of its own kind has its own time (--vary-boots).
for word in $(cat /proc/cmdline); do
	case $word in profdiff.settle=*) settle=${word#*=}; vary_python ;; esac
done
sleep "$settle"
if [ -e /profdiff/held ]; then
	# Here the machine is saved, after what is to be known of it went to the host. Each run begins
	# with the machine as it was, and brings what it runs.
	mkdir /profdiff/facts
	cd /profdiff/facts
	tell_facts
	tell archive
	tar -c -f - * | /profdiff/agent pack >&3
	cd /
	rm -r /profdiff/facts
	modules=$(module_names)
	# Ends the machine itself where it can. What it began to measure, it says there.
	/profdiff/agent hold || [ -e $out/stderr ] || reboot -f
	[ -e /profdiff/varied ] && vary_python
fi
if ! [ -e $out/stderr ]; then
	tell phase measure
	cd /work
	if [ -e /profdiff/collector.sh ]; then sh /profdiff/collector.sh /profdiff $out 3>&-
	else /profdiff/agent collect /profdiff $out 3>&-; fi
	if [ -e /profdiff/observe ]; then
		/profdiff/agent observe /profdiff/argv $out/observed < /dev/null > /dev/null 2>&1 3>&-
	fi
fi
tell phase collect
cd $out
# Symbols of a module that the workload loaded are newer than the saved machine's facts.
[ -e /profdiff/held ] && [ "$(module_names)" = "$modules" ] || tell_facts
if ! { [ -e /profdiff/held ] && /profdiff/agent hand-over *; }; then
	tell archive
	tar -c -f - * | /profdiff/agent pack >&3
	# Closing it waits until all is sent.
	exec 3>&-
fi
# With -no-reboot this ends QEMU, with or without ACPI. There is no disk to sync.
reboot -n -f
# Without ACPI and PSCI nothing else would.
poweroff -f
