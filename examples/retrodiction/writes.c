/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * writes HOW AFTER SIZE OPS: writes to all of SIZE bytes (memset) or to a byte of each page (byte),
 * after they were made read-only and writable again (protect), or after the kernel was told to notice
 * writes (clear: of 4 to /proc/self/clear_refs). An op is the writes to SIZE, without what is before.
 */
#include "../suite/suite.h"

static const char words[] = "memset|byte protect|clear SIZE OPS";

int main(int argc, char **argv)
{
	long ops = suite_ops(argc, argv, words);
	bool whole = !strcmp(argv[1], "memset"), protects = !strcmp(argv[2], "protect");
	size_t size = size_of(argv[3]);
	char *at;

	if ((!whole && strcmp(argv[1], "byte")) || (!protects && strcmp(argv[2], "clear")) || !size)
		usage(words);
	at = state_map("anon", size);
	for (long i = -4; i < ops; i++) {
		if (protects && (mprotect(at, size, PROT_READ) ||
				 mprotect(at, size, PROT_READ | PROT_WRITE)))
			die("mprotect");
		if (!protects && write_text("/proc/self/clear_refs", "4"))
			die_or_not_there("clear_refs");
		if (i >= 0)
			start();
		if (whole)
			memset(at, (int)i, size);
		else
			touch_write(at, size);
		if (i >= 0)
			stop();
	}
	return 0;
}
