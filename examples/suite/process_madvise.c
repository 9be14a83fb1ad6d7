/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * process_madvise RANGES STATE SIZE OPS: process_madvise(MADV_COLD) of so many equal parts of
 * memory in a state, by this process's own pidfd. An op is one call.
 */
#include "suite.h"

#include <sys/uio.h>

int main(int argc, char **argv)
{
	long ops = suite_ops(argc, argv, "RANGES STATE SIZE OPS");
	size_t size = size_of(argv[3]), count = size_of(argv[1]);
	char *at = state_map(argv[2], size);
	struct iovec ranges[64];
	int pidfd = syscall(SYS_pidfd_open, getpid(), 0);

	if (!count || count > 64 || size / page_size() % count)
		usage("RANGES STATE SIZE OPS");
	if (pidfd < 0)
		die_or_not_there("pidfd_open");
	for (size_t i = 0; i < count; i++)
		ranges[i] = (struct iovec){ at + i * (size / count), size / count };
	for (long i = -2; i < ops; i++) {
		if (!i)
			start();
		if (syscall(SYS_process_madvise, pidfd, ranges, count, MADV_COLD, 0) < 0)
			die_or_not_there("process_madvise");
	}
	stop();
	return 0;
}
