/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pagemap WAY STATE SIZE OPS: what /proc/self/pagemap says of memory in a state. An op is one call.
 *
 * read: pread() of its entries. scan: PAGEMAP_SCAN for pages that are present. clear: writes to
 * /proc/self/clear_refs that no page was written since (soft-dirty).
 */
#include "suite.h"

#include <sys/ioctl.h>

/* <linux/fs.h>, since Linux 6.7. */
struct region {
	uint64_t start, end, categories;
};

struct scan {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};

#define SCAN _IOWR('f', 16, struct scan)
#define PRESENT (1 << 3)

int main(int argc, char **argv)
{
	long ops = suite_ops(argc, argv, "read|scan|clear STATE SIZE OPS");
	size_t size = size_of(argv[3]), entries = size / page_size() * 8;
	char *at = state_map(argv[2], size), *buffer = malloc(entries);
	bool clear = !strcmp(argv[1], "clear"), scan = !strcmp(argv[1], "scan");
	const char *path = clear ? "/proc/self/clear_refs" : "/proc/self/pagemap";
	int fd = open(path, (clear ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
	struct region regions[64];

	if (!clear && !scan && strcmp(argv[1], "read"))
		usage("read|scan|clear STATE SIZE OPS");
	if (fd < 0)
		die_or_not_there(path);
	if (!buffer)
		die("malloc");
	for (long i = -2; i < ops; i++) {
		struct scan asked = { .size = sizeof(asked), .start = (uintptr_t)at,
				      .end = (uintptr_t)at + size, .vec = (uintptr_t)regions,
				      .vec_len = 64, .category_mask = PRESENT,
				      .return_mask = PRESENT };
		bool wrong;

		if (!i)
			start();
		if (clear)
			wrong = write(fd, "4", 1) != 1;
		else if (scan)
			wrong = ioctl(fd, SCAN, &asked) < 0;
		else
			wrong = pread(fd, buffer, entries, (uintptr_t)at / page_size() * 8) !=
				(ssize_t)entries;
		if (wrong && errno == ENOTTY)
			not_there("PAGEMAP_SCAN");
		if (wrong)
			die_or_not_there(path);
	}
	stop();
	return 0;
}
