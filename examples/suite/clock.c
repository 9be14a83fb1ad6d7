/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * clock HOW OPS: reads a clock, by the vDSO or by the system call.
 */
#include "variants.h"

static struct timespec now;

static void op_vdso(void)
{
	must(clock_gettime(CLOCK_MONOTONIC, &now), "clock_gettime");
}

static void op_vdso_coarse(void)
{
	must(clock_gettime(CLOCK_MONOTONIC_COARSE, &now), "clock_gettime");
}

static void op_syscall(void)
{
	must(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now), "clock_gettime");
}

static void op_cputime(void)
{
	must(syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &now), "clock_gettime");
}

static void op_thread_cputime(void)
{
	must(syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now), "clock_gettime");
}

static const struct variant variants[] = {
	{ "vdso", NULL, op_vdso },
	{ "vdso-coarse", NULL, op_vdso_coarse },
	{ "syscall", NULL, op_syscall },
	{ "process-cputime", NULL, op_cputime },
	{ "thread-cputime", NULL, op_thread_cputime },
	{}
};

int main(int argc, char **argv)
{
	return run_variant(variants, "HOW OPS", argc, argv);
}
