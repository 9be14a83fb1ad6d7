/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pmu [user]
 *
 * Instructions between its marks, counted by the processor's own counters (PMUv3), which it reads
 * in user space without a system call. Prints how many, of user space and of the kernel; windows;
 * faults, after each of which an instruction starts again; and switches to other tasks, which these
 * counters do not count.
 *
 * With an argument it only computes, without counters, as in its first window.
 */
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profdiff.h"

enum { ALL, USER, KERNEL, EVENTS };

#define PAGE 4096
#define PAGES 64
static uint64_t counted[EVENTS];
static volatile unsigned long sink;
static volatile int handled, refused;
static int windows;
static char *guarded;

static void need(int holds, const char *what)
{
	if (!holds) {
		perror(what);
		exit(1);
	}
}

/* The events' counters: 0, 1 and 2, in this order. */
#define READ(all, user, kernel)                                                                    \
	"mrs " all ", pmevcntr0_el0\n\tmrs " user ", pmevcntr1_el0\n\tmrs " kernel                 \
	", pmevcntr2_el0\n\t"

/* A window: what is between the first reads and the last ones, those of its beginning or its end,
 * and nothing else; the mark in the assembly is PROFDIFF_STOP(). */
static void window(void (*work)(void))
{
	uint64_t first[EVENTS], last[EVENTS];

	PROFDIFF_START();
	__asm__ volatile(READ("%0", "%1", "%2")
			 : "=&r"(first[ALL]), "=&r"(first[USER]), "=&r"(first[KERNEL])
			 :
			 : "memory");
	work();
	__asm__ volatile(READ("%0", "%1", "%2") "movz xzr, #0x4902, lsl #48"
			 : "=&r"(last[ALL]), "=&r"(last[USER]), "=&r"(last[KERNEL])
			 :
			 : "memory");
	/* The counters have 32 bits here. */
	for (int event = ALL; event < EVENTS; event++)
		counted[event] += (uint32_t)(last[event] - first[event]);
	windows++;
}

static void counter(int event)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.config1 = 2, /* Documentation/arch/arm64/perf.rst: rdpmc */
		.exclude_user = event == KERNEL,
		.exclude_kernel = event == USER,
		.pinned = 1,
	};
	int descriptor = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	struct perf_event_mmap_page *page;

	need(descriptor >= 0, "perf_event_open");
	page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, descriptor, 0);
	need(page != MAP_FAILED, "mmap of an event");
	need(page->cap_user_rdpmc && page->index == event + 1U, "a counter in user space");
}

static void on_signal(int number)
{
	(void)number;
	handled++;
}

static void on_fault(int number)
{
	(void)number;
	refused++;
	mprotect(guarded, PAGE, PROT_READ | PROT_WRITE);
}

#define FUNCTION static __attribute__((noinline, noclone))

FUNCTION unsigned long mix(int rounds)
{
	unsigned long x = 1;

	for (int i = 0; i < rounds; i++)
		x = x * 6364136223846793005ul + (x >> 7);
	return x;
}

FUNCTION unsigned fib(unsigned n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

FUNCTION unsigned long divide(unsigned long a, unsigned long b)
{
	while (b) {
		unsigned long rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

FUNCTION double root(double x)
{
	double guess = x;

	while (guess * guess - x > 1e-6 * x)
		guess = (guess + x / guess) / 2;
	return guess;
}

FUNCTION void sort(unsigned *values, int count)
{
	for (int i = 1; i < count; i++) {
		unsigned value = values[i];
		int at = i;

		for (; at && values[at - 1] > value; at--)
			values[at] = values[at - 1];
		values[at] = value;
	}
}

FUNCTION void compute(void)
{
	unsigned values[100];

	for (int i = 0; i < 100; i++)
		values[i] = mix(i);
	sort(values, 100);
	for (int i = 1; i < 100; i++)
		sink += divide(values[i], values[i - 1] + 1) + root(values[i]);
	sink += mix(20000) + fib(15);
}

static void call(void)
{
	for (int i = 0; i < 300; i++)
		sink += syscall(SYS_getppid);
	for (int i = 0; i < 100; i++)
		mprotect(guarded, 16 * PAGE, i & 1 ? PROT_READ | PROT_WRITE : PROT_NONE);
}

static void fault(void)
{
	char *fresh = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);

	for (int i = 0; i < PAGES; i++)
		fresh[i * PAGE] = 1;
	munmap(fresh, PAGES * PAGE);
}

static void signals(void)
{
	for (int i = 0; i < 20; i++)
		raise(SIGUSR1);
	for (int i = 0; i < 5; i++) {
		mprotect(guarded, PAGE, PROT_NONE);
		*(volatile char *)guarded = i;
	}
}

int main(int argc, char **argv)
{
	FILE *access;
	struct rusage start, stop;

	(void)argv;
	if (argc > 1) {
		compute();
		return 0;
	}
	access = fopen("/proc/sys/kernel/perf_user_access", "w");
	need(access && fputs("1", access) >= 0 && !fclose(access), "perf_user_access");
	guarded = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	signal(SIGUSR1, on_signal);
	signal(SIGSEGV, on_fault);
	for (int event = ALL; event < EVENTS; event++)
		counter(event);
	getrusage(RUSAGE_SELF, &start);
	window(compute);
	window(call);
	window(fault);
	window(signals);
	getrusage(RUSAGE_SELF, &stop);
	printf("all: %lu\nuser: %lu\nkernel: %lu\nwindows: %d\n", counted[ALL], counted[USER],
	       counted[KERNEL], windows);
	printf("faults: %ld\nhandled: %d\nrefused: %d\n", stop.ru_minflt - start.ru_minflt, handled,
	       refused);
	printf("switches: %ld\n",
	       stop.ru_nvcsw - start.ru_nvcsw + stop.ru_nivcsw - start.ru_nivcsw);
	return 0;
}
