/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shared-path VARIANT one|own threads|processes OPS: two look up, open, make and remove names on
 * tmpfs. `one`: the same name, or names in one directory where each has to have its own; `own`: a
 * directory each.
 */
#include "shared.h"

static void close_new(int fd, const char *what)
{
	close(must(fd, what));
}

/* Two directories, each with the file `file` and the link `link`. */
static void make_names(void)
{
	enter_tmpfs(NULL);
	for (int i = 0; i < 2; i++) {
		must(mkdir(i ? "1" : "0", 0700), "mkdir");
		close_new(open(i ? "1/file" : "0/file", O_CREAT | O_WRONLY, 0600), "open");
		must(symlink("file", i ? "1/link" : "0/link"), "symlink");
	}
}

static void use_file(int me)
{
	sprintf(mine[me].path, "%d/file", whose(me));
}

static void use_link(int me)
{
	sprintf(mine[me].path, "%d/link", whose(me));
}

/* A name that is not there yet, and another one for it. */
static void use_new(int me)
{
	sprintf(mine[me].path, "%d/new-%d", whose(me), me);
	sprintf(mine[me].other_path, "%d/newer-%d", whose(me), me);
}

static void use_made(int me)
{
	use_new(me);
	close_new(open(mine[me].path, O_CREAT | O_WRONLY, 0600), "open");
}

static void use_directory(int me)
{
	mine[me].fd = must(open(whose(me) ? "1" : "0", O_RDONLY | O_DIRECTORY), "open");
}

static void op_open(int me)
{
	close_new(open(mine[me].path, O_RDONLY), "open");
}

static void op_stat(int me)
{
	must(stat(mine[me].path, (struct stat *)mine[me].buffer), "stat");
}

static void op_access(int me)
{
	must(access(mine[me].path, R_OK), "access");
}

static void op_readlink(int me)
{
	must(readlink(mine[me].path, mine[me].buffer, sizeof(mine[me].buffer)), "readlink");
}

static void op_getdents(int me)
{
	must(lseek(mine[me].fd, 0, SEEK_SET), "lseek");
	must(syscall(SYS_getdents64, mine[me].fd, mine[me].buffer, sizeof(mine[me].buffer)),
	     "getdents64");
}

static void op_create(int me)
{
	close_new(open(mine[me].path, O_CREAT | O_EXCL | O_WRONLY, 0600), "open");
	must(unlink(mine[me].path), "unlink");
}

static void op_rename(int me)
{
	bool back = mine[me].n++ % 2;

	must(rename(back ? mine[me].other_path : mine[me].path,
		    back ? mine[me].path : mine[me].other_path), "rename");
}

static const struct shared_variant variants[] = {
	{ "open", make_names, use_file, op_open },
	{ "open-made", make_names, use_made, op_open },
	{ "stat", make_names, use_file, op_stat },
	{ "access", make_names, use_file, op_access },
	{ "readlink", make_names, use_link, op_readlink },
	{ "getdents", make_names, use_directory, op_getdents },
	{ "create", make_names, use_new, op_create },
	{ "rename", make_names, use_made, op_rename },
	{}
};

int main(int argc, char **argv)
{
	return run_shared(variants, argc, argv);
}
