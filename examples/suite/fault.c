/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fault WAY STATE OPS: page faults. An op is one page that is touched, in a state with thp one huge
 * page.
 *
 * read, write: of memory that was never touched. cached-read, cached-write: of a file whose pages
 * are in the page cache. zero-write: of memory that was only read. copy: the first write after
 * fork(), while the child has the page too; reuse: when the child is gone. again: the first write
 * after the memory was read only for a while.
 */
#include "suite.h"

#include <signal.h>

static const char words[] =
	"read|write|cached-read|cached-write|zero-write|copy|reuse|again STATE OPS";

/* A child that sleeps until it is killed. */
static pid_t sleeper(void)
{
	pid_t child = fork();

	if (child < 0)
		die("fork");
	while (!child)
		pause();
	return child;
}

static void end(pid_t child)
{
	if (kill(child, SIGKILL) || waitpid(child, NULL, 0) != child)
		die("waitpid");
}

int main(int argc, char **argv)
{
	long ops = suite_ops(argc, argv, words);
	const char *way = argv[1];
	bool copy = !strcmp(way, "copy"), reuse = !strcmp(way, "reuse");
	bool again = !strcmp(way, "again"), cached = !strncmp(way, "cached-", 7);
	bool reads = !strcmp(way, "read") || !strcmp(way, "cached-read");
	size_t step = state_has(argv[2], "thp") ? HUGE_SIZE : page_size();
	/* The first part warms up: with small pages, all that one page table maps. */
	size_t first = step == HUGE_SIZE ? 2 * step : HUGE_SIZE, size = first + ops * step;
	char state[64];
	pid_t child = 0;
	volatile char *at;

	if (!reads && !copy && !reuse && !again && strcmp(way, "write") &&
	    strcmp(way, "cached-write") && strcmp(way, "zero-write"))
		usage(words);
	snprintf(state, sizeof(state), "%s%s", argv[2],
		 cached			    ? "-cached-empty"
		 : !strcmp(way, "zero-write") ? "-clean"
		 : copy || reuse || again   ? ""
					    : "-empty");
	at = state_map(state, size);
	if (copy || reuse)
		child = sleeper();
	if (reuse)
		end(child);
	if (again && (mprotect((char *)at, size, PROT_READ) ||
		      mprotect((char *)at, size, PROT_READ | PROT_WRITE)))
		die("mprotect");
	for (size_t offset = 0; offset < size; offset += step) {
		if (offset == first)
			start();
		if (reads)
			(void)at[offset];
		else
			at[offset] = 1;
	}
	stop();
	if (copy)
		end(child);
	return 0;
}
