/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rw CALL SIZE OPS: reads or writes SIZE bytes of a file on tmpfs, of which all pages are there.
 * Each op is at the start of the file; read() and write() go there by an lseek(), which is part of
 * the op.
 */
#include "variants.h"

#include <sys/uio.h>

static int fd;
static size_t size;
static char *buffer;
static struct iovec parts[4];

static void make_file(void)
{
	size = size_of(words[0]);
	if (!size || size > 64 << 20)
		usage("CALL SIZE OPS");
	buffer = state_map("anon", (size + 4095) & ~(size_t)4095);
	enter_tmpfs("huge=never");
	fd = must(open("file", O_RDWR | O_CREAT, 0600), "open");
	if (must(write(fd, buffer, size), "write") != (long)size)
		die("a short write");
	for (int i = 0; i < 4; i++)
		parts[i] = (struct iovec){ buffer + i * (size / 4), size / 4 };
}

static void all(long done, const char *what)
{
	if (must(done, what) != (long)size)
		die(what);
}

static void op_read(void)
{
	must(lseek(fd, 0, SEEK_SET), "lseek");
	all(read(fd, buffer, size), "read");
}

static void op_write(void)
{
	must(lseek(fd, 0, SEEK_SET), "lseek");
	all(write(fd, buffer, size), "write");
}

static void op_pread(void)
{
	all(pread(fd, buffer, size, 0), "pread");
}

static void op_pwrite(void)
{
	all(pwrite(fd, buffer, size, 0), "pwrite");
}

static void op_preadv(void)
{
	all(preadv(fd, parts, 4, 0), "preadv");
}

static void op_pwritev(void)
{
	all(pwritev(fd, parts, 4, 0), "pwritev");
}

/* Each op makes the file longer by SIZE, and short again. */
static void op_append(void)
{
	all(pwrite(fd, buffer, size, size), "pwrite");
	must(ftruncate(fd, size), "ftruncate");
}

static const struct variant variants[] = {
	{ "read", make_file, op_read },
	{ "write", make_file, op_write },
	{ "pread", make_file, op_pread },
	{ "pwrite", make_file, op_pwrite },
	{ "preadv", make_file, op_preadv },
	{ "pwritev", make_file, op_pwritev },
	{ "append", make_file, op_append },
	{}
};

int main(int argc, char **argv)
{
	return run_variant(variants, "CALL SIZE OPS", argc, argv);
}
