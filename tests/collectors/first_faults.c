/*
 * Tasks that enter the kernel before their first instruction in user space: children, threads that
 * share the memory, and signal handlers, whose code is not mapped yet. OPS rounds; prints how many
 * page faults getrusage() counts, its children's too.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "profdiff.h"

#define APART __attribute__((noinline, aligned(65536)))

static long faults(void)
{
	struct rusage own, children;

	getrusage(RUSAGE_SELF, &own);
	getrusage(RUSAGE_CHILDREN, &children);
	return own.ru_minflt + own.ru_majflt + children.ru_minflt + children.ru_majflt;
}

APART static void handler(int number)
{
	(void)number;
}

APART static int thread(void *none)
{
	(void)none;
	_exit(0);
}

APART static void forget(void *code)
{
	if (madvise(code, 65536, MADV_DONTNEED))
		exit(2);
}

APART static void await(pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) != child || status)
		exit(3);
}

int main(int argc, char **argv)
{
	static char stack[65536] __attribute__((aligned(65536)));
	long rounds = atol(argv[1]), before = 0;

	signal(SIGUSR1, handler);
	for (long n = -2; n < rounds; n++) {
		if (n == 0) {
			before = faults();
			PROFDIFF_START();
		}
		pid_t child = fork();
		if (!child) {
			child = fork();
			if (child)
				await(child);
			_exit(0);
		}
		await(child);
		child = vfork();
		if (!child)
			_exit(0);
		await(child);
		forget(thread);
		await(clone(thread, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL));
		forget(handler);
		raise(SIGUSR1);
	}
	PROFDIFF_STOP();
	printf("%ld\n", faults() - before);
	return argc < 2;
}
