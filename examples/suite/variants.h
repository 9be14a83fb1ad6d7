/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program with several variants of one idea: PROGRAM VARIANT [WORDS ...] OPS. Include this file
 * first, in the place of suite.h.
 *
 * Each variant prepares what it needs and does some ops outside of the window, so that the first
 * op's faults and a call that the kernel lacks are not part of it. Some more follow behind the tick
 * that start() waits for: what a tick has filled again (a CPU's free objects, stacks of threads) is
 * then used up, and the first op in the window costs what the last one does.
 */
#ifndef VARIANTS_H
#define VARIANTS_H

#include "suite.h"

/* How many ops come before the window: few of the dear ones, of which OPS is small. */
static inline long warm_ops(long ops)
{
	return ops < 10 ? 1 : ops < 50 ? 4 : 32;
}

struct variant {
	const char *name;
	void (*prepare)(void);
	void (*op)(void);
};

/* The words of the command line behind VARIANT, for prepare(). */
static char **words;

/* This process, so that no op has to ask for it. */
static pid_t own_pid;

/* Whether the error says that the kernel was built without what was asked for. */
static inline int lacking(int error)
{
	return error == ENOSYS || error == EOPNOTSUPP || error == EAFNOSUPPORT ||
	       error == EPROTONOSUPPORT || error == ESOCKTNOSUPPORT || error == ENODEV ||
	       error == ENOPROTOOPT;
}

static __attribute__((noreturn, noinline, cold)) void failed(const char *what)
{
	if (lacking(errno))
		not_there(what);
	die(what);
}

/* The result of a call, which must not be an error. */
static inline long must(long result, const char *what)
{
	if (__builtin_expect(result < 0, 0))
		failed(what);
	return result;
}

/* The same for a call of which EINVAL, too, says that the kernel is too old for it. */
static inline long must_know(long result, const char *what)
{
	if (__builtin_expect(result < 0, 0)) {
		if (errno == EINVAL)
			not_there(what);
		failed(what);
	}
	return result;
}

/* start() without its mark. */
static inline void wait_for_tick(void)
{
	const struct timespec rest = { 0, 20000000 };

	nanosleep(&rest, NULL);
	after_tick();
}

/* `usage_words`: what suite_ops() takes, beginning with the variant. */
static inline int run_variant(const struct variant *variants, const char *usage_words, int argc,
			      char **argv)
{
	long ops = suite_ops(argc, argv, usage_words);
	const struct variant *variant = variants;

	while (variant->name && strcmp(variant->name, argv[1]))
		variant++;
	if (!variant->name) {
		fprintf(stderr, "%s: %s is none of", program_invocation_short_name, argv[1]);
		for (variant = variants; variant->name; variant++)
			fprintf(stderr, " %s", variant->name);
		fprintf(stderr, "\n");
		return 2;
	}
	words = argv + 2;
	own_pid = getpid();
	if (variant->prepare)
		variant->prepare();
	for (long i = 0; i < warm_ops(ops); i++)
		variant->op();
	wait_for_tick();
	for (long i = 0; i < warm_ops(ops); i++)
		variant->op();
	PROFDIFF_START();
	for (long i = 0; i < ops; i++)
		variant->op();
	stop();
	return 0;
}

#endif
