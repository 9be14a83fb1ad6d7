/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stack OPS: the first write below the lowest page of a stack that grows. An op is one page. */
#include "suite.h"

#include <sys/resource.h>

int main(int argc, char **argv)
{
	long ops = suite_ops(argc, argv, "OPS");
	size_t page = page_size(), first = 512 * page;
	struct rlimit limit = { first + (ops + 64) * page, RLIM_INFINITY };
	volatile char *at;

	/* It grows down; what is below it stays free. */
	if (setrlimit(RLIMIT_STACK, &limit))
		die("setrlimit");
	at = free_range(2 * first + ops * page) + first + ops * page;
	at = mmap((char *)at, first, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_FIXED, -1, 0);
	if (at == MAP_FAILED)
		die("mmap");
	for (long i = -16; i < ops; i++) {
		at -= page;
		if (!i)
			start();
		*at = 1;
	}
	stop();
	return 0;
}
