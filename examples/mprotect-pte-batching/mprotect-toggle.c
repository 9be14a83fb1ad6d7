/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mprotect-toggle SIZE_KIB ITERATIONS [PAIRS ...]
 *
 * Maps one private anonymous region of SIZE_KIB, without huge pages, touches every page, then
 * calls mprotect() over all of it ITERATIONS times, alternating PROT_NONE and
 * PROT_READ|PROT_WRITE. Prints nanoseconds per call. Further pairs of arguments run after the
 * first, each in a window of its own.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "profdiff.h"

static int toggle(long size_kib, long iterations)
{
	size_t size = (size_t)size_kib * 1024;
	struct timespec start, stop;
	char *region = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (region == MAP_FAILED || madvise(region, size, MADV_NOHUGEPAGE)) {
		perror("mprotect-toggle: mmap");
		return 1;
	}
	for (size_t offset = 0; offset < size; offset += 4096)
		region[offset] = 1;

	clock_gettime(CLOCK_MONOTONIC, &start);
	PROFDIFF_START();
	for (long i = 0; i < iterations; i++) {
		if (mprotect(region, size, i & 1 ? PROT_READ | PROT_WRITE : PROT_NONE)) {
			perror("mprotect-toggle: mprotect");
			return 1;
		}
	}
	PROFDIFF_STOP();
	clock_gettime(CLOCK_MONOTONIC, &stop);

	double nanoseconds = (stop.tv_sec - start.tv_sec) * 1e9 + (stop.tv_nsec - start.tv_nsec);
	printf("%ld KiB: %.0f ns per call\n", size_kib, nanoseconds / iterations);
	munmap(region, size);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 3 || argc % 2 == 0) {
		fprintf(stderr, "usage: mprotect-toggle SIZE_KIB ITERATIONS [SIZE_KIB ITERATIONS ...]\n");
		return 2;
	}
	for (int i = 1; i < argc; i += 2) {
		long size_kib = atol(argv[i]), iterations = atol(argv[i + 1]);
		if (size_kib < 4 || iterations < 1) {
			fprintf(stderr, "mprotect-toggle: SIZE_KIB is at least 4, ITERATIONS at least 1\n");
			return 2;
		}
		if (toggle(size_kib, iterations))
			return 1;
	}
	return 0;
}
