/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hugetlb fault|mmap OPS: pages of 2 MiB that the administrator set aside. An op is the first write
 * to one, or one mmap() of one with its munmap().
 */
#include "suite.h"

static const char reserve[] = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages";

int main(int argc, char **argv)
{
	long ops = suite_ops(argc, argv, "fault|mmap OPS");
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | 21 << MAP_HUGE_SHIFT;
	bool fault = !strcmp(argv[1], "fault");
	size_t size = fault ? (ops + 2) * HUGE_SIZE : HUGE_SIZE;
	volatile char *at;
	char number[32];

	if (!fault && strcmp(argv[1], "mmap"))
		usage("fault|mmap OPS");
	snprintf(number, sizeof(number), "%zu", size / HUGE_SIZE);
	if (write_text(reserve, number))
		die_or_not_there("hugetlb");
	for (long i = -2; i < ops; i++) {
		if (i == (fault ? -2 : i)) {
			if (!fault && !i)
				start();
			at = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, -1, 0);
			if (at == MAP_FAILED)
				die_or_not_there("hugetlb");
		}
		if (fault && !i)
			start();
		if (fault)
			at[(i + 2) * HUGE_SIZE] = 1;
		else
			munmap((char *)at, size);
	}
	stop();
	write_text(reserve, "0");
	return 0;
}
