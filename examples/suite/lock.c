/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lock KIND OPS: locks a file on tmpfs, and unlocks it.
 */
#include "variants.h"

#include <sys/file.h>

static int fd;

static void make_file(void)
{
	enter_tmpfs(NULL);
	fd = must(open("file", O_RDWR | O_CREAT, 0600), "open");
}

static void fcntl_lock(int command, short type, const char *what)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1 };

	/* Nobody else has a lock: this is how a kernel without CONFIG_FILE_LOCKING refuses. */
	if (fcntl(fd, command, &lock)) {
		if (errno == EACCES || errno == EINVAL)
			not_there(what);
		die(what);
	}
}

static void op_fcntl(void)
{
	fcntl_lock(F_SETLK, F_WRLCK, "fcntl locks");
	fcntl_lock(F_SETLK, F_UNLCK, "fcntl locks");
}

static void op_ofd(void)
{
	fcntl_lock(F_OFD_SETLK, F_WRLCK, "F_OFD_SETLK");
	fcntl_lock(F_OFD_SETLK, F_UNLCK, "F_OFD_SETLK");
}

static void op_flock(void)
{
	must(flock(fd, LOCK_EX), "flock");
	must(flock(fd, LOCK_UN), "flock");
}

static const struct variant variants[] = {
	{ "fcntl", make_file, op_fcntl },
	{ "ofd", make_file, op_ofd },
	{ "flock", make_file, op_flock },
	{}
};

int main(int argc, char **argv)
{
	return run_variant(variants, "KIND OPS", argc, argv);
}
