/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shared-mm VARIANT one|own threads|processes OPS: two change their address space, which threads
 * share, or use pages of one file (`file-fault`; `own`: of a file each).
 */
#include "shared.h"

#define GAP ((size_t)64 << 20)

/* Where the heap ends. */
static char *heap;

/* Pages for all ops, in a range of their own. */
static size_t range(void)
{
	return (size_t)(shared_ops + 256) * page_size();
}

static char *map(size_t size, int flags, int fd)
{
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (at == MAP_FAILED)
		failed("mmap");
	return at;
}

static void use_range(int me)
{
	/* So far away that page tables are not shared, either. */
	mine[me].at = map(range() + GAP, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1) + GAP / 2;
}

static void use_page(int me)
{
	use_range(me);
	touch_write(mine[me].at, page_size());
}

static void make_file(void)
{
	for (int i = 0; i < 2; i++) {
		mine[i].fd = i && !own ? mine[0].fd : must(memfd_create("file", 0), "memfd_create");
		must(ftruncate(mine[i].fd, range()), "ftruncate");
	}
}

static void use_file(int me)
{
	mine[me].at = map(range(), MAP_SHARED, mine[me].fd);
	/* Its pages are there. */
	touch_write(mine[me].at, range());
	must(madvise(mine[me].at, range(), MADV_DONTNEED), "MADV_DONTNEED");
}

static void find_heap(void)
{
	heap = (char *)syscall(SYS_brk, 0);
}

static void op_mmap(int me)
{
	char *at = map(page_size(), MAP_PRIVATE | MAP_ANONYMOUS, -1);

	(void)me;
	must(munmap(at, page_size()), "munmap");
}

static void op_fault(int me)
{
	mine[me].at[mine[me].n++ * page_size()] = 1;
}

static void op_read_fault(int me)
{
	(void)((volatile char *)mine[me].at)[mine[me].n++ * page_size()];
}

static void op_dontneed(int me)
{
	must(madvise(mine[me].at, page_size(), MADV_DONTNEED), "MADV_DONTNEED");
	mine[me].at[0] = 1;
}

static void op_mprotect(int me)
{
	int more = mine[me].n++ % 2 ? PROT_WRITE : 0;

	must(mprotect(mine[me].at, page_size(), PROT_READ | more), "mprotect");
}

static void op_mlock(int me)
{
	must(mlock(mine[me].at, page_size()), "mlock");
	must(munlock(mine[me].at, page_size()), "munlock");
}

/* Both by turns, so that each one's call changes it. */
static void op_brk(int me)
{
	char *end = heap + (1 + me) * page_size();

	if ((char *)syscall(SYS_brk, end) != end)
		die("brk");
}

static const struct shared_variant variants[] = {
	{ "mmap", NULL, NULL, op_mmap },
	{ "fault", NULL, use_range, op_fault },
	{ "dontneed", NULL, use_page, op_dontneed },
	{ "mprotect", NULL, use_page, op_mprotect },
	{ "mlock", NULL, use_page, op_mlock },
	{ "brk", find_heap, NULL, op_brk },
	{ "file-fault", make_file, use_file, op_read_fault },
	{}
};

int main(int argc, char **argv)
{
	return run_shared(variants, argc, argv);
}
