/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xattr CALL OPS: extended attributes of a file on tmpfs, which has one of 16 bytes.
 */
#include "variants.h"

#include <sys/xattr.h>

#define NAME "trusted.suite"

static char value[256];

static void make_file(void)
{
	enter_tmpfs(NULL);
	close(must(open("file", O_RDWR | O_CREAT, 0600), "open"));
	must(setxattr("file", NAME, value, 16, 0), "extended attributes of tmpfs");
}

static void op_set(void)
{
	must(setxattr("file", NAME, value, 16, 0), "setxattr");
}

static void op_get(void)
{
	must(getxattr("file", NAME, value, sizeof(value)), "getxattr");
}

static void op_list(void)
{
	must(listxattr("file", value, sizeof(value)), "listxattr");
}

static void op_remove(void)
{
	must(setxattr("file", "trusted.other", value, 16, 0), "setxattr");
	must(removexattr("file", "trusted.other"), "removexattr");
}

static const struct variant variants[] = {
	{ "set", make_file, op_set },
	{ "get", make_file, op_get },
	{ "list", make_file, op_list },
	{ "remove", make_file, op_remove },
	{}
};

int main(int argc, char **argv)
{
	return run_variant(variants, "CALL OPS", argc, argv);
}
