/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mmap WAY STATE SIZE OPS: mmap() of memory, which is unmapped again outside the window. An op is
 * one call.
 *
 * map: nothing is touched. populate: with MAP_POPULATE, every page. over: with MAP_FIXED over a
 * mapping in that state. beside: directly behind a mapping of the same kind, with which it is
 * merged. anywhere: where the kernel finds room.
 */
#include "suite.h"

static const char words[] = "map|populate|over|beside|anywhere STATE SIZE OPS";

int main(int argc, char **argv)
{
	long ops = suite_ops(argc, argv, words);
	const char *way = argv[1], *state = argv[2];
	size_t size = size_of(argv[3]);
	int fd = state_fd(state, 2 * size);
	int flags = state_flags(state, fd);
	char *at = free_range(2 * size);
	bool over = !strcmp(way, "over"), beside = !strcmp(way, "beside");
	off_t offset = 0;

	if (!strcmp(way, "populate"))
		flags |= MAP_POPULATE;
	else if (!over && !beside && strcmp(way, "map") && strcmp(way, "anywhere"))
		usage(words);
	if (strcmp(way, "anywhere"))
		flags |= MAP_FIXED;
	if (beside) {
		if (state_mmap(state, at, size, fd) == MAP_FAILED)
			die("mmap");
		at += size;
		offset = fd < 0 ? 0 : size;
	}
	for (long i = -2; i < ops; i++) {
		char *got;

		if (over) {
			if (state_mmap(state, at, size, fd) == MAP_FAILED)
				die("mmap");
			state_touch(state, at, size);
		}
		if (i >= 0)
			start();
		got = mmap(at, size, PROT_READ | PROT_WRITE, flags, fd, offset);
		if (i >= 0)
			stop();
		if (got == MAP_FAILED)
			die("mmap");
		if (munmap(got, size))
			die("munmap");
	}
	return 0;
}
