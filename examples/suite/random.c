/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * random getrandom SIZE OPS: SIZE random bytes, at most 64 KiB, of the kernel.
 */
#include "variants.h"

static size_t size;
static char *buffer;

static void find_size(void)
{
	size = size_of(words[0]);
	if (!size || size > 64 << 10)
		usage("getrandom SIZE OPS");
	buffer = state_map("anon", 64 << 10);
}

static void op_getrandom(void)
{
	must(syscall(SYS_getrandom, buffer, size, 0), "getrandom");
}

static const struct variant variants[] = { { "getrandom", find_size, op_getrandom }, {} };

int main(int argc, char **argv)
{
	return run_variant(variants, "getrandom SIZE OPS", argc, argv);
}
