/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shared-file VARIANT one|own threads|processes OPS: two use one open file on tmpfs, or each its
 * own. In `inode` variants, each has opened one file itself.
 */
#include "shared.h"

#include <poll.h>

static int files[2];
static char directory[4096];

static int made(const char *name)
{
	return must(open(name, O_RDWR | O_CREAT, 0600), "open");
}

static void make_files(void)
{
	enter_tmpfs(NULL);
	for (int i = 0; i < 2; i++) {
		files[i] = made(own && i ? "other" : "file");
		if (pwrite(files[i], directory, sizeof(directory), 0) != sizeof(directory))
			die("pwrite");
	}
}

static void use_object(int me)
{
	mine[me].fd = files[whose(me)];
}

static void use_inode(int me)
{
	mine[me].fd = files[me];
}

static void op_fstat(int me)
{
	must(fstat(mine[me].fd, (struct stat *)mine[me].buffer), "fstat");
}

static void op_pread(int me)
{
	must(pread(mine[me].fd, mine[me].buffer, 64, 0), "pread");
}

/* Both write bytes that are 1 KiB apart, in one page. */
static void op_pwrite(int me)
{
	must(pwrite(mine[me].fd, mine[me].buffer, 64, 1024 * me), "pwrite");
}

static void op_lseek(int me)
{
	must(lseek(mine[me].fd, 0, SEEK_SET), "lseek");
}

static void op_read(int me)
{
	op_lseek(me);
	must(read(mine[me].fd, mine[me].buffer, 64), "read");
}

static void op_dup(int me)
{
	close(must(dup(mine[me].fd), "dup"));
}

static void op_getfl(int me)
{
	must(fcntl(mine[me].fd, F_GETFL), "F_GETFL");
}

static void op_poll(int me)
{
	struct pollfd one = { .fd = mine[me].fd, .events = POLLIN };

	must(poll(&one, 1, 0), "poll");
}

static void change_lock(int me, short type)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = me, .l_len = 1 };

	/* Nobody else has this byte: so refuses a kernel without CONFIG_FILE_LOCKING. */
	if (fcntl(mine[me].fd, F_SETLK, &lock)) {
		if (errno == EACCES || errno == EINVAL)
			not_there("file locks");
		die("F_SETLK");
	}
}

/* A byte each. */
static void op_lock(int me)
{
	change_lock(me, F_WRLCK);
	change_lock(me, F_UNLCK);
}

static const struct shared_variant variants[] = {
	{ "fstat", make_files, use_object, op_fstat },
	{ "pread", make_files, use_object, op_pread },
	{ "pwrite", make_files, use_object, op_pwrite },
	{ "lseek", make_files, use_object, op_lseek },
	{ "read", make_files, use_object, op_read },
	{ "dup", make_files, use_object, op_dup },
	{ "getfl", make_files, use_object, op_getfl },
	{ "poll", make_files, use_object, op_poll },
	{ "inode-fstat", make_files, use_inode, op_fstat },
	{ "inode-pread", make_files, use_inode, op_pread },
	{ "inode-pwrite", make_files, use_inode, op_pwrite },
	{ "inode-lock", make_files, use_inode, op_lock },
	{}
};

int main(int argc, char **argv)
{
	return run_shared(variants, argc, argv);
}
