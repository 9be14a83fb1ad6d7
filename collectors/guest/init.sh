#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The guest's init: settle, run the workload, send what is to be known back over the second serial
# port. Lines that begin with "profdiff: " tell the host where we are; after "profdiff: archive"
# follows one gzipped tar.
export PATH=/bin:/sbin:/usr/bin:/usr/sbin:/usr/local/bin HOME=/root
/bin/busybox mkdir -p /bin /proc /sys /dev /tmp /root /profdiff/out
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev 2>/dev/null
mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
[ -e /dev/shm ] || mkdir -p /dev/shm
# kptr_restrict hides addresses in kallsyms; it is 0 unless the kernel's configuration says else.
echo 0 > /proc/sys/kernel/kptr_restrict 2>/dev/null
channel=/dev/ttyS1
out=/profdiff/out
# Raw: without it the line discipline turns LF into CR LF, also in the archive.
stty -F $channel raw -echo 2>/dev/null
tell() { echo "profdiff: $*" > $channel; }

tell phase settle
sleep "$(cat /profdiff/settle)"
tell phase measure
cd /work
/profdiff/agent run /profdiff/argv $out/status < /dev/null > $out/stdout 2> $out/stderr
tell phase collect
cd $out
dmesg > dmesg 2>/dev/null
cat /proc/kallsyms > kallsyms 2>/dev/null
cat /proc/modules > modules 2>/dev/null
cat /proc/version > version
cat /proc/cmdline > cmdline
cat /sys/kernel/notes > notes 2>/dev/null
[ -r /proc/config.gz ] && zcat /proc/config.gz > config
for file in /sys/module/*/sections/.[a-z_]*; do
	[ -f "$file" ] || continue
	module=${file#/sys/module/}
	echo "${module%%/*} ${file##*/} $(cat "$file")"
done > sections 2>/dev/null
/profdiff/agent vdso > vdso
tell archive
tar -c -f - * | gzip -1 > $channel
# With -no-reboot this ends QEMU, with or without ACPI.
reboot -f
