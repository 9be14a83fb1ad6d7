/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * munmap WAY STATE SIZE OPS: munmap() of memory in a state, which is made anew outside the window.
 * An op is one call.
 *
 * whole: all of it. hole: its middle half, so that two mappings remain. many: all of it at once,
 * where each page is a mapping of its own.
 */
#include "suite.h"

static const char words[] = "whole|hole|many STATE SIZE OPS";

int main(int argc, char **argv)
{
	long ops = suite_ops(argc, argv, words);
	const char *way = argv[1], *state = argv[2];
	size_t size = size_of(argv[3]), page = page_size(), part = size;
	bool many = !strcmp(way, "many");
	int fd = state_fd(state, size);
	char *at = free_range(size), *from = at;

	if (!strcmp(way, "hole")) {
		part = size / 2 / page * page;
		from += size / 4 / page * page;
	} else if (!many && strcmp(way, "whole")) {
		usage(words);
	}
	for (long i = -2; i < ops; i++) {
		if (state_mmap(state, at, size, fd) == MAP_FAILED)
			die("mmap");
		state_touch(state, at, size);
		for (size_t offset = 0; many && offset < size; offset += 2 * page)
			if (madvise(at + offset, page, MADV_DONTFORK))
				die("madvise");
		if (i >= 0)
			start();
		if (munmap(from, part))
			die("munmap");
		if (i >= 0)
			stop();
	}
	return 0;
}
