/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * getdents ENTRIES OPS: lists a folder on tmpfs with that many files, from its start to its end.
 */
#include "variants.h"

static int fd;
static long entries;

static void make_folder(void)
{
	char name[32];

	entries = atol(words[0]);
	if (entries < 0 || entries > 100000)
		usage("list ENTRIES OPS");
	enter_tmpfs(NULL);
	must(mkdir("folder", 0700), "mkdir");
	for (long i = 0; i < entries; i++) {
		snprintf(name, sizeof(name), "folder/%06ld", i);
		close(must(open(name, O_WRONLY | O_CREAT, 0600), "open"));
	}
	fd = must(open("folder", O_RDONLY | O_DIRECTORY), "open");
}

static void op_list(void)
{
	static char buffer[32768];
	long size, all = 0;

	must(lseek(fd, 0, SEEK_SET), "lseek");
	while ((size = must(syscall(SYS_getdents64, fd, buffer, sizeof(buffer)), "getdents64")))
		all += size;
	if (all < entries * 24)
		die("the list is too short");
}

static const struct variant variants[] = { { "list", make_folder, op_list }, {} };

int main(int argc, char **argv)
{
	return run_variant(variants, "list ENTRIES OPS", argc, argv);
}
