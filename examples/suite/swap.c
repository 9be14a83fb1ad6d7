/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * swap out|in STATE OPS: memory goes to swap by MADV_PAGEOUT, or comes back by being read. An op is
 * one page. Needs a device to swap to: zram or a RAM disk that the kernel has.
 */
#include "suite.h"

int main(int argc, char **argv)
{
	long ops = suite_ops(argc, argv, "out|in STATE OPS");
	size_t page = page_size(), first = HUGE_SIZE, size = ops * page;
	bool out = !strcmp(argv[1], "out");
	char *at = state_map(argv[2], first + size);

	if (!out && strcmp(argv[1], "in"))
		usage("out|in STATE OPS");
	need_swap();
	if (madvise(at, first, MADV_PAGEOUT))
		die_or_not_there("madvise pageout");
	touch_read(at, first);
	if (out)
		start();
	if (madvise(at + first, size, MADV_PAGEOUT))
		die("madvise");
	if (!out)
		start();
	if (!out)
		touch_read(at + first, size);
	stop();
	return 0;
}
