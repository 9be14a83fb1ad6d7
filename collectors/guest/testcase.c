/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The main() of a test in will-it-scale's shape, which has none, but a testcase() whose loop never
 * ends and counts its operations.
 *
 *   TEST processes|threads COPIES OPS
 *
 * Each copy has a vCPU of its own. When all have done WARM_UP operations, the window opens; when
 * all have done OPS more, it closes, and their loops are left.
 *
 * The test is compiled with -fsanitize-coverage=trace-pc, this file is not: each basic block of the
 * test calls __sanitizer_cov_trace_pc(), which sees that its copy's counter has changed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profdiff.h"

/* What happens once is behind a copy then: pages, slabs, branches. */
#define WARM_UP 64
/* More than a cache line, and than the two that are fetched together. */
#define APART 256

extern void testcase(unsigned long long *iterations, unsigned long nr);
extern void testcase_prepare(unsigned long nr_tasks) __attribute__((weak));
extern void testcase_cleanup(void) __attribute__((weak));

static long copies;
static unsigned long long ops;
static bool threads;

/* All that copies share, and nothing that any of them writes during operations. */
static pthread_barrier_t *barrier;
static char *counters;

/* The counter of tasks that are not copies: it never changes. */
static union {
	volatile unsigned long long count;
	char line[APART];
} never __attribute__((aligned(APART)));

/* ``left``: operations until the window opens for this copy or, if it is ``warm``, closes. */
static __thread struct {
	volatile unsigned long long *count;
	unsigned long long seen, left;
	bool first, warm;
	jmp_buf end;
} copy __attribute__((aligned(APART))) = { .count = &never.count };

static void fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

static void wait_for_all(void)
{
	if (copies > 1)
		pthread_barrier_wait(barrier);
}

/* The window opens, or closes and the loop ends. What the test last knew of errno stays. */
static void __attribute__((noinline)) begin_or_end(void)
{
	int saved = errno;
	wait_for_all();
	if (copy.first && copy.warm)
		PROFDIFF_STOP();
	else if (copy.first)
		PROFDIFF_START();
	wait_for_all();
	if (copy.warm)
		longjmp(copy.end, 1);
	copy.warm = true;
	copy.left = ops;
	errno = saved;
	/* What came before, the barriers' calls, is no operation. */
	PROFDIFF_OP();
}

static void __attribute__((noinline)) ended(void)
{
	unsigned long long number = *copy.count - copy.seen;
	copy.seen += number;
	if (number > copy.left)
		number = copy.left;
	copy.left -= number;
	while (number--)
		PROFDIFF_OP();
	if (!copy.left)
		begin_or_end();
}

void __sanitizer_cov_trace_pc(void)
{
	if (*copy.count != copy.seen)
		ended();
}

/* This thread, and what it forks from now on, counts as a copy no longer. */
static void leave(void)
{
	copy.count = &never.count;
	copy.seen = 0;
}

static void *run(void *argument)
{
	long number = (long)argument;
	cpu_set_t own;
	CPU_ZERO(&own);
	CPU_SET(number, &own);
	if (sched_setaffinity(0, sizeof(own), &own))
		fail("a copy cannot have a vCPU of its own");
	unsigned long long *count = (void *)(counters + number * APART);
	copy.first = number == 0;
	copy.left = WARM_UP;
	copy.count = count;
	if (!setjmp(copy.end)) {
		testcase(count, number);
		fprintf(stderr, "testcase() returned after %llu operations\n", *count);
		exit(1);
	}
	leave();
	return NULL;
}

/* A process that goes with the one that made it; returns there. */
static pid_t start_process(void *(*function)(void *), void *argument)
{
	pid_t child = fork();
	if (child < 0)
		fail("fork");
	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	function(argument);
	_exit(0);
}

static pthread_t start_thread(void *(*function)(void *), void *argument)
{
	pthread_t thread;
	errno = pthread_create(&thread, NULL, function, argument);
	if (errno)
		fail("pthread_create");
	return thread;
}

/* What will-it-scale's tests start others with, which run as long as the copy does. */
void new_task(void *(*function)(void *), void *argument)
{
	if (threads)
		start_thread(function, argument);
	else
		start_process(function, argument);
}

static void *allocate(size_t size)
{
	void *started = calloc(copies, size);
	if (!started)
		fail("calloc");
	return started;
}

static void run_threads(void)
{
	pthread_t *started = allocate(sizeof(*started));
	for (long n = 0; n < copies; n++)
		started[n] = start_thread(run, (void *)n);
	for (long n = 0; n < copies; n++)
		pthread_join(started[n], NULL);
}

/* One that fails takes the others along, which would wait for it. */
static void run_processes(void)
{
	pid_t *started = allocate(sizeof(*started));
	for (long n = 0; n < copies; n++)
		started[n] = start_process(run, (void *)n);
	for (long left = copies; left;) {
		int status;
		pid_t child = wait(&status);
		if (child < 0)
			fail("wait");
		for (long n = 0; n < copies; n++)
			left -= started[n] == child;
		if (status == 0)
			continue;
		for (long n = 0; n < copies; n++)
			if (started[n] != child)
				kill(started[n], SIGKILL);
		exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
	}
}

static void prepare_memory(void)
{
	size_t page = sysconf(_SC_PAGESIZE);
	char *shared = mmap(NULL, page + copies * APART, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		fail("mmap");
	barrier = (void *)shared;
	counters = shared + page;
	pthread_barrierattr_t attributes;
	pthread_barrierattr_init(&attributes);
	pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(barrier, &attributes, copies);
}

int main(int argc, char **argv)
{
	if (argc == 4) {
		threads = !strcmp(argv[1], "threads");
		copies = atol(argv[2]);
		ops = strtoull(argv[3], NULL, 10);
	}
	if (copies < 1 || copies > CPU_SETSIZE || ops < 1 ||
	    (!threads && strcmp(argv[1], "processes"))) {
		fprintf(stderr, "usage: TEST processes|threads COPIES OPS\n");
		return 2;
	}
	prepare_memory();
	pthread_atfork(NULL, NULL, leave);
	if (testcase_prepare)
		testcase_prepare(copies);
	if (threads)
		run_threads();
	else
		run_processes();
	if (testcase_cleanup)
		testcase_cleanup();
	return 0;
}
