/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pipe WHAT SIZE OPS: a pipe within one process. transfer writes SIZE bytes, at most 64 KiB, and
 * reads them; create makes a pipe, and closes it.
 */
#include "variants.h"

static int ends[2];
static size_t size;
static char *buffer;

static void make_pipe(void)
{
	size = size_of(words[0]);
	if (!size || size > 64 << 10)
		usage("WHAT SIZE OPS");
	buffer = state_map("anon", 64 << 10);
	must(pipe(ends), "pipe");
}

static void op_transfer(void)
{
	if (must(write(ends[1], buffer, size), "write") != (long)size ||
	    must(read(ends[0], buffer, size), "read") != (long)size)
		die("a short transfer");
}

static void op_create(void)
{
	int pair[2];

	must(pipe2(pair, O_CLOEXEC), "pipe2");
	close(pair[0]);
	close(pair[1]);
}

static const struct variant variants[] = {
	{ "transfer", make_pipe, op_transfer },
	{ "create", NULL, op_create },
	{}
};

int main(int argc, char **argv)
{
	return run_variant(variants, "WHAT SIZE OPS", argc, argv);
}
