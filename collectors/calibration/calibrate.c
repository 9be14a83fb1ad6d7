// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What this processor takes for single operations: profdiff calibrate runs this program.
 *
 *     calibrate ROUNDS BYTES...
 *
 * Each round times each block once, between two chains of dependent additions, and prints a line:
 * the block's name, the nanoseconds of an addition (one cycle), and those of an operation. The
 * frequency of the processor drops out of their quotient, and a disturbance spoils one line. An
 * empty line ends a round. BYTES are the sizes of memory in which dependent loads go from line to
 * line. The first line names the hypervisor as it names itself, if there is one.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "blocks.h"

#define LINE 64
#define PAGE 4096
#define HUGE_PAGE (2UL << 20)
#define MOST_SIZES 10
#define MOST_ROUNDS 1000
#define MOST_BYTES (1UL << 31)
#define BRANCHES 4096
/* How long a block and a chain of additions run at least, in ns: what clock_gettime() takes is then
 * less than 0.1% and 0.3%, and most blocks end before the next timer tick. */
#define BLOCK_TIME 40e3
#define CHAIN_TIME 10e3
#define MOST_LOOPS (1L << 16)

static void fail(const char *what)
{
	fprintf(stderr, "calibrate: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void *map(size_t bytes, int flags, int file)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | flags, file, 0);

	if (memory == MAP_FAILED)
		fail("mmap");
	return memory;
}

/* Branches on bytes, all zero or drawn anew at each call: no predictor can have learnt them. */
static double branches(long loops, bool random)
{
	static _Alignas(4096) uint8_t bytes[BRANCHES];
	static uint64_t state = 88172645463325252; /* Marsaglia's xorshift64 */
	double time = 0;

	for (long loop = 0; loop < loops; loop++) {
		for (size_t at = 0; at < BRANCHES; at++) {
			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
			bytes[at] = random ? state >> 63 : 0;
		}
		uint64_t x = (uintptr_t)bytes, q = 0;
		double start = now();

		for (size_t at = 0; at < BRANCHES; at += 16)
			__asm__ volatile(TIMES(16, BRANCH) : [x] "+r"(x), [q] "+r"(q)::"memory", "cc"
#ifdef __aarch64__
					 , "x9"
#endif
			);
		time += now() - start;
	}
	return time;
}

static double run_predicted(long loops, size_t bytes)
{
	(void)bytes;
	return branches(loops, false);
}

static double run_random(long loops, size_t bytes)
{
	(void)bytes;
	return branches(loops, true);
}

enum fault { READ_ZERO, WRITE_NEW, WRITE_ZERO, WRITE_COPY };

/* A fault for each of `pages` small pages. */
static double faults(long pages, enum fault kind)
{
	static int file = -1;
	size_t bytes = pages * PAGE;

	if (kind == WRITE_COPY && file < 0 && (file = memfd_create("calibrate", MFD_CLOEXEC)) < 0)
		fail("memfd_create");
	if (kind == WRITE_COPY && ftruncate(file, bytes))
		fail("ftruncate");
	volatile uint8_t *memory =
		map(bytes, kind == WRITE_COPY ? 0 : MAP_ANONYMOUS, kind == WRITE_COPY ? file : -1);

	madvise((void *)memory, bytes, MADV_NOHUGEPAGE);
	if (kind == WRITE_ZERO || kind == WRITE_COPY)
		for (size_t at = 0; at < bytes; at += PAGE)
			(void)memory[at];
	double start = now();

	for (size_t at = 0; at < bytes; at += PAGE) {
		if (kind == READ_ZERO)
			(void)memory[at];
		else
			memory[at] = 1;
	}
	start = now() - start;
	munmap((void *)memory, bytes);
	return start;
}

#define FAULT(function, kind)                                                                      \
	static double function(long loops, size_t bytes)                                           \
	{                                                                                          \
		(void)bytes;                                                                       \
		return faults(loops, kind);                                                        \
	}
FAULT(run_fault_read, READ_ZERO)
FAULT(run_fault_write, WRITE_NEW)
FAULT(run_fault_upgrade, WRITE_ZERO)
FAULT(run_fault_copy, WRITE_COPY)

/* A chain of loads through all lines of memory in an order that no prefetcher knows: that of a
 * linear congruential generator whose period is the number of lines, a power of 2 (Hull and Dobell,
 * Random number generators, SIAM Review 4, 1962). The memory has huge pages where it can, as the
 * kernel's own map of memory has. */
static void **chain(size_t bytes)
{
	size_t lines = bytes / LINE;
	uint8_t *memory = map(bytes + HUGE_PAGE, MAP_ANONYMOUS, -1);

	memory += HUGE_PAGE - (uintptr_t)memory % HUGE_PAGE;
	madvise(memory, bytes, MADV_HUGEPAGE);
	for (size_t line = 0; line < lines; line++) {
		size_t next = (line * 1664525 + 1013904223) % lines;

		*(void **)(memory + line * LINE) = memory + next * LINE;
	}
	return (void **)memory;
}

static void **chase(void **place, long loads)
{
	while (loads--) {
		place = *place;
		__asm__ volatile("" : "+r"(place));
	}
	return place;
}

static double run_chase(long loops, size_t bytes)
{
	static struct {
		size_t bytes;
		void **place;
	} chains[MOST_SIZES], *known = chains;

	for (known = chains; known->place && known->bytes != bytes; known++)
		;
	if (!known->place) {
		known->bytes = bytes;
		known->place = chain(bytes);
	}
	/* What the blocks before evicted comes back: all of it, if that is little. */
	size_t lines = bytes / LINE;
	void **place = chase(known->place, lines < (1 << 17) ? lines : 1 << 10);
	double start = now();

	known->place = chase(place, loops);
	return now() - start;
}

static const struct block BLOCKS[] = {
	{"locked-add", run_locked_add, 20, has_locked},
	{"locked-xchg", run_locked_xchg, 20, has_locked},
	{"locked-cmpxchg", run_locked_cmpxchg, 20, has_locked},
	{"loads", run_loads, 10},
	{"loads-with-locked", run_loads_locked, 10, has_locked},
	{"adds", run_adds, 10},
	{"adds-with-locked", run_adds_locked, 10, has_locked},
	{"jump", run_jump, 20},
	{"call-return", run_return, 20},
	{"indirect-call-return", run_indirect_call, 20},
	{"indirect-jump", run_indirect_jump, 20},
	{"branch-predicted", run_predicted, BRANCHES},
	{"branch-random", run_random, BRANCHES},
	{"division-32", run_division_32, 10},
	{"division-64", run_division_64, 10},
	OF_THE_ARCHITECTURE
	{"syscall", run_syscall, 5},
	{"fault-read", run_fault_read, 1},
	{"fault-write", run_fault_write, 1},
	{"fault-upgrade", run_fault_upgrade, 1},
	{"fault-copy", run_fault_copy, 1},
};
#define COUNT (sizeof(BLOCKS) / sizeof(*BLOCKS))

/* The number of loops that takes at least `time`. */
static long loops_for(const struct block *block, double time)
{
	long loops = 1;

	while (loops < MOST_LOOPS && block->run(loops, block->bytes) < time)
		loops *= 2;
	return loops;
}

static unsigned long number(const char *text, unsigned long most)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*end || !value || value > most) {
		fprintf(stderr, "calibrate: %s: not a number up to %lu\n", text, most);
		exit(2);
	}
	return value;
}

/* Blocks run on one processor: others may have other caches. */
static void stay(void)
{
	cpu_set_t here;
	int processor = sched_getcpu();

	CPU_ZERO(&here);
	if (processor < 0 || processor >= CPU_SETSIZE)
		return;
	CPU_SET(processor, &here);
	sched_setaffinity(0, sizeof(here), &here);
}

int main(int count, char **arguments)
{
	static const struct block addition = {"add", run_add, 100};
	static struct block blocks[COUNT + MOST_SIZES];
	static char names[MOST_SIZES][32];
	static long loops[COUNT + MOST_SIZES];
	size_t blocks_here = 0;

	if (count < 2 || count > 2 + MOST_SIZES) {
		fprintf(stderr, "usage: calibrate ROUNDS [BYTES]...\n");
		return 2;
	}
	unsigned long rounds = number(arguments[1], MOST_ROUNDS);

	stay();
	for (size_t at = 0; at < COUNT; at++)
		if (!BLOCKS[at].able || BLOCKS[at].able())
			blocks[blocks_here++] = BLOCKS[at];
	for (int at = 2; at < count; at++) {
		size_t bytes = number(arguments[at], MOST_BYTES);

		if (bytes < PAGE || bytes & (bytes - 1)) {
			fprintf(stderr, "calibrate: %zu: not a power of 2 from %d on\n", bytes, PAGE);
			return 2;
		}
		snprintf(names[at - 2], sizeof(*names), "load-%zu", bytes);
		blocks[blocks_here++] = (struct block){names[at - 2], run_chase, 1, NULL, bytes};
	}
	long additions = loops_for(&addition, CHAIN_TIME);

	for (size_t at = 0; at < blocks_here; at++)
		loops[at] = loops_for(&blocks[at], BLOCK_TIME);
	double before = run_add(additions, 0);

	print_hypervisor();
	for (unsigned long round = 0; round < rounds; round++) {
		for (size_t at = 0; at < blocks_here; at++) {
			double time = blocks[at].run(loops[at], blocks[at].bytes);
			double after = run_add(additions, 0);
			double least = before < after ? before : after;

			printf("%s %.6f %.6f\n", blocks[at].name, least / additions / addition.operations,
			       time / loops[at] / blocks[at].operations);
			before = after;
		}
		puts("");
		if (fflush(stdout))
			fail("standard output");
	}
	return 0;
}
