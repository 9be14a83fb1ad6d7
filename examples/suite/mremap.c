/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mremap WAY STATE SIZE OPS: mremap() of memory in a state. An op is one call.
 *
 * grow: to twice its size where it is, and shrink: back, from touched pages. move: to another
 * address and back. keep: the pages move and the mapping stays (MREMAP_DONTUNMAP).
 */
#include "suite.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

static const char words[] = "grow|shrink|move|keep STATE SIZE OPS";

static void resize(const char *way, const char *state, char *at, size_t size, long ops)
{
	bool grow = !strcmp(way, "grow");

	for (long i = -2; i < ops; i++) {
		if (i >= 0 && grow)
			start();
		if (mremap(at, size, 2 * size, 0) != at)
			die("mremap");
		if (i >= 0 && grow)
			stop();
		state_touch(state, at + size, size);
		if (i >= 0 && !grow)
			start();
		if (mremap(at, 2 * size, size, 0) != at)
			die("mremap");
		if (i >= 0 && !grow)
			stop();
	}
}

static void move(int flags, char *at, size_t size, long ops)
{
	char *to = free_range(size);

	flags |= MREMAP_MAYMOVE | MREMAP_FIXED;
	for (long i = -2; i < ops; i++) {
		char *from = i & 1 ? to : at, *target = i & 1 ? at : to;

		if (i >= 0)
			start();
		if (mremap(from, size, size, flags, target) != target)
			die_or_not_there("mremap");
		if (i >= 0)
			stop();
		if (flags & MREMAP_DONTUNMAP && munmap(from, size))
			die("munmap");
	}
}

int main(int argc, char **argv)
{
	long ops = suite_ops(argc, argv, words);
	size_t size = size_of(argv[3]);
	char *at = state_map_file(argv[2], size, 2 * size);

	if (!strcmp(argv[1], "grow") || !strcmp(argv[1], "shrink"))
		resize(argv[1], argv[2], at, size, ops);
	else if (!strcmp(argv[1], "move"))
		move(0, at, size, ops);
	else if (!strcmp(argv[1], "keep"))
		move(MREMAP_DONTUNMAP, at, size, ops);
	else
		usage(words);
	return 0;
}
