/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * extent WHAT OPS: the size of a file on tmpfs, its blocks and holes, and where its pages are. The
 * file has 1 MiB, of which the second half is a hole.
 */
#include "variants.h"

#include <linux/falloc.h>

#define HALF (512 << 10)

static int fd;

static void make_file(void)
{
	char *buffer = state_map("anon", HALF);

	enter_tmpfs("huge=never");
	fd = must(open("file", O_RDWR | O_CREAT, 0600), "open");
	if (must(write(fd, buffer, HALF), "write") != HALF)
		die("a short write");
	must(ftruncate(fd, 2 * HALF), "ftruncate");
}

static void op_fsync(void)
{
	must(fsync(fd), "fsync");
}

static void op_fdatasync(void)
{
	must(fdatasync(fd), "fdatasync");
}

static void op_sync_file_range(void)
{
	must(sync_file_range(fd, 0, HALF, SYNC_FILE_RANGE_WRITE), "sync_file_range");
}

static void op_ftruncate(void)
{
	must(ftruncate(fd, 4 * HALF), "ftruncate");
	must(ftruncate(fd, 2 * HALF), "ftruncate");
}

static void op_fallocate(void)
{
	must(fallocate(fd, 0, HALF, 64 << 10), "fallocate");
	must(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, HALF, 64 << 10),
	     "FALLOC_FL_PUNCH_HOLE");
}

static void op_lseek(void)
{
	must(lseek(fd, 0, SEEK_SET), "lseek");
}

static void op_seek_hole(void)
{
	if (must(lseek(fd, 0, SEEK_HOLE), "SEEK_HOLE") != HALF)
		die("the hole is elsewhere");
}

static void op_seek_data(void)
{
	if (must(lseek(fd, 0, SEEK_DATA), "SEEK_DATA") != 0)
		die("the data is elsewhere");
}

static void op_fadvise(void)
{
	errno = posix_fadvise(fd, 0, HALF, POSIX_FADV_WILLNEED);
	if (errno)
		failed("posix_fadvise");
}

static const struct variant variants[] = {
	{ "fsync", make_file, op_fsync },
	{ "fdatasync", make_file, op_fdatasync },
	{ "sync_file_range", make_file, op_sync_file_range },
	{ "ftruncate", make_file, op_ftruncate },
	{ "fallocate", make_file, op_fallocate },
	{ "lseek", make_file, op_lseek },
	{ "seek-hole", make_file, op_seek_hole },
	{ "seek-data", make_file, op_seek_data },
	{ "fadvise", make_file, op_fadvise },
	{}
};

int main(int argc, char **argv)
{
	return run_variant(variants, "WHAT OPS", argc, argv);
}
