/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program whose instructions an op are known: LOOPS times two of a loop, CALLS system calls. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline __attribute__((always_inline)) void spin(long n)
{
	__asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(n));
}

__attribute__((noinline)) void work(void)
{
	spin(LOOPS);
}

__attribute__((noinline)) void ask(void)
{
	for (int n = 0; n < CALLS; n++) {
		long number = SYS_getppid;
		__asm__ volatile("syscall" : "+a"(number) : : "rcx", "r11", "memory");
	}
}

int main(int argc, char **argv)
{
	(void)argc;
	for (long n = atol(argv[1]); n > 0; n--) {
		work();
		ask();
	}
	return 0;
}
