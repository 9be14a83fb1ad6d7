/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmas CALL NUMBER OPS: NUMBER mappings of a page, each with a gap behind it so that none merge, are
 * made, written to and unmapped. An op is the calls of one round, mmap() or munmap(), without the rest.
 */
#include "../suite/suite.h"

#define MAX_NUMBER 10000

static const char words[] = "mmap|munmap NUMBER OPS";

int main(int argc, char **argv)
{
	long ops = suite_ops(argc, argv, words), number = atol(argv[2]);
	bool maps = !strcmp(argv[1], "mmap");
	size_t page = page_size();
	char *area;

	if ((!maps && strcmp(argv[1], "munmap")) || number < 1 || number > MAX_NUMBER)
		usage(words);
	area = free_range(2 * number * page);
	for (long i = -4; i < ops; i++) {
		if (maps && i >= 0)
			start();
		for (long j = 0; j < number; j++)
			if (mmap(area + 2 * j * page, page, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED)
				die("mmap");
		if (maps && i >= 0)
			stop();
		for (long j = 0; j < number; j++)
			area[2 * j * page] = 1;
		if (!maps && i >= 0)
			start();
		for (long j = 0; j < number; j++)
			if (munmap(area + 2 * j * page, page))
				die("munmap");
		if (!maps && i >= 0)
			stop();
	}
	return 0;
}
