/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * open HOW OPS: opens a file on tmpfs, and closes it.
 */
#include "variants.h"

#include <linux/openat2.h>

static const char *path = "file";

static void make_file(void)
{
	enter_tmpfs(NULL);
	close(must(open("file", O_RDWR | O_CREAT, 0600), "open"));
}

static void make_deep_file(void)
{
	static const char deep[] = "a/b/c/d/e/f/g/h/file";
	char folder[] = "a/b/c/d/e/f/g/h";

	enter_tmpfs(NULL);
	for (size_t end = 1; end <= sizeof(folder) - 1; end += 2) {
		folder[end] = '\0';
		must(mkdir(folder, 0700), "mkdir");
		folder[end] = '/';
	}
	path = deep;
	close(must(open(path, O_RDWR | O_CREAT, 0600), "open"));
}

static void make_links(void)
{
	make_file();
	must(symlink("file", "first"), "symlink");
	must(symlink("first", "second"), "symlink");
	path = "second";
}

static void op_open(void)
{
	int fd = must(open(path, O_RDONLY), "open");

	close(fd);
}

static void op_openat2(void)
{
	struct open_how how = { .flags = O_RDONLY, .resolve = RESOLVE_BENEATH };
	int fd = must(syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how)), "openat2");

	close(fd);
}

static void op_path(void)
{
	int fd = must(open(path, O_PATH), "open");

	close(fd);
}

static void op_create(void)
{
	int fd = must(open("new", O_WRONLY | O_CREAT | O_EXCL, 0600), "open");

	close(fd);
	must(unlink("new"), "unlink");
}

static void op_tmpfile(void)
{
	int fd = must(open(".", O_WRONLY | O_TMPFILE, 0600), "O_TMPFILE");

	close(fd);
}

static void op_truncate(void)
{
	int fd = must(open(path, O_WRONLY | O_TRUNC), "open");

	close(fd);
}

static void op_missing(void)
{
	if (open("missing", O_RDONLY) >= 0 || errno != ENOENT)
		die("a missing file could be opened");
}

static const struct variant variants[] = {
	{ "open", make_file, op_open },
	{ "deep", make_deep_file, op_open },
	{ "symlinks", make_links, op_open },
	{ "openat2", make_file, op_openat2 },
	{ "path", make_file, op_path },
	{ "create", make_file, op_create },
	{ "tmpfile", make_file, op_tmpfile },
	{ "truncate", make_file, op_truncate },
	{ "missing", make_file, op_missing },
	{}
};

int main(int argc, char **argv)
{
	return run_variant(variants, "HOW OPS", argc, argv);
}
