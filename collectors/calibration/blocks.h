/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks of instructions that calibrate.c times. */
#ifndef PROFDIFF_BLOCKS_H
#define PROFDIFF_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* A block: `run` executes it `loops` times, and returns the nanoseconds that this took without its
 * set-up. In each loop are `operations` of what the name says. `able` is NULL, or says whether this
 * processor has the instructions. */
struct block {
	const char *name;
	double (*run)(long loops, size_t bytes);
	double operations;
	bool (*able)(void);
	size_t bytes; /* of memory that the block works on, if it takes that */
};

static inline double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

/* What blocks read and write; a cache line is a block's own. */
static _Alignas(4096) volatile uint64_t scratch[1024];

/* A function `run` around assembly. `x` is a number, `y` is 1, `p` points to scratch, and `q` to a
 * pointer to itself: a chain of loads of it can go on for ever. */
#define BLOCK(function, text, ...)                                                                 \
	static double function(long loops, size_t bytes)                                           \
	{                                                                                          \
		static void *self = &self;                                                         \
		uint64_t x = 1, y = 1;                                                             \
		void *q = &self;                                                                   \
		double start = now();                                                              \
                                                                                                   \
		(void)bytes;                                                                       \
		for (long loop = 0; loop < loops; loop++)                                          \
			__asm__ volatile(text                                                      \
					 : [x] "+r"(x), [q] "+r"(q)                                \
					 : [y] "r"(y), [p] "r"(scratch)                            \
					 : "memory", "cc", ##__VA_ARGS__);                         \
		return now() - start;                                                              \
	}

#define TIMES(count, text) ".rept " #count "\n" text "\n.endr\n"

#if defined(__x86_64__)
#include "x86_64.h"
#elif defined(__aarch64__)
#include "aarch64.h"
#else
#error "profdiff calibrate has blocks for x86-64 and arm64"
#endif

#endif
