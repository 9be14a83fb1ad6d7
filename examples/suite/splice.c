/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * splice CALL SIZE OPS: moves SIZE bytes, at most 64 KiB, without a copy through this process.
 */
#include "variants.h"

#include <sys/sendfile.h>
#include <sys/uio.h>

static int file, target, null, ends[2], second[2];
static size_t size;
static char *buffer;

static void make_files(void)
{
	size = size_of(words[0]);
	if (!size || size > 64 << 10)
		usage("CALL SIZE OPS");
	buffer = state_map("anon", 64 << 10);
	enter_tmpfs("huge=never");
	file = must(open("file", O_RDWR | O_CREAT, 0600), "open");
	target = must(open("target", O_RDWR | O_CREAT, 0600), "open");
	null = must(open("/dev/null", O_WRONLY), "/dev/null");
	if (must(write(file, buffer, size), "write") != (long)size)
		die("a short write");
	must(pipe(ends), "pipe");
	must(pipe(second), "pipe");
}

static void all(long done, const char *what)
{
	if (must(done, what) != (long)size)
		die(what);
}

static void to_null(int end)
{
	all(splice(end, NULL, null, NULL, size, 0), "splice");
}

static void op_splice(void)
{
	loff_t at = 0;

	all(splice(file, &at, ends[1], NULL, size, 0), "splice");
	to_null(ends[0]);
}

static void op_tee(void)
{
	loff_t at = 0;

	all(splice(file, &at, ends[1], NULL, size, 0), "splice");
	all(tee(ends[0], second[1], size, 0), "tee");
	to_null(ends[0]);
	to_null(second[0]);
}

static void op_vmsplice(void)
{
	struct iovec part = { buffer, size };

	all(vmsplice(ends[1], &part, 1, 0), "vmsplice");
	to_null(ends[0]);
}

static void op_sendfile(void)
{
	off_t at = 0;

	all(sendfile(null, file, &at, size), "sendfile");
}

static void op_sendfile_file(void)
{
	off_t at = 0;

	must(lseek(target, 0, SEEK_SET), "lseek");
	all(sendfile(target, file, &at, size), "sendfile");
}

static void op_copy_file_range(void)
{
	loff_t from = 0, to = 0;

	all(copy_file_range(file, &from, target, &to, size, 0), "copy_file_range");
}

static const struct variant variants[] = {
	{ "splice", make_files, op_splice },
	{ "tee", make_files, op_tee },
	{ "vmsplice", make_files, op_vmsplice },
	{ "sendfile", make_files, op_sendfile },
	{ "sendfile-file", make_files, op_sendfile_file },
	{ "copy_file_range", make_files, op_copy_file_range },
	{}
};

int main(int argc, char **argv)
{
	return run_variant(variants, "CALL SIZE OPS", argc, argv);
}
