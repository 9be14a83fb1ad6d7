/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * smaps FILE STATE SIZE OPS: reads all of /proc/self/FILE of a process with memory in a state. An
 * op is one read from beginning to end.
 */
#include "suite.h"

static char buffer[1 << 16];

int main(int argc, char **argv)
{
	long ops = suite_ops(argc, argv, "maps|smaps|smaps_rollup|numa_maps STATE SIZE OPS");
	char path[64];
	int fd;

	state_map(argv[2], size_of(argv[3]));
	snprintf(path, sizeof(path), "/proc/self/%s", argv[1]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die_or_not_there(path);
	for (long i = -2; i < ops; i++) {
		ssize_t got;

		if (!i)
			start();
		if (lseek(fd, 0, SEEK_SET))
			die("lseek");
		do {
			got = read(fd, buffer, sizeof(buffer));
		} while (got > 0);
		if (got)
			die(path);
	}
	stop();
	return 0;
}
