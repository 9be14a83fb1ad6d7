/* Touches 4 MiB that huge pages fit: one fault with them, or 1,024. */
#include <stdlib.h>
#include <sys/mman.h>

#include "profdiff.h"

#define SIZE (4UL << 20)
#define HUGE (2UL << 20)

int main(void)
{
	char *p = mmap(NULL, SIZE + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return 1;
	p = (char *)(((unsigned long)p + HUGE - 1) & ~(HUGE - 1));
	PROFDIFF_START();
	for (unsigned long at = 0; at < SIZE; at += 4096)
		p[at] = 1;
	PROFDIFF_STOP();
	return 0;
}
