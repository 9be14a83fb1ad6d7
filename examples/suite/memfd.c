/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memfd WAY SIZE OPS: a memfd. An op is one call, or with create one memfd_create() and close().
 *
 * allocate: fallocate() of an empty file. punch: fallocate() that takes all pages away. truncate:
 * ftruncate() to nothing. seal: fcntl() that adds a seal.
 */
#include "suite.h"

static const char words[] = "create|allocate|punch|truncate|seal SIZE OPS";

static void once(const char *way, size_t size, bool counted)
{
	int fd, wrong = 0;

	if (counted && *way == 'c')
		start();
	fd = memfd_create("suite", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		die_or_not_there("memfd_create");
	if (*way == 'p' || *way == 't')
		wrong = fallocate(fd, 0, 0, size);
	else if (*way != 'c')
		wrong = ftruncate(fd, size);
	if (wrong)
		die("fallocate");
	if (counted && *way != 'c')
		start();
	if (*way == 'a')
		wrong = fallocate(fd, 0, 0, size);
	else if (*way == 'p')
		wrong = fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, size);
	else if (*way == 't')
		wrong = ftruncate(fd, 0);
	else if (*way == 's')
		wrong = fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
	if (wrong)
		die(way);
	if (counted && *way != 'c')
		stop();
	close(fd);
	if (counted && *way == 'c')
		stop();
}

int main(int argc, char **argv)
{
	long ops = suite_ops(argc, argv, words);

	if (!strstr(words, argv[1]) || strlen(argv[1]) < 4)
		usage(words);
	for (long i = -2; i < ops; i++)
		once(argv[1], size_of(argv[2]), i >= 0);
	return 0;
}
