/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * aio WHAT OPS: asynchronous input and output as of Linux 2.6: 4 KiB of a file on tmpfs are read.
 */
#include "variants.h"

#include <linux/aio_abi.h>

static aio_context_t context;
static int file;
static char buffer[4096];

static void set_up(void)
{
	must(syscall(SYS_io_setup, 8, &context), "io_setup");
	enter_tmpfs("huge=never");
	file = must(open("file", O_RDWR | O_CREAT, 0600), "open");
	must(write(file, buffer, sizeof(buffer)), "write");
}

static void op_read(void)
{
	struct iocb request = {
		.aio_lio_opcode = IOCB_CMD_PREAD,
		.aio_fildes = file,
		.aio_buf = (uintptr_t)buffer,
		.aio_nbytes = sizeof(buffer),
	};
	struct iocb *requests[] = { &request };
	struct io_event event;

	must(syscall(SYS_io_submit, context, 1, requests), "io_submit");
	if (must(syscall(SYS_io_getevents, context, 1, 1, &event, NULL), "io_getevents") != 1 ||
	    event.res != sizeof(buffer))
		die("a short read");
}

static const struct variant variants[] = { { "read", set_up, op_read }, {} };

int main(int argc, char **argv)
{
	return run_variant(variants, "WHAT OPS", argc, argv);
}
