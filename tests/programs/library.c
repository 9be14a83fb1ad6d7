/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A library of which two builds differ by LOOPS, and the program that it is for. */
#ifdef LOOPS
void serve(void)
{
	long n = LOOPS;
	__asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(n));
}
#else
#include <stdlib.h>
void serve(void);
int main(int argc, char **argv)
{
	(void)argc;
	for (long n = atol(argv[1]); n > 0; n--)
		serve();
	return 0;
}
#endif
