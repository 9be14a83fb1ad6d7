/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program in which two do the same at the same time, each on a vCPU of its own: PROGRAM VARIANT
 * one|own threads|processes OPS. Include this file first, in the place of suite.h.
 *
 * OPS is the number of ops of both together. `one`: both use one object, which the variant says;
 * `own`: each has one. Threads share a process, processes what the first one made before the other
 * was forked. Each op ends with PROFDIFF_OP().
 *
 * As in variants.h, some ops come before the window. What each side writes in user space is
 * `mine[me]`, in lines of its own.
 */
#ifndef SHARED_H
#define SHARED_H

#include "variants.h"

#include <pthread.h>
#include <signal.h>

/* More than a cache line, and than the two that are fetched together. */
#define APART 256

/*
 * `prepare` makes what both use, or one for each; then `begin`, on its own vCPU, what each needs.
 * Each is 0 if there is nothing to do.
 */
struct shared_variant {
	const char *name;
	void (*prepare)(void);
	void (*begin)(int me);
	void (*op)(int me);
};

/* Whether each has an object of its own. */
static bool own;

/* What a side needs in its ops. */
static struct {
	long n;
	int fd, other_fd;
	pid_t pid;
	char *at;
	char path[32], other_path[32];
	char buffer[1024];
} __attribute__((aligned(APART))) mine[2];

static const struct shared_variant *shared_variant;
static long shared_ops;
/* Both processes see it. How many sides have come as far. */
static struct {
	pthread_barrier_t barrier;
	char apart[APART];
	int ticked, warm, begun, ended;
} *both;

/* The object that a side uses: number 0 or 1. */
static inline int whose(int me)
{
	return own ? me : 0;
}

static inline void on_cpu(int number)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(number, &one);
	must(sched_setaffinity(0, sizeof(one), &one), "a vCPU for each: sched_setaffinity");
}

/* Memory that both see, also as processes. */
static inline void *common_memory(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		die("mmap");
	return at;
}

/* On an emulator it is the other's turn then, which may be milliseconds away otherwise. */
static inline void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* Waits until both have come as far, without a system call: those have lines that change hands. */
static inline void meet(int *sides)
{
	__atomic_add_fetch(sides, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(sides, __ATOMIC_SEQ_CST) < 2)
		relax();
}

static inline void do_ops(int me, long ops)
{
	for (long i = 0; i < ops; i++) {
		shared_variant->op(me);
		PROFDIFF_OP();
	}
}

static inline void *run_side(void *argument)
{
	const struct timespec rest = { 0, 20000000 };
	int me = (int)(long)argument;

	if (me) {
		on_cpu(me);
		if (shared_variant->begin)
			shared_variant->begin(me);
	}
	pthread_barrier_wait(&both->barrier);
	do_ops(me, warm_ops(shared_ops));
	/* As in wait_for_tick(), but the other sleeps meanwhile: to spin for so long takes seconds. */
	if (!me)
		nanosleep(&rest, NULL);
	pthread_barrier_wait(&both->barrier);
	if (!me)
		after_tick();
	meet(&both->ticked);
	do_ops(me, warm_ops(shared_ops));
	meet(&both->warm);
	if (!me)
		PROFDIFF_START();
	meet(&both->begun);
	/* What came before is no op. */
	PROFDIFF_OP();
	do_ops(me, shared_ops / 2);
	meet(&both->ended);
	if (!me)
		PROFDIFF_STOP();
	pthread_barrier_wait(&both->barrier);
	return NULL;
}

/* A process that fails takes along the one that waits for it. */
static inline void take_parent_along(int status, void *parent)
{
	if (status)
		kill((pid_t)(long)parent, SIGTERM);
}

static inline void run_processes(void)
{
	long parent = getpid();
	int status;
	pid_t child = must(fork(), "fork");

	if (!child) {
		must(prctl(PR_SET_PDEATHSIG, SIGKILL), "PR_SET_PDEATHSIG");
		on_exit(take_parent_along, (void *)parent);
		run_side((void *)1L);
		exit(0);
	}
	run_side(NULL);
	if (waitpid(child, &status, 0) != child || status)
		die("the other process");
}

static inline void run_threads(void)
{
	pthread_t other;

	errno = pthread_create(&other, NULL, run_side, (void *)1L);
	if (errno)
		die("pthread_create");
	run_side(NULL);
	pthread_join(other, NULL);
}

static inline bool is_second(const char *word, const char *first, const char *second)
{
	if (strcmp(word, first) && strcmp(word, second))
		usage("VARIANT one|own threads|processes OPS");
	return !strcmp(word, second);
}

static inline int run_shared(const struct shared_variant *variants, int argc, char **argv)
{
	pthread_barrierattr_t shared;
	bool processes;

	shared_ops = suite_ops(argc, argv, "VARIANT one|own threads|processes OPS");
	own = is_second(argv[2], "one", "own");
	processes = is_second(argv[3], "threads", "processes");
	while (variants->name && strcmp(variants->name, argv[1]))
		variants++;
	if (!variants->name || shared_ops % 2) {
		fprintf(stderr, "%s: no such variant, or OPS is odd\n",
			program_invocation_short_name);
		return 2;
	}
	shared_variant = variants;
	both = common_memory(sizeof(*both));
	pthread_barrierattr_init(&shared);
	pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&both->barrier, &shared, 2);
	on_cpu(0);
	if (variants->prepare)
		variants->prepare();
	if (variants->begin)
		variants->begin(0);
	/* What the kernel lacks shows before there are two. */
	variants->op(0);
	if (processes)
		run_processes();
	else
		run_threads();
	return 0;
}

#endif
