/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mincore MIB ROUNDS THREADS
 *
 * Each thread, on a CPU of its own, maps a private anonymous region of MIB, without huge pages,
 * touches every page, then calls mincore() over all of it ROUNDS times. Every call must find every
 * page resident. Prints the nanoseconds that a thread took for 1,000 pages, by the clock on the
 * wall until the last one was done.
 *
 * An op is one page that one call was asked about. The window is from when all threads are ready
 * until all are done; with several threads it holds the barriers at both ends.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "profdiff.h"

static size_t region_size, page_count;
static long rounds, threads, resident;
static pthread_barrier_t ready, begin, end;
static struct timespec start, stop;

static void fail(const char *what)
{
	fprintf(stderr, "mincore: ");
	perror(what);
	exit(1);
}

/* Waits for the other threads, if there are any: a barrier of one makes a system call too. */
static void meet(pthread_barrier_t *barrier)
{
	if (threads > 1)
		pthread_barrier_wait(barrier);
}

/* To the CPU that comes INDEX-th among those this process may use. */
static void pin(long index)
{
	cpu_set_t allowed, one;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		fail("sched_getaffinity");
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &allowed) && index-- == 0) {
			CPU_ZERO(&one);
			CPU_SET(cpu, &one);
			if (pthread_setaffinity_np(pthread_self(), sizeof(one), &one))
				fail("pthread_setaffinity_np");
			return;
		}
	}
}

static void *ask(void *argument)
{
	long index = (long)argument;
	unsigned char *present = calloc(page_count, 1);
	char *region = mmap(NULL, region_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	long found = 0;

	pin(index);
	/* EINVAL: the kernel knows no huge pages. */
	if (!present || region == MAP_FAILED ||
	    (madvise(region, region_size, MADV_NOHUGEPAGE) && errno != EINVAL))
		fail("mmap");
	for (size_t page = 0; page < page_count; page++) {
		region[page * (region_size / page_count)] = 1;
		present[page] = 2; /* neither absent nor resident */
	}

	meet(&ready);
	if (index == 0) {
		clock_gettime(CLOCK_MONOTONIC, &start);
		PROFDIFF_START();
	}
	meet(&begin);
	for (long round = 0; round < rounds; round++)
		if (mincore(region, region_size, present))
			fail("mincore");
	meet(&end);
	if (index == 0) {
		PROFDIFF_STOP();
		clock_gettime(CLOCK_MONOTONIC, &stop);
	}

	for (size_t page = 0; page < page_count; page++)
		found += present[page] == 1;
	__atomic_fetch_add(&resident, found, __ATOMIC_RELAXED);
	munmap(region, region_size);
	free(present);
	return NULL;
}

int main(int argc, char **argv)
{
	long mib = argc > 1 ? atol(argv[1]) : 0, pages;
	pthread_t thread[64];
	cpu_set_t allowed;

	rounds = argc > 2 ? atol(argv[2]) : 0;
	threads = argc > 3 ? atol(argv[3]) : 0;
	if (argc != 4 || mib < 1 || mib > 65536 || rounds < 1 || threads < 1 || threads > 64) {
		fprintf(stderr, "usage: mincore MIB ROUNDS THREADS, MIB and ROUNDS at least 1, "
				"THREADS 1 to 64\n");
		return 2;
	}
	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		fail("sched_getaffinity");
	if (CPU_COUNT(&allowed) < threads) {
		fprintf(stderr, "mincore: %ld threads need as many CPUs, here are %d\n", threads,
			CPU_COUNT(&allowed));
		return 1;
	}
	region_size = (size_t)mib << 20;
	page_count = region_size / sysconf(_SC_PAGESIZE);
	pages = page_count * threads;
	pthread_barrier_init(&ready, NULL, threads);
	pthread_barrier_init(&begin, NULL, threads);
	pthread_barrier_init(&end, NULL, threads);
	for (long i = 1; i < threads; i++) {
		errno = pthread_create(&thread[i], NULL, ask, (void *)i);
		if (errno)
			fail("pthread_create");
	}
	ask((void *)0);
	for (long i = 1; i < threads; i++)
		pthread_join(thread[i], NULL);

	if (resident != pages) {
		fprintf(stderr, "mincore: only %ld of %ld pages were resident\n", resident, pages);
		return 1;
	}
	double nanoseconds = (stop.tv_sec - start.tv_sec) * 1e9 + (stop.tv_nsec - start.tv_nsec);
	printf("ns_per_1000_pages: %.3f ns\n", nanoseconds * 1000 / rounds / page_count);
	printf("resident_pages: %ld pages\n", resident);
	printf("ops: %ld\n", pages * rounds);
	return 0;
}
