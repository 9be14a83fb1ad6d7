/* Each copy maps and unmaps 64 KiB. */
#include <stdlib.h>
#include <sys/mman.h>

#define SIZE (64 << 10)

void testcase(unsigned long long *iterations, unsigned long nr)
{
	(void)nr;
	for (;;) {
		void *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				    -1, 0);
		if (memory == MAP_FAILED)
			exit(1);
		munmap(memory, SIZE);
		(*iterations)++;
	}
}
