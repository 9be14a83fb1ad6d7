/* Each copy maps 64 KiB, writes to each of the 16 pages, and unmaps them. */
#include <stdlib.h>
#include <sys/mman.h>

#define SIZE (64 << 10)

void testcase(unsigned long long *iterations, unsigned long nr)
{
	(void)nr;
	for (;;) {
		volatile char *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
					     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (memory == MAP_FAILED)
			exit(1);
		for (long at = 0; at < SIZE; at += 4096)
			memory[at] = 1;
		munmap((void *)memory, SIZE);
		(*iterations)++;
	}
}
