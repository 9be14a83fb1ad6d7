/* SPDX-License-Identifier: GPL-2.0-or-later */
/* msync sync|async|invalidate STATE SIZE OPS: msync() of memory in a state. An op is one call. */
#include "suite.h"

static const char words[] = "sync|async|invalidate STATE SIZE OPS";

int main(int argc, char **argv)
{
	long ops = suite_ops(argc, argv, words);
	size_t size = size_of(argv[3]);
	char *at = state_map(argv[2], size);
	int flags = !strcmp(argv[1], "sync")	? MS_SYNC
		    : !strcmp(argv[1], "async") ? MS_ASYNC
						: MS_INVALIDATE;

	if (flags == MS_INVALIDATE && strcmp(argv[1], "invalidate"))
		usage(words);
	for (long i = -2; i < ops; i++) {
		if (!i)
			start();
		if (msync(at, size, flags))
			die("msync");
	}
	stop();
	return 0;
}
