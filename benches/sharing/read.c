/* All copies read the same bytes of one file. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static int file;

void testcase_prepare(unsigned long tasks)
{
	char page[4096] = "";
	(void)tasks;
	file = open("/tmp/read", O_CREAT | O_RDWR, 0600);
	if (write(file, page, sizeof(page)) != sizeof(page))
		exit(1);
}

void testcase(unsigned long long *iterations, unsigned long nr)
{
	char bytes[64];
	(void)nr;
	for (;;) {
		if (pread(file, bytes, sizeof(bytes), 0) != sizeof(bytes))
			exit(1);
		(*iterations)++;
	}
}
