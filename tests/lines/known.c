/* Touches a number of lines that is known: known HOW COUNT. */

#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profdiff.h"

#define PAGE 4096L
#define HUGE_PAGE (2L << 20)

static char *mapped(long bytes, int flags)
{
	char *area = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	if (area == MAP_FAILED)
		exit(1);
	madvise(area, bytes, MADV_NOHUGEPAGE);
	return area;
}

/* Inlined: a call would be a line of the stack. */
static inline __attribute__((always_inline)) void touch(volatile char *area, long pages, long lines)
{
	for (long page = 0; page < pages; page++)
		for (long line = 0; line < lines; line++)
			area[page * PAGE + line * 64] = 1;
}

/* So many lines of each of 1,000 pages. */
static void user(long lines)
{
	char *area = mapped(1000 * PAGE, MAP_POPULATE);

	PROFDIFF_START();
	touch(area, 1000, lines);
	PROFDIFF_STOP();
}

/* One line, while time goes by. */
static void spin(long times)
{
	PROFDIFF_START();
	for (volatile long i = 0; i < times; i++)
		;
	PROFDIFF_STOP();
}

/* So many pages of page tables are filled, each with 512 pages that are cleared. */
static void populate(long tables, int unmaps)
{
	long bytes = tables * HUGE_PAGE;
	char *area = mapped(bytes + HUGE_PAGE, MAP_NORESERVE);

	area = (char *)(((unsigned long)area + HUGE_PAGE - 1) & -HUGE_PAGE);
	PROFDIFF_START();
	if (madvise(area, bytes, MADV_POPULATE_WRITE))
		exit(1);
	if (unmaps)
		munmap(area, bytes);
	PROFDIFF_STOP();
}

/* So many files are opened, each with an object of its own. */
static void files(long count)
{
	PROFDIFF_START();
	while (count--)
		if (eventfd(0, 0) < 0)
			exit(1);
	PROFDIFF_STOP();
}

/* Two programs touch as many pages at the same addresses, each its own. */
static void two(long pages)
{
	char *area = mapped(pages * PAGE, MAP_POPULATE), byte = 0;
	int go[2], ready[2];

	if (pipe(go) || pipe(ready))
		exit(1);
	if (!fork()) {
		touch(area, pages, 1);
		if (write(ready[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 1)
			_exit(1);
		touch(area, pages, 1);
		_exit(0);
	}
	touch(area, pages, 1);
	if (read(ready[0], &byte, 1) != 1)
		exit(1);
	PROFDIFF_START();
	touch(area, pages, 1);
	if (write(go[1], &byte, 1) != 1)
		exit(1);
	wait(NULL);
	PROFDIFF_STOP();
}

int main(int argc, char **argv)
{
	long count = argc > 2 ? atol(argv[2]) : 0;

	if (!strcmp(argv[1], "user"))
		user(count);
	else if (!strcmp(argv[1], "spin"))
		spin(count);
	else if (!strcmp(argv[1], "populate"))
		populate(count, 0);
	else if (!strcmp(argv[1], "unmap"))
		populate(count, 1);
	else if (!strcmp(argv[1], "files"))
		files(count);
	else
		two(count);
	return 0;
}
