/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shared-dirty MIB ROUNDS [PART]
 *
 * Maps one shared anonymous region of MIB, without huge pages, and writes to every page. Each round
 * makes all of it read-only (protect), writable again (unprotect), and writes one byte to each page
 * (write), which faults if the kernel left the dirty pages write-protected. Prints nanoseconds per
 * page of each, and of the whole round (cycle).
 *
 * Each part of a round has a window of its own; the clock is read between them. PART (protect,
 * unprotect, write) marks that one only; all are timed. An op is one page that went through a
 * round.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "profdiff.h"

enum { PROTECT, UNPROTECT, WRITE, PARTS };

static const char *const part_names[PARTS] = { "protect", "unprotect", "write" };
static size_t size, page_size;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

/* 0, or -1 and errno. */
static int perform(int part, volatile char *region, int byte)
{
	if (part == PROTECT)
		return mprotect((void *)region, size, PROT_READ);
	if (part == UNPROTECT)
		return mprotect((void *)region, size, PROT_READ | PROT_WRITE);
	for (size_t offset = 0; offset < size; offset += page_size)
		region[offset] = byte;
	return 0;
}

int main(int argc, char **argv)
{
	long mib = argc > 1 ? atol(argv[1]) : 0, rounds = argc > 2 ? atol(argv[2]) : 0;
	double nanoseconds[PARTS] = { 0 }, cycle = 0;
	int marked = PARTS; /* a part, or all of them */

	if (argc > 3)
		for (marked = PROTECT; marked < PARTS && strcmp(argv[3], part_names[marked]); marked++)
			;
	if (argc < 3 || argc > 4 || (argc == 4 && marked == PARTS) || mib < 1 || mib > 65536 ||
	    rounds < 1) {
		fprintf(stderr, "usage: shared-dirty MIB ROUNDS [protect|unprotect|write], MIB and "
				"ROUNDS at least 1\n");
		return 2;
	}
	page_size = sysconf(_SC_PAGESIZE);
	size = (size_t)mib << 20;

	char *region = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	/* EINVAL: the kernel knows no huge pages. */
	if (region == MAP_FAILED || (madvise(region, size, MADV_NOHUGEPAGE) && errno != EINVAL)) {
		perror("shared-dirty: mmap");
		return 1;
	}
	perform(WRITE, region, 0);
	for (long round = 1; round <= rounds; round++) {
		for (int part = PROTECT; part < PARTS; part++) {
			int status;
			double start;

			if (marked == PARTS || marked == part) {
				start = now();
				PROFDIFF_START();
				status = perform(part, region, round);
				PROFDIFF_STOP();
			} else {
				start = now();
				status = perform(part, region, round);
			}
			nanoseconds[part] += now() - start;
			if (status) {
				perror("shared-dirty: mprotect");
				return 1;
			}
		}
	}

	long pages = size / page_size;

	for (long page = 0; page < pages; page++) {
		if (region[page * page_size] != (char)rounds) {
			fprintf(stderr, "shared-dirty: a write was lost\n");
			return 1;
		}
	}
	for (int part = PROTECT; part < PARTS; part++) {
		printf("%s: %.3f ns/page\n", part_names[part], nanoseconds[part] / rounds / pages);
		cycle += nanoseconds[part];
	}
	printf("cycle: %.3f ns/page\n", cycle / rounds / pages);
	printf("ops: %ld\n", pages * rounds);
	return 0;
}
