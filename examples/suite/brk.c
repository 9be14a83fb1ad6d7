/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * brk grow|shrink|touched SIZE OPS: moves the end of the heap. An op is one call.
 *
 * grow: up by SIZE. shrink: down by SIZE of untouched memory, touched: of touched memory.
 */
#include "suite.h"

static const char words[] = "grow|shrink|touched SIZE OPS";

int main(int argc, char **argv)
{
	long ops = suite_ops(argc, argv, words);
	size_t size = size_of(argv[2]);
	bool grow = !strcmp(argv[1], "grow"), touched = !strcmp(argv[1], "touched");
	char *end = (char *)syscall(SYS_brk, 0);

	if (!grow && !touched && strcmp(argv[1], "shrink"))
		usage(words);
	/* A heap of its own pages: nothing of malloc() lies in what comes and goes. */
	end += 2 * HUGE_SIZE - (uintptr_t)end % HUGE_SIZE;
	if ((char *)syscall(SYS_brk, end) != end)
		die("brk");
	for (long i = -2; i < ops; i++) {
		if (i >= 0 && grow)
			start();
		if ((char *)syscall(SYS_brk, end + size) != end + size)
			die("brk");
		if (i >= 0 && grow)
			stop();
		if (touched)
			touch_write(end, size);
		if (i >= 0 && !grow)
			start();
		if ((char *)syscall(SYS_brk, end) != end)
			die("brk");
		if (i >= 0 && !grow)
			stop();
	}
	return 0;
}
