/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What aim7's disk_rr asks of the page cache: each copy writes a file on a RAM disk with ext4, reads
 * it twice and throws it away. All copies are in one memory cgroup. An operation is a file of PAGES
 * pages, each of which is added to an LRU list, activated by the second read, and removed.
 *
 * A test in will-it-scale's shape: profdiff has its main().
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGES 32

char *testcase_description = "Write, read and truncate a file, in one memory cgroup";

static char data[PAGES * 4096];

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		fail(path);
	close(fd);
}

void testcase_prepare(unsigned long nr_tasks)
{
	(void)nr_tasks;
	mkdir("disk", 0700);
	if (system("mke2fs /dev/ram0 >/dev/null") || mount("/dev/ram0", "disk", "ext4", 0, NULL))
		fail("/dev/ram0");
	mkdir("cgroup", 0700);
	if (mount("cgroup2", "cgroup", "cgroup2", 0, NULL))
		fail("cgroup2");
	write_text("cgroup/cgroup.subtree_control", "+memory");
	mkdir("cgroup/one", 0700);
}

void testcase(unsigned long long *iterations, unsigned long nr)
{
	char path[32];
	int fd;

	write_text("cgroup/one/cgroup.procs", "0");
	snprintf(path, sizeof(path), "disk/%lu", nr);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	if (fd < 0)
		fail(path);
	while (1) {
		if (pwrite(fd, data, sizeof(data), 0) != sizeof(data))
			fail("pwrite");
		for (int i = 0; i < 2; i++)
			if (pread(fd, data, sizeof(data), 0) != sizeof(data))
				fail("pread");
		if (ftruncate(fd, 0))
			fail("ftruncate");
		(*iterations)++;
	}
}
