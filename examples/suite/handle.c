/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * handle CALL OPS: a file on tmpfs by a handle of it: name makes one, open opens the file by it.
 */
#include "variants.h"

static union {
	struct file_handle handle;
	char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
} of;
static int folder;

static void op_name(void)
{
	int mount;

	of.handle.handle_bytes = MAX_HANDLE_SZ;
	must(name_to_handle_at(AT_FDCWD, "file", &of.handle, &mount, 0), "name_to_handle_at");
}

static void make_file(void)
{
	enter_tmpfs(NULL);
	close(must(open("file", O_RDWR | O_CREAT, 0600), "open"));
	folder = must(open(".", O_RDONLY | O_DIRECTORY), "open");
	op_name();
}

static void op_open(void)
{
	int fd = must(open_by_handle_at(folder, &of.handle, O_RDONLY), "open_by_handle_at");

	close(fd);
}

static const struct variant variants[] = {
	{ "name", make_file, op_name },
	{ "open", make_file, op_open },
	{}
};

int main(int argc, char **argv)
{
	return run_variant(variants, "CALL OPS", argc, argv);
}
