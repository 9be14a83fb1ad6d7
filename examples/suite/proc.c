/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * proc read PATH OPS: opens a file below /proc or /sys, reads it to its end, and closes it.
 */
#include "variants.h"

static char path[256];

static void find(void)
{
	snprintf(path, sizeof(path), "/%s", words[0]);
	if (access(path, R_OK))
		die_or_not_there(path);
}

static void op_read(void)
{
	static char buffer[65536];
	int fd = must(open(path, O_RDONLY), "open");
	long size;

	do
		size = must(read(fd, buffer, sizeof(buffer)), "read");
	while (size);
	close(fd);
}

static const struct variant variants[] = { { "read", find, op_read }, {} };

int main(int argc, char **argv)
{
	return run_variant(variants, "read PATH OPS", argc, argv);
}
