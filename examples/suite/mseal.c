/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mseal STATE SIZE OPS: mseal() of one mapping after the other. An op is one call. */
#include "suite.h"

#ifndef SYS_mseal
#define SYS_mseal 462
#endif

int main(int argc, char **argv)
{
	long ops = suite_ops(argc, argv, "STATE SIZE OPS");
	size_t size = size_of(argv[2]);
	/*
	 * A sealed mapping cannot go away, so each call has its own; the gaps keep them apart.
	 * There are as many for any OPS: the tree of mappings gets deeper with more.
	 */
	long count = 1024;
	char *at = free_range(count * 2 * size);
	int fd = state_fd(argv[1], size);

	if (ops + 16 > count)
		usage("STATE SIZE OPS: at most 1008 OPS");
	for (long i = 0; i < count; i++) {
		if (state_mmap(argv[1], at + 2 * i * size, size, fd) == MAP_FAILED)
			die("mmap");
		state_touch(argv[1], at + 2 * i * size, size);
	}
	for (long i = 0; i < ops + 16; i++) {
		if (i == 16)
			start();
		if (syscall(SYS_mseal, at + 2 * i * size, size, 0))
			die_or_not_there("mseal");
	}
	stop();
	return 0;
}
