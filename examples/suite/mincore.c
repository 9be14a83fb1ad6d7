/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mincore STATE SIZE OPS: mincore() of memory in a state. An op is one call. */
#include "suite.h"

int main(int argc, char **argv)
{
	long ops = suite_ops(argc, argv, "STATE SIZE OPS");
	size_t size = size_of(argv[2]);
	char *at = state_map(argv[1], size);
	unsigned char *resident = malloc(size / page_size());

	if (!resident)
		die("malloc");
	for (long i = -2; i < ops; i++) {
		if (!i)
			start();
		if (mincore(at, size, resident))
			die("mincore");
	}
	stop();
	return 0;
}
