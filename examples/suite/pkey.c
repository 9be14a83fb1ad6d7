/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pkey alloc|mprotect STATE SIZE OPS: memory protection keys. An op is one call of
 * pkey_mprotect() with another key, or pkey_alloc() with pkey_free().
 */
#include "suite.h"

int main(int argc, char **argv)
{
	long ops = suite_ops(argc, argv, "alloc|mprotect STATE SIZE OPS");
	size_t size = size_of(argv[3]);
	char *at = state_map(argv[2], size);
	bool alloc = !strcmp(argv[1], "alloc");
	int key = pkey_alloc(0, 0);

	if (key < 0)
		not_there("protection keys");
	for (long i = -2; i < ops; i++) {
		if (!i)
			start();
		if (alloc) {
			int another = pkey_alloc(0, 0);

			if (another < 0 || pkey_free(another))
				die("pkey_alloc");
		} else if (pkey_mprotect(at, size, PROT_READ | PROT_WRITE, i & 1 ? key : 0)) {
			die("pkey_mprotect");
		}
	}
	stop();
	return 0;
}
