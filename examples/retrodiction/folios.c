/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * folios ACTION FOLIO_KIB SIZE_KIB OPS: fork() of a process with SIZE_KIB of private anonymous memory,
 * munmap() of it, or map, write, mremap() and munmap() of it (move). The memory lies in folios of
 * FOLIO_KIB, which PTEs map: 4, 2048, or a size that the kernel offers. hugetlb: FOLIO_KIB of huge
 * pages are taken from free memory, as the administrator does. An op is one call, in move one round.
 */
#include "../suite/suite.h"

static const char words[] = "fork|munmap|move|hugetlb FOLIO_KIB SIZE_KIB OPS";
static const char pool[] = "/proc/sys/vm/nr_hugepages";
static char setting[PATH_MAX], counter[PATH_MAX];

static long faults_of_size(void)
{
	char text[32] = "";
	int fd = open(counter, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		die_or_not_there(counter);
	if (read(fd, text, sizeof(text) - 1) < 0)
		die(counter);
	close(fd);
	return atol(text);
}

/* Another protection of its first page has PTEs map a huge page. */
static void split(char *at, size_t size)
{
	for (size_t offset = 0; offset < size; offset += HUGE_SIZE)
		if (mprotect(at + offset, page_size(), PROT_READ) ||
		    mprotect(at + offset, page_size(), PROT_READ | PROT_WRITE))
			die("mprotect");
}

static void fork_once(bool counted)
{
	pid_t child;
	int status;

	if (counted)
		start();
	child = fork();
	if (!child)
		_exit(0);
	if (counted)
		stop();
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		die("fork");
}

static void take_huge_pages(size_t kib)
{
	char number[32];

	snprintf(number, sizeof(number), "%zu", kib >> 11);
	start();
	if (write_text(pool, number))
		die_or_not_there(pool);
	stop();
	if (write_text(pool, "0"))
		die(pool);
}

int main(int argc, char **argv)
{
	long ops = suite_ops(argc, argv, words);
	size_t folio = (size_t)atol(argv[2]), size = (size_t)atol(argv[3]) << 10;
	bool forks = !strcmp(argv[1], "fork"), moves = !strcmp(argv[1], "move");
	const struct sched_param first = { .sched_priority = 1 };
	bool huge = folio == HUGE_SIZE >> 10, several = folio > 4 && !huge;

	if (!strcmp(argv[1], "hugetlb")) {
		for (long i = 0; i < ops; i++)
			take_huge_pages(folio);
		return 0;
	}
	if ((!forks && !moves && strcmp(argv[1], "munmap")) || !size || !folio)
		usage(words);
	if (folio > 4)
		prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
	if (huge)
		choose("/sys/kernel/mm/transparent_hugepage/enabled", "always");
	if (several) {
		snprintf(setting, sizeof(setting),
			 "/sys/kernel/mm/transparent_hugepage/hugepages-%zukB/enabled", folio);
		snprintf(counter, sizeof(counter),
			 "/sys/kernel/mm/transparent_hugepage/hugepages-%zukB/stats/anon_fault_alloc",
			 folio);
		choose(setting, "always");
	}
	/* The child waits until the parent sleeps: it does not end in the window. */
	if (forks && sched_setscheduler(0, SCHED_FIFO, &first))
		die("SCHED_FIFO");
	for (long i = -1; i < ops; i++) {
		long before = several ? faults_of_size() : 0;
		char *at, *to;

		if (moves && i >= 0)
			start();
		at = mmap(free_range(size), size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		if (at == MAP_FAILED)
			die("mmap");
		touch_write(at, size);
		if (huge)
			split(at, size);
		if (moves) {
			to = mremap(at, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, free_range(size));
			if (to == MAP_FAILED)
				die("mremap");
			at = to;
		}
		if (several && !moves && faults_of_size() == before)
			die("no folio of that size");
		if (forks)
			fork_once(i >= 0);
		if (i >= 0 && !forks && !moves)
			start();
		if (munmap(at, size))
			die("munmap");
		if (i >= 0 && !forks)
			stop();
		if (several && moves && faults_of_size() == before)
			die("no folio of that size");
	}
	return 0;
}
