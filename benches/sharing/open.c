/* Each copy opens and closes a file of its own. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void testcase(unsigned long long *iterations, unsigned long nr)
{
	char path[32];
	snprintf(path, sizeof(path), "/tmp/open-%lu", nr);
	close(open(path, O_CREAT | O_RDWR, 0600));
	for (;;) {
		int fd = open(path, O_RDONLY);
		if (fd < 0)
			exit(1);
		close(fd);
		(*iterations)++;
	}
}
