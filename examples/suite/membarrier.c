/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * membarrier query|global|expedited|private|core OPS: membarrier(). An op is one call.
 *
 * global: MEMBARRIER_CMD_GLOBAL, which waits for all CPUs. expedited, private, core: the expedited
 * ones, global, private and private with SYNC_CORE.
 */
#include "suite.h"

#include <linux/membarrier.h>

static const struct {
	const char *name;
	int registers, command;
} commands[] = {
	{ "query", 0, MEMBARRIER_CMD_QUERY },
	{ "global", 0, MEMBARRIER_CMD_GLOBAL },
	{ "expedited", MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, MEMBARRIER_CMD_GLOBAL_EXPEDITED },
	{ "private", MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, MEMBARRIER_CMD_PRIVATE_EXPEDITED },
	{ "core", MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE,
	  MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE },
};

int main(int argc, char **argv)
{
	long ops = suite_ops(argc, argv, "query|global|expedited|private|core OPS");
	size_t which = 0, known = sizeof(commands) / sizeof(*commands);

	while (which < known && strcmp(commands[which].name, argv[1]))
		which++;
	if (which == known)
		usage("query|global|expedited|private|core OPS");
	if (commands[which].registers && syscall(SYS_membarrier, commands[which].registers, 0, 0))
		die_or_not_there("membarrier");
	for (long i = -2; i < ops; i++) {
		if (!i)
			start();
		if (syscall(SYS_membarrier, commands[which].command, 0, 0) < 0)
			die_or_not_there("membarrier");
	}
	stop();
	return 0;
}
