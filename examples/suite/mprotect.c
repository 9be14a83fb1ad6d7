/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mprotect WAY STATE SIZE OPS: mprotect() of memory in a state. An op is one call.
 *
 * toggle: of all of it, between none and read and write. read: between read only and read and
 * write. split: of its middle page, which becomes a mapping of its own and is merged again. many:
 * as toggle, where each page is a mapping of its own. same: to what it is already.
 */
#include "suite.h"

int main(int argc, char **argv)
{
	long ops = suite_ops(argc, argv, "toggle|read|split|many|same STATE SIZE OPS");
	size_t size = size_of(argv[3]), page = page_size();
	char *at = state_map(argv[2], size);
	int both = PROT_READ | PROT_WRITE, other = PROT_READ;

	if (!strcmp(argv[1], "toggle")) {
		other = PROT_NONE;
	} else if (!strcmp(argv[1], "split")) {
		at += size / 2 / page * page;
		size = page;
	} else if (!strcmp(argv[1], "many")) {
		other = PROT_NONE;
		for (size_t offset = 0; offset < size; offset += 2 * page)
			if (madvise(at + offset, page, MADV_DONTFORK))
				die("madvise");
	} else if (!strcmp(argv[1], "same")) {
		other = both;
	} else if (strcmp(argv[1], "read")) {
		usage("toggle|read|split|many|same STATE SIZE OPS");
	}
	for (long i = -2; i < ops; i++) {
		if (!i)
			start();
		if (mprotect(at, size, i & 1 ? both : other))
			die("mprotect");
	}
	stop();
	return 0;
}
