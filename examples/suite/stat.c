/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stat CALL OPS: what a file on tmpfs is, and whether it is there.
 */
#include "variants.h"

#include <sys/vfs.h>

static int fd;
static struct stat status;
static struct statx extended;
static struct statfs filesystem;

static void make_file(void)
{
	enter_tmpfs(NULL);
	fd = must(open("file", O_RDWR | O_CREAT, 0600), "open");
}

static void op_stat(void)
{
	must(stat("file", &status), "stat");
}

static void op_lstat(void)
{
	must(lstat("file", &status), "lstat");
}

static void op_fstat(void)
{
	must(fstat(fd, &status), "fstat");
}

static void op_statx(void)
{
	must(statx(AT_FDCWD, "file", 0, STATX_BASIC_STATS, &extended), "statx");
}

static void op_statx_fd(void)
{
	must(statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &extended), "statx");
}

static void op_missing(void)
{
	if (!stat("missing", &status) || errno != ENOENT)
		die("a missing file is there");
}

static void op_access(void)
{
	must(access("file", R_OK), "access");
}

static void op_faccessat2(void)
{
	must(syscall(SYS_faccessat2, AT_FDCWD, "file", R_OK, AT_EACCESS), "faccessat2");
}

static void op_statfs(void)
{
	must(statfs("file", &filesystem), "statfs");
}

static const struct variant variants[] = {
	{ "stat", make_file, op_stat },
	{ "lstat", make_file, op_lstat },
	{ "fstat", make_file, op_fstat },
	{ "statx", make_file, op_statx },
	{ "statx-fd", make_file, op_statx_fd },
	{ "missing", make_file, op_missing },
	{ "access", make_file, op_access },
	{ "faccessat2", make_file, op_faccessat2 },
	{ "statfs", make_file, op_statfs },
	{}
};

int main(int argc, char **argv)
{
	return run_variant(variants, "CALL OPS", argc, argv);
}
