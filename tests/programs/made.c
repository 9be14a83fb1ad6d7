/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Says how it was started, and executes code that it makes, as a JIT does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

extern char **environ;

int main(int argc, char **argv)
{
	/* mov $100000,%ecx; 1: dec %ecx; jnz 1b; ret */
	static const unsigned char code[] = { 0xb9, 0xa0, 0x86, 0x01, 0, 0xff, 0xc9, 0x75, 0xfc, 0xc3 };
	int all = PROT_READ | PROT_WRITE | PROT_EXEC;
	void *made = mmap(NULL, 4096, all, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (made == MAP_FAILED)
		return 1;
	memcpy(made, code, sizeof(code));
	((void (*)(void))made)();
	size_t bytes = 0;
	int strings = 0;
	for (char **at = environ; *at; at++, strings++)
		bytes += strlen(*at) + 1;
	printf("started as %s with %d, environment %d of %zu, %s\n", argv[0], argc, strings, bytes,
	       getenv("KIND") ? getenv("KIND") : "none");
	return 0;
}
