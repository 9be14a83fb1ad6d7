/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * madvise ADVICE STATE SIZE OPS: madvise() of memory in a state, which is made anew outside the
 * window. An op is one call.
 *
 * ADVICE is the constant's name in small letters, without MADV_.
 */
#include "suite.h"

/* Of <linux/mman.h>, for C libraries that do not know them yet. */
static const struct {
	const char *name;
	int advice;
	bool swaps;
} advices[] = {
	{ "normal", 0, false },
	{ "random", 1, false },
	{ "willneed", 3, false },
	{ "dontneed", 4, false },
	{ "free", 8, false },
	{ "remove", 9, false },
	{ "dontfork", 10, false },
	{ "mergeable", 12, false },
	{ "hugepage", 14, false },
	{ "nohugepage", 15, false },
	{ "dontdump", 16, false },
	{ "wipeonfork", 18, false },
	{ "cold", 20, false },
	{ "pageout", 21, true },
	{ "populate_read", 22, false },
	{ "populate_write", 23, false },
	{ "dontneed_locked", 24, false },
	{ "collapse", 25, false },
	{ "guard_install", 102, false },
	{ "guard_remove", 103, false },
};

int main(int argc, char **argv)
{
	long ops = suite_ops(argc, argv, "ADVICE STATE SIZE OPS");
	const char *state = argv[2];
	size_t size = size_of(argv[3]), known = sizeof(advices) / sizeof(*advices), which = 0;
	int fd = state_fd(state, size);
	char *at = free_range(size);
	char what[64];
	bool collapse;

	while (which < known && strcmp(advices[which].name, argv[1]))
		which++;
	if (which == known)
		usage("ADVICE STATE SIZE OPS");
	if (advices[which].swaps)
		need_swap();
	collapse = !strcmp(argv[1], "collapse");
	if (collapse)
		prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
	snprintf(what, sizeof(what), "madvise %s", argv[1]);
	for (long i = -2; i < ops; i++) {
		munmap(at, size);
		/* What became huge in the file is made of small pages again. */
		if (collapse && fd >= 0 && (ftruncate(fd, 0) || ftruncate(fd, size)))
			die("ftruncate");
		if (state_mmap(state, at, size, fd) == MAP_FAILED)
			die("mmap");
		state_touch(state, at, size);
		/* What takes guards away finds them. */
		if (advices[which].advice == 103 && madvise(at, size, 102))
			die_or_not_there(what);
		if (i >= 0)
			start();
		if (madvise(at, size, advices[which].advice)) {
			stop();
			die_or_not_there(what);
		}
		if (i >= 0)
			stop();
	}
	return 0;
}
