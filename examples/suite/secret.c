/* SPDX-License-Identifier: GPL-2.0-or-later */
/* secret OPS: the first write to a page of memfd_secret(). An op is one page. */
#include "suite.h"

int main(int argc, char **argv)
{
	long ops = suite_ops(argc, argv, "OPS");
	size_t page = page_size(), size = (512 + ops) * page;
	int fd = syscall(SYS_memfd_secret, 0);
	volatile char *at = free_range(size);

	if (fd < 0)
		die_or_not_there("memfd_secret");
	if (ftruncate(fd, size))
		die("ftruncate");
	at = mmap((char *)at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
	if (at == MAP_FAILED)
		die_or_not_there("memfd_secret");
	for (size_t i = 0; i < size / page; i++) {
		if (i == 512)
			start();
		at[i * page] = 1;
	}
	stop();
	return 0;
}
