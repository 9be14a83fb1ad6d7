/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fd CALL OPS: file descriptors as such.
 */
#include "variants.h"

#include <sys/ioctl.h>

#define MANY 32

static int fd;

static void open_null(void)
{
	fd = must(open("/dev/null", O_RDWR), "/dev/null");
}

static void op_dup(void)
{
	close(must(dup(fd), "dup"));
}

static void op_dup2(void)
{
	must(dup2(fd, 100), "dup2");
}

static void op_getfl(void)
{
	must(fcntl(fd, F_GETFL), "F_GETFL");
}

static void op_setfl(void)
{
	must(fcntl(fd, F_SETFL, O_NONBLOCK), "F_SETFL");
}

static void op_setfd(void)
{
	must(fcntl(fd, F_SETFD, FD_CLOEXEC), "F_SETFD");
}

static void op_ioctl(void)
{
	must(ioctl(fd, FIOCLEX), "FIOCLEX");
}

static void op_close_range(void)
{
	for (int i = 0; i < MANY; i++)
		must(dup2(fd, 200 + i), "dup2");
	must(syscall(SYS_close_range, 200, 200 + MANY - 1, 0), "close_range");
}

static void op_read_null(void)
{
	char byte;

	must(read(fd, &byte, 1), "read");
}

static void op_write_null(void)
{
	must(write(fd, "x", 1), "write");
}

static const struct variant variants[] = {
	{ "dup", open_null, op_dup },
	{ "dup2", open_null, op_dup2 },
	{ "getfl", open_null, op_getfl },
	{ "setfl", open_null, op_setfl },
	{ "setfd", open_null, op_setfd },
	{ "ioctl", open_null, op_ioctl },
	{ "close_range", open_null, op_close_range },
	{ "read-null", open_null, op_read_null },
	{ "write-null", open_null, op_write_null },
	{}
};

int main(int argc, char **argv)
{
	return run_variant(variants, "CALL OPS", argc, argv);
}
