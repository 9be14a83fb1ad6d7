/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each copy, which is a process, reads a byte of /proc/version. A test in will-it-scale's shape. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

char *testcase_description = "pread() of /proc/version, opened by each";

void testcase(unsigned long long *iterations, unsigned long nr)
{
	int fd = open("/proc/version", O_RDONLY);
	char byte;

	(void)nr;
	while (1) {
		if (fd < 0 || pread(fd, &byte, 1, 0) != 1) {
			perror("/proc/version");
			exit(1);
		}
		(*iterations)++;
	}
}
