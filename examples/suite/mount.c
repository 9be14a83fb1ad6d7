/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mount HOW OPS: mounts on a folder, and unmounts.
 */
#include "variants.h"

#include <linux/mount.h>
#ifndef SYS_open_tree
#define SYS_open_tree 428
#define SYS_move_mount 429
#endif

static void make_folders(void)
{
	enter_tmpfs(NULL);
	must(mkdir("from", 0700), "mkdir");
	must(mkdir("to", 0700), "mkdir");
}

static void op_tmpfs(void)
{
	must(mount("none", "to", "tmpfs", 0, NULL), "tmpfs");
	must(umount2("to", 0), "umount");
}

static void op_bind(void)
{
	must(mount("from", "to", NULL, MS_BIND, NULL), "bind mount");
	must(umount2("to", 0), "umount");
}

static void op_tree(void)
{
	int fd = must(syscall(SYS_open_tree, AT_FDCWD, "from", OPEN_TREE_CLONE), "open_tree");

	must(syscall(SYS_move_mount, fd, "", AT_FDCWD, "to", MOVE_MOUNT_F_EMPTY_PATH),
	     "move_mount");
	close(fd);
	must(umount2("to", 0), "umount");
}

static const struct variant variants[] = {
	{ "tmpfs", make_folders, op_tmpfs },
	{ "bind", make_folders, op_bind },
	{ "tree", make_folders, op_tree },
	{}
};

int main(int argc, char **argv)
{
	return run_variant(variants, "HOW OPS", argc, argv);
}
