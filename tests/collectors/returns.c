/* System calls whose results are known: reads, some of which fail, and children that end in one. */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "profdiff.h"

int main(void)
{
	char bytes[3];
	int zero = open("/dev/zero", O_RDONLY), left = 0;
	PROFDIFF_START();
	for (int n = 0; n < 30; n++)
		left += read(zero, bytes, 1 + n % 3) != 1 + n % 3;
	for (int n = 0; n < 7; n++)
		left += read(-1, bytes, 1) != -1;
	for (int n = 0; n < 4; n++) {
		pid_t child = fork();
		if (!child)
			_exit(0);
		left += waitpid(child, NULL, 0) != child;
	}
	PROFDIFF_STOP();
	return left;
}
