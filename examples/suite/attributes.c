/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * attributes CALL OPS: mode, owner and times of a file on tmpfs; and the current folder.
 */
#include "variants.h"

static unsigned int turn;
static int here;

static void make_file(void)
{
	enter_tmpfs(NULL);
	close(must(open("file", O_RDWR | O_CREAT, 0600), "open"));
	must(mkdir("folder", 0700), "mkdir");
	here = must(open(".", O_RDONLY | O_DIRECTORY), "open");
}

static void op_chmod(void)
{
	must(chmod("file", turn++ & 1 ? 0600 : 0644), "chmod");
}

static void op_chown(void)
{
	must(chown("file", turn++ & 1 ? 0 : 1000, 0), "chown");
}

static void op_utimensat(void)
{
	must(utimensat(AT_FDCWD, "file", NULL, 0), "utimensat");
}

static void op_chdir(void)
{
	must(chdir(turn++ & 1 ? ".." : "folder"), "chdir");
}

static void op_fchdir(void)
{
	must(fchdir(here), "fchdir");
}

static void op_getcwd(void)
{
	char path[256];

	must(syscall(SYS_getcwd, path, sizeof(path)), "getcwd");
}

static const struct variant variants[] = {
	{ "chmod", make_file, op_chmod },
	{ "chown", make_file, op_chown },
	{ "utimensat", make_file, op_utimensat },
	{ "chdir", make_file, op_chdir },
	{ "fchdir", make_file, op_fchdir },
	{ "getcwd", make_file, op_getcwd },
	{}
};

int main(int argc, char **argv)
{
	return run_variant(variants, "CALL OPS", argc, argv);
}
