/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * names WHAT OPS: names on tmpfs come, go and change. After each op the folder is as it was before:
 * rename goes to and fro, and what is made is removed again.
 */
#include "variants.h"

#include <linux/fs.h>

static unsigned int turn;

static void make_file(void)
{
	enter_tmpfs(NULL);
	must(mkdir("folder", 0700), "mkdir");
	close(must(open("one", O_WRONLY | O_CREAT, 0600), "open"));
	close(must(open("other", O_WRONLY | O_CREAT, 0600), "open"));
	must(symlink("one", "symlink"), "symlink");
}

static void op_rename(void)
{
	bool back = turn++ & 1;

	must(rename(back ? "two" : "one", back ? "one" : "two"), "rename");
}

static void op_rename_folder(void)
{
	bool back = turn++ & 1;

	must(rename(back ? "folder/one" : "one", back ? "one" : "folder/one"), "rename");
}

static void op_rename_exchange(void)
{
	must(renameat2(AT_FDCWD, "one", AT_FDCWD, "other", RENAME_EXCHANGE), "renameat2");
}

/* The file that is replaced is a second name of another one. */
static void op_rename_replace(void)
{
	must(link("other", "victim"), "link");
	must(link("one", "new"), "link");
	must(rename("new", "victim"), "rename");
	must(unlink("victim"), "unlink");
}

static void op_link(void)
{
	must(link("one", "new"), "link");
	must(unlink("new"), "unlink");
}

static void op_symlink(void)
{
	must(symlink("one", "new"), "symlink");
	must(unlink("new"), "unlink");
}

static void op_readlink(void)
{
	char target[16];

	must(readlink("symlink", target, sizeof(target)), "readlink");
}

static void op_mkdir(void)
{
	must(mkdir("new", 0700), "mkdir");
	must(rmdir("new"), "rmdir");
}

static void op_mknod(void)
{
	must(mknod("new", S_IFIFO | 0600, 0), "mknod");
	must(unlink("new"), "unlink");
}

static const struct variant variants[] = {
	{ "rename", make_file, op_rename },
	{ "rename-folder", make_file, op_rename_folder },
	{ "rename-exchange", make_file, op_rename_exchange },
	{ "rename-replace", make_file, op_rename_replace },
	{ "link", make_file, op_link },
	{ "symlink", make_file, op_symlink },
	{ "readlink", make_file, op_readlink },
	{ "mkdir", make_file, op_mkdir },
	{ "mknod", make_file, op_mknod },
	{}
};

int main(int argc, char **argv)
{
	return run_variant(variants, "WHAT OPS", argc, argv);
}
