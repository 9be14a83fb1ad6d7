/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * region-size SIZE_KIB ITERATIONS
 *
 * What the published reproducer does, without marks: maps a region, writes to all of it, and toggles
 * its protection ITERATIONS times between PROT_NONE and PROT_READ|PROT_WRITE. Prints nanoseconds
 * per call.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

int main(int argc, char **argv)
{
	size_t size = argc == 3 ? (size_t)atol(argv[1]) * 1024 : 0;
	long iterations = argc == 3 ? atol(argv[2]) : 0;
	struct timespec start, stop;

	if (!size || iterations < 1) {
		fprintf(stderr, "usage: region-size SIZE_KIB ITERATIONS\n");
		return 2;
	}
	char *region = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (region == MAP_FAILED) {
		perror("region-size: mmap");
		return 1;
	}
	memset(region, 1, size);

	clock_gettime(CLOCK_MONOTONIC, &start);
	for (long i = 0; i < iterations; i++) {
		if (mprotect(region, size, i & 1 ? PROT_READ | PROT_WRITE : PROT_NONE)) {
			perror("region-size: mprotect");
			return 1;
		}
	}
	clock_gettime(CLOCK_MONOTONIC, &stop);

	double nanoseconds = (stop.tv_sec - start.tv_sec) * 1e9 + (stop.tv_nsec - start.tv_nsec);
	printf("%zu KiB: Avg: %.0f nsec/call\n", size / 1024, nanoseconds / iterations);
	return 0;
}
