#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What the running kernel says of itself, as files in the folder $1.
cd "$1" || exit 1
dmesg > dmesg 2> /dev/null
cat /proc/modules > modules 2> /dev/null
cat /proc/version > version
cat /proc/cmdline > cmdline
cat /sys/kernel/notes > notes 2> /dev/null
# Where addresses are hidden (kptr_restrict) all are zero, which says nothing; some always are.
if grep -vq '^00* ' /proc/kallsyms 2> /dev/null; then
	cat /proc/kallsyms > kallsyms
fi
if [ -r /proc/config.gz ]; then
	zcat /proc/config.gz > config
elif [ -r "/boot/config-$(uname -r)" ]; then
	cat "/boot/config-$(uname -r)" > config
fi
# What memory is in, beside what the kernel is: NAME VALUE.
for file in /sys/kernel/mm/transparent_hugepage/enabled /sys/kernel/mm/transparent_hugepage/defrag \
	/sys/kernel/mm/transparent_hugepage/shmem_enabled /proc/sys/vm/overcommit_memory \
	/proc/sys/vm/swappiness /proc/sys/vm/nr_hugepages /proc/sys/kernel/numa_balancing \
	/sys/kernel/mm/ksm/run /sys/kernel/mm/lru_gen/enabled \
	/sys/devices/system/cpu/vulnerabilities/*; do
	[ -r "$file" ] && echo "$file $(cat "$file" 2> /dev/null)"
done > state
echo "boot_id $(cat /proc/sys/kernel/random/boot_id 2> /dev/null)" >> state
[ -r /proc/swaps ] && echo "swap_areas $(grep -c '^/' /proc/swaps)" >> state
for file in /sys/module/*/sections/.[a-z_]*; do
	[ -r "$file" ] || continue
	module=${file#/sys/module/}
	echo "${module%%/*} ${file##*/} $(cat "$file" 2> /dev/null)"
done > sections 2> /dev/null
exit 0
