/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * write-fault SIZE_KIB ROUNDS [CASE]
 *
 * Each round maps a fresh private anonymous region of SIZE_KIB, without huge pages, and writes to
 * all of it three times: when nothing is there yet (first), again (second), and after the region
 * was made PROT_READ and PROT_READ|PROT_WRITE again (third), which faults once more if the kernel
 * left its pages write-protected. It does so with memset() over all bytes, and with one byte for
 * each page (touch).
 *
 * Prints of each the least, the most and the average nanoseconds per page over the rounds, and two
 * ratios of averages: the third write to the first, and to the second. At a few pages the clock
 * itself is part of what is measured.
 *
 * The window of each write holds the write alone, not the calls of mprotect(). CASE (first, second,
 * third) marks that one only; all are timed. An op is one page written to in a window.
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

enum { FIRST, SECOND, THIRD, CASES };

static const char *const case_names[CASES] = { "first", "second", "third" };

struct times {
	double least, most, sum;
	long count;
};

static size_t size, page_size;
static int marked = CASES; /* a case, or all of them */
static long ops;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

static void set(char *region, int byte)
{
	memset(region, byte, size);
}

static void touch(char *region, int byte)
{
	for (size_t offset = 0; offset < size; offset += page_size)
		((volatile char *)region)[offset] = byte;
}

/* One timed write; the branch is outside of the window. */
static void write_to(char *region, void (*write)(char *, int), int which, struct times *times)
{
	double start, nanoseconds;

	if (marked == CASES || marked == which) {
		ops += size / page_size;
		start = now();
		PROFDIFF_START();
		write(region, which + 1);
		PROFDIFF_STOP();
	} else {
		start = now();
		write(region, which + 1);
	}
	nanoseconds = now() - start;
	times->sum += nanoseconds;
	if (!times->count++ || nanoseconds < times->least)
		times->least = nanoseconds;
	if (nanoseconds > times->most)
		times->most = nanoseconds;
}

static int measure(const char *name, void (*write)(char *, int), long rounds)
{
	struct times times[CASES] = { 0 };
	double pages = size / page_size;

	for (long round = 0; round < rounds; round++) {
		char *region = mmap(NULL, size, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		/* EINVAL: the kernel knows no huge pages. */
		if (region == MAP_FAILED ||
		    (madvise(region, size, MADV_NOHUGEPAGE) && errno != EINVAL)) {
			perror("write-fault: mmap");
			return 1;
		}
		write_to(region, write, FIRST, &times[FIRST]);
		write_to(region, write, SECOND, &times[SECOND]);
		if (mprotect(region, size, PROT_READ) ||
		    mprotect(region, size, PROT_READ | PROT_WRITE)) {
			perror("write-fault: mprotect");
			return 1;
		}
		write_to(region, write, THIRD, &times[THIRD]);
		for (size_t offset = 0; offset < size; offset += page_size) {
			if (region[offset] != THIRD + 1) {
				fprintf(stderr, "write-fault: a write was lost\n");
				return 1;
			}
		}
		if (munmap(region, size)) {
			perror("write-fault: munmap");
			return 1;
		}
	}
	for (int i = 0; i < CASES; i++) {
		printf("%s_%s_min: %.3f ns/page\n", name, case_names[i], times[i].least / pages);
		printf("%s_%s_max: %.3f ns/page\n", name, case_names[i], times[i].most / pages);
		printf("%s_%s_avg: %.3f ns/page\n", name, case_names[i],
		       times[i].sum / rounds / pages);
	}
	printf("%s_third_to_first: %.4f\n", name, times[THIRD].sum / times[FIRST].sum);
	printf("%s_third_to_second: %.4f\n", name, times[THIRD].sum / times[SECOND].sum);
	return 0;
}

int main(int argc, char **argv)
{
	long size_kib = argc > 1 ? atol(argv[1]) : 0, rounds = argc > 2 ? atol(argv[2]) : 0;

	page_size = sysconf(_SC_PAGESIZE);
	size = (size_t)size_kib * 1024;
	if (argc > 3)
		for (marked = FIRST; marked < CASES && strcmp(argv[3], case_names[marked]); marked++)
			;
	if (argc < 3 || argc > 4 || (argc == 4 && marked == CASES) || size_kib < 1 ||
	    size % page_size || rounds < 1) {
		fprintf(stderr,
			"usage: write-fault SIZE_KIB ROUNDS [first|second|third], SIZE_KIB in pages "
			"of %zu KiB, ROUNDS at least 1\n",
			page_size / 1024);
		return 2;
	}
	if (measure("memset", set, rounds) || measure("touch", touch, rounds))
		return 1;
	printf("ops: %ld\n", ops);
	return 0;
}
