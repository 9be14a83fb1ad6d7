/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * protect-pages PAGES ROUNDS
 *
 * Maps PAGES private anonymous pages, none of them huge, and touches each. Then makes all of them
 * read-only and writable again, ROUNDS times. An op is a page whose protection changes: there are
 * 2 * PAGES * ROUNDS.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "profdiff.h"

#define PAGE 4096

int main(int argc, char **argv)
{
	size_t size = argc == 3 ? strtoul(argv[1], NULL, 10) * PAGE : 0;
	long rounds = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
	char *region;

	if (!size || rounds < 1) {
		fprintf(stderr, "usage: protect-pages PAGES ROUNDS\n");
		return 2;
	}
	region = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (region == MAP_FAILED || madvise(region, size, MADV_NOHUGEPAGE)) {
		perror("protect-pages: mmap");
		return 1;
	}
	for (size_t offset = 0; offset < size; offset += PAGE)
		region[offset] = 1;

	PROFDIFF_START();
	for (long round = 0; round < rounds; round++) {
		if (mprotect(region, size, PROT_READ) ||
		    mprotect(region, size, PROT_READ | PROT_WRITE)) {
			perror("protect-pages: mprotect");
			return 1;
		}
	}
	PROFDIFF_STOP();
	return 0;
}
