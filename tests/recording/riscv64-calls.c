/*
 * Calls of the kernel and of functions, as often as argv[1] says. With "user" as another argument,
 * no calls of the kernel, as an emulation without one can run it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profdiff.h"

__attribute__((noinline)) static long fib(long n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

__attribute__((noinline)) static long divide(long n)
{
	long sum = 0;
	for (long i = 1; i <= n; i++)
		sum += 1000003 / i % 7;
	return sum;
}

__attribute__((noinline)) static double newton(double of)
{
	double guess = 1;
	for (int i = 0; i < 20; i++)
		guess = (guess + of / guess) / 2;
	return guess;
}

int main(int argc, char **argv)
{
	long sum = 0;
	PROFDIFF_START();
	for (int n = atoi(argv[1]); n > 0; n--) {
		sum += fib(10) + divide(n) + (long)newton(n);
		if (argc == 2)
			sum += syscall(SYS_getppid);
	}
	PROFDIFF_STOP();
	printf("%ld\n", sum);
	return 0;
}
