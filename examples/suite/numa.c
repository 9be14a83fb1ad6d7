/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * numa move_pages|mbind|get_mempolicy STATE SIZE OPS: calls that ask or say on which node memory
 * lies. An op is one call: move_pages() asks for each page, mbind() prefers node 0 or has no
 * preference in turn, get_mempolicy() asks for one address.
 */
#include "suite.h"

#define PREFERRED 1
#define OF_ADDRESS 2

int main(int argc, char **argv)
{
	long ops = suite_ops(argc, argv, "move_pages|mbind|get_mempolicy STATE SIZE OPS");
	size_t size = size_of(argv[3]), page = page_size(), pages = size / page;
	char *at = state_map(argv[2], size);
	void **addresses = calloc(pages, sizeof(*addresses));
	int *nodes = calloc(pages, sizeof(*nodes)), mode;
	unsigned long node0 = 1;
	char what = argv[1][1];

	if (!addresses || !nodes)
		die("calloc");
	for (size_t i = 0; i < pages; i++)
		addresses[i] = at + i * page;
	for (long i = -2; i < ops; i++) {
		long result;

		if (!i)
			start();
		if (what == 'o')
			result = syscall(SYS_move_pages, 0, pages, addresses, NULL, nodes, 0);
		else if (what == 'b')
			result = syscall(SYS_mbind, at, size, i & 1 ? 0 : PREFERRED,
					 i & 1 ? NULL : &node0, i & 1 ? 0 : 8, 0);
		else
			result = syscall(SYS_get_mempolicy, &mode, NULL, 0, at, OF_ADDRESS);
		if (result < 0)
			die_or_not_there(argv[1]);
	}
	stop();
	return 0;
}
