/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * series REPETITIONS ITERATIONS [SIZE_KIB ...]
 *
 * For each size (4, 40, 400 and 4000 KiB unless given) it maps a private anonymous region, without
 * huge pages, touches every page, and measures a benchmark mprotect_pte/SIZE_KIB: an iteration
 * makes all of the region PROT_READ, and PROT_READ|PROT_WRITE again. Prints what google/benchmark
 * prints to its console (src/console_reporter.cc, src/statistics.cc), real and CPU time of an
 * iteration in each repetition and, of several, their statistics. Unlike google/benchmark it does
 * not choose the number of iterations: all kernels do the same work.
 *
 * Each repetition has a window, which holds its calls of mprotect() alone. An op is one page whose
 * protection one call changed: two for each page and iteration.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "profdiff.h"

enum { REAL, CPU, CLOCKS };

#define MAX_SIZES 16
#define MAX_REPETITIONS 1000

static double times[CLOCKS][MAX_REPETITIONS]; /* nanoseconds per iteration */
static int name_width;

static double now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

/* As FormatTime() of google/benchmark does it. */
static void print_time(double nanoseconds, const char *unit)
{
	int decimals = nanoseconds < 1 ? 3 : nanoseconds < 10 ? 2 : nanoseconds < 100 ? 1 : 0;

	printf("%10.*f %-4s ", decimals, nanoseconds, unit);
}

static void print_row(const char *name, double real, double cpu, long iterations)
{
	printf("%-*s ", name_width, name);
	print_time(real, "ns");
	print_time(cpu, "ns");
	printf("%10ld\n", iterations);
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/* Sorts TIMES. */
static void statistics(double *sample, int count, double *mean, double *median, double *stddev)
{
	double sum = 0, squares = 0;

	for (int i = 0; i < count; i++)
		sum += sample[i];
	*mean = sum / count;
	for (int i = 0; i < count; i++)
		squares += (sample[i] - *mean) * (sample[i] - *mean);
	*stddev = sqrt(squares / (count - 1));
	qsort(sample, count, sizeof(*sample), compare);
	/* Of two, google/benchmark gives the mean, which is the same. */
	*median = (sample[count / 2] + sample[(count - 1) / 2]) / 2;
}

static void print_statistics(const char *name, int count)
{
	double mean[CLOCKS], median[CLOCKS], stddev[CLOCKS];
	char row[64];

	for (int clock = REAL; clock < CLOCKS; clock++)
		statistics(times[clock], count, &mean[clock], &median[clock], &stddev[clock]);
	snprintf(row, sizeof(row), "%s_mean", name);
	print_row(row, mean[REAL], mean[CPU], count);
	snprintf(row, sizeof(row), "%s_median", name);
	print_row(row, median[REAL], median[CPU], count);
	snprintf(row, sizeof(row), "%s_stddev", name);
	print_row(row, stddev[REAL], stddev[CPU], count);
	snprintf(row, sizeof(row), "%s_cv", name);
	printf("%-*s %10.2f %-4s %10.2f %-4s %10d\n", name_width, row,
	       100 * stddev[REAL] / mean[REAL], "%", 100 * stddev[CPU] / mean[CPU], "%", count);
}

static int measure(char *region, size_t size, int repetition, long iterations)
{
	/* The CPU's clock takes a system call: it encloses the other. */
	double cpu = now(CLOCK_PROCESS_CPUTIME_ID), real = now(CLOCK_MONOTONIC);
	int failed = 0;

	PROFDIFF_START();
	for (long i = 0; i < iterations; i++) {
		failed |= mprotect(region, size, PROT_READ);
		failed |= mprotect(region, size, PROT_READ | PROT_WRITE);
	}
	PROFDIFF_STOP();
	times[REAL][repetition] = (now(CLOCK_MONOTONIC) - real) / iterations;
	times[CPU][repetition] = (now(CLOCK_PROCESS_CPUTIME_ID) - cpu) / iterations;
	return failed;
}

/* How many pages it has; 0: a system call failed. */
static long benchmark(long size_kib, int repetitions, long iterations)
{
	size_t size = (size_t)size_kib * 1024, page_size = sysconf(_SC_PAGESIZE);
	char *region = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char name[48];

	/* EINVAL: the kernel knows no huge pages. */
	if (region == MAP_FAILED || (madvise(region, size, MADV_NOHUGEPAGE) && errno != EINVAL)) {
		perror("series: mmap");
		return 0;
	}
	for (size_t offset = 0; offset < size; offset += page_size)
		region[offset] = 1;
	for (int i = 0; i < repetitions; i++) {
		if (measure(region, size, i, iterations)) {
			perror("series: mprotect");
			return 0;
		}
	}
	snprintf(name, sizeof(name), "mprotect_pte/%ld", size_kib);
	for (int i = 0; i < repetitions; i++)
		print_row(name, times[REAL][i], times[CPU][i], iterations);
	if (repetitions > 1)
		print_statistics(name, repetitions);
	munmap(region, size);
	return (size + page_size - 1) / page_size;
}

int main(int argc, char **argv)
{
	long sizes[MAX_SIZES] = { 4, 40, 400, 4000 }, ops = 0;
	int count = argc > 3 ? argc - 3 : 4, repetitions = argc > 1 ? atoi(argv[1]) : 0;
	long iterations = argc > 2 ? atol(argv[2]) : 0;
	int good = repetitions >= 1 && repetitions <= MAX_REPETITIONS && iterations >= 1 &&
		   count <= MAX_SIZES;
	char line[256];

	for (int i = 0; good && i < count; i++) {
		if (argc > 3)
			sizes[i] = atol(argv[3 + i]);
		good = sizes[i] >= 1 && sizes[i] <= 1L << 26;
		int length = snprintf(line, sizeof(line), "mprotect_pte/%ld", sizes[i]);
		if (length > name_width)
			name_width = length;
	}
	if (!good) {
		fprintf(stderr,
			"usage: series REPETITIONS ITERATIONS [SIZE_KIB ...], all at least 1, "
			"REPETITIONS at most %d, at most %d sizes\n",
			MAX_REPETITIONS, MAX_SIZES);
		return 2;
	}
	if (repetitions > 1)
		name_width += strlen("_median");
	int width = snprintf(line, sizeof(line), "%-*s %13s %15s %12s", name_width, "Benchmark",
			     "Time", "CPU", "Iterations");
	char rule[256];

	memset(rule, '-', width);
	printf("%.*s\n%s\n%.*s\n", width, rule, line, width, rule);
	for (int i = 0; i < count; i++) {
		long pages = benchmark(sizes[i], repetitions, iterations);

		if (!pages)
			return 1;
		ops += 2 * pages * iterations * repetitions;
	}
	printf("ops: %ld\n", ops);
	return 0;
}
