/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the programs of the suite share.
 *
 * A program takes its state and sizes as words, and OPS, the number of ops in the window, as the
 * last one. It makes its state, does a few ops to warm up, and then exactly OPS of them between
 * start() and stop(). It exits with 0, with 1 after an error, with 2 for wrong words, and with 4
 * (KSFT_SKIP of the kernel's own tests) after "not there: WHAT (ERROR)" if the kernel lacks what
 * it calls.
 *
 * Include this file first: it defines _GNU_SOURCE.
 */
#ifndef SUITE_H
#define SUITE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "profdiff.h"

#define HUGE_SIZE ((size_t)2 << 20)
#define MAX_OPS 10000000

/* Ends the program after one line: what failed, and the error. */
__attribute__((noreturn)) static inline void die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
	exit(1);
}

/* Ends the program because this kernel lacks `what`; errno says how it said so. */
__attribute__((noreturn)) static inline void not_there(const char *what)
{
	const char *name = strerrorname_np(errno);

	fprintf(stderr, "not there: %s (%s)\n", what, name ? name : "unknown");
	exit(4);
}

/* For a first call: not there if the kernel does not know it, or an error. */
__attribute__((noreturn)) static inline void die_or_not_there(const char *what)
{
	if (errno == ENOSYS || errno == EINVAL || errno == EOPNOTSUPP || errno == ENODEV ||
	    errno == ENOENT || errno == EAFNOSUPPORT || errno == EPROTONOSUPPORT)
		not_there(what);
	die(what);
}

__attribute__((noreturn)) static inline void usage(const char *words)
{
	fprintf(stderr, "usage: %s %s\n", program_invocation_short_name, words);
	exit(2);
}

/*
 * OPS, if there are exactly as many words as `words` names; the others are argv[1] and following.
 * Huge pages are off from here on: who wants them asks state_map() for them.
 */
static inline long suite_ops(int argc, char **argv, const char *words)
{
	int wanted = 1;
	char *end;
	long ops;

	for (const char *at = words; *at; at++)
		wanted += *at == ' ';
	if (argc != wanted + 1)
		usage(words);
	errno = 0;
	ops = strtol(argv[argc - 1], &end, 10);
	if (errno || *end || end == argv[argc - 1] || ops < 1 || ops > MAX_OPS)
		usage(words);
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	return ops;
}

/* "4k", "2m" or a number of bytes; 0 if it is none of them. */
static inline size_t size_of(const char *text)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	if (*end == 'k' || *end == 'm')
		number <<= *end++ == 'k' ? 10 : 20;
	return end == text || *end || number > (1ul << 32) ? 0 : number;
}

static inline size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static inline int64_t coarse_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/*
 * Waits until a timer tick has just passed. In a guest that counts instructions, time is
 * instructions, so a window of less than a tick (with 250 Hz: 4 million instructions) then holds
 * none, whatever ran before it.
 */
static inline void after_tick(void)
{
	int64_t before = coarse_ns();

	while (coarse_ns() == before)
		;
	/* What the tick woke runs now, and not in the window. */
	for (volatile int i = 0; i < 20000; i++)
		;
}

static inline int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/*
 * Fills the lists of free pages from which the kernel serves a processor, so that what a window
 * allocates does not depend on how full they happened to be.
 */
static inline void fill_free_lists(void)
{
	size_t size = (size_t)16 << 20;
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		die("mmap");
	for (size_t offset = 0; offset < size; offset += page_size())
		((volatile char *)at)[offset] = 1;
	munmap(at, size);
}

/*
 * Opens a window, of which there may be many: what runs between them is not counted. If the last
 * tick is long ago, waits for the next. What set-up left to be done later is done before the first.
 */
static inline void start(void)
{
	static int64_t tick;
	const struct timespec rest = { 0, 20000000 };
	struct timespec length;

	if (!tick) {
		fill_free_lists();
		nanosleep(&rest, NULL);
	}
	clock_getres(CLOCK_MONOTONIC_COARSE, &length);
	if (now_ns() - tick > length.tv_nsec / 8) {
		after_tick();
		tick = now_ns();
	}
	PROFDIFF_START();
}

static inline void stop(void)
{
	PROFDIFF_STOP();
}

static inline void touch_write(char *at, size_t size)
{
	for (size_t offset = 0, page = page_size(); offset < size; offset += page)
		((volatile char *)at)[offset] = 1;
}

static inline void touch_read(const char *at, size_t size)
{
	for (size_t offset = 0, page = page_size(); offset < size; offset += page)
		(void)((const volatile char *)at)[offset];
}

/* Writes one short text to a file below /proc or /sys. 0, or -1 and errno. */
static inline int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t done;

	if (fd < 0)
		return -1;
	done = write(fd, text, strlen(text));
	close(fd);
	return done == (ssize_t)strlen(text) ? 0 : -1;
}

/* What a file below /sys was set to, to be put back when the program ends. */
static struct {
	const char *path;
	char value[32];
} suite_settings[4];

static inline void suite_put_back(void)
{
	for (size_t i = 0; i < 4 && suite_settings[i].path; i++)
		write_text(suite_settings[i].path, suite_settings[i].value);
}

/*
 * Chooses `value` in a file that shows its choices, "always [madvise] never", unless it is at
 * "always"; the former choice comes back when the program ends. Does nothing without the file.
 */
static inline void choose(const char *path, const char *value)
{
	char line[128] = "";
	char *open_, *close_;
	size_t at = 0;
	FILE *file = fopen(path, "re");

	if (!file)
		return;
	if (!fgets(line, sizeof(line), file))
		*line = 0;
	fclose(file);
	open_ = strchr(line, '[');
	close_ = open_ ? strchr(open_, ']') : NULL;
	if (!close_ || close_ - open_ > 31)
		return;
	*close_ = 0;
	if (!strcmp(open_ + 1, "always") || !strcmp(open_ + 1, value))
		return;
	while (at < 4 && suite_settings[at].path)
		at++;
	if (at == 4 || write_text(path, value))
		return;
	if (!at)
		atexit(suite_put_back);
	strcpy(suite_settings[at].value, open_ + 1);
	suite_settings[at].path = path;
}

/* Makes an empty tmpfs, which nobody else sees, the current folder. `options` as of mount(8). */
static inline void enter_tmpfs(const char *options)
{
	static const char folder[] = "/tmp";

	mkdir(folder, 01777);
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		die("mount namespace");
	if (mount("tmpfs", folder, "tmpfs", 0, options))
		die_or_not_there("tmpfs");
	if (chdir(folder))
		die(folder);
}

/* Whether `state`, words joined by "-", has this word. */
static inline bool state_has(const char *state, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = state; at; at = strchr(at, '-') ? strchr(at, '-') + 1 : NULL)
		if (!strncmp(at, word, length) && (at[length] == '-' || !at[length]))
			return true;
	return false;
}

/* An aligned address range that nobody uses, of `size` bytes with nothing directly around it. */
static inline char *free_range(size_t size)
{
	size_t whole = size + 3 * HUGE_SIZE;
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	char *area = mmap(NULL, whole, PROT_NONE, flags, -1, 0);

	if (area == MAP_FAILED)
		die("mmap");
	munmap(area, whole);
	return area + 2 * HUGE_SIZE - (uintptr_t)area % HUGE_SIZE;
}

/* The sum of one line's numbers in /proc/self/smaps, in bytes, for what is mapped at `at`. */
static inline size_t smaps(const char *at, size_t size, const char *name)
{
	FILE *file = fopen("/proc/self/smaps", "re");
	char line[512];
	size_t sum = 0, length = strlen(name), number;
	unsigned long low, high;
	bool inside = false;

	if (!file)
		die_or_not_there("/proc/self/smaps");
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx-%lx ", &low, &high) == 2)
			inside = low >= (uintptr_t)at && high <= (uintptr_t)at + size;
		else if (inside && !strncmp(line, name, length) &&
			 sscanf(line + length, ": %zu kB", &number) == 1)
			sum += number << 10;
	}
	fclose(file);
	return sum;
}

/*
 * The file of a state, of `size` bytes: a memfd, or one on a tmpfs, which state_fd() enters first.
 * -1 for anonymous memory.
 */
static inline int state_fd(const char *state, size_t size)
{
	int fd = -1;

	if (state_has(state, "tmpfs")) {
		enter_tmpfs(state_has(state, "thp") ? "huge=always" : "huge=never");
		fd = open("file", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		if (fd < 0)
			die("open");
	} else if (state_has(state, "memfd")) {
		fd = memfd_create("suite", MFD_CLOEXEC);
		if (fd < 0)
			die_or_not_there("memfd_create");
	} else {
		return -1;
	}
	if (state_has(state, "cached") ? fallocate(fd, 0, 0, size) : ftruncate(fd, size))
		die("ftruncate");
	return fd;
}

/* The flags with which a state is mapped. */
static inline int state_flags(const char *state, int fd)
{
	bool shared = !state_has(state, "anon") && !state_has(state, "private");

	return (shared ? MAP_SHARED : MAP_PRIVATE) | (fd < 0 ? MAP_ANONYMOUS : 0);
}

/* mmap() at `at` as a state asks for it. */
static inline char *state_mmap(const char *state, char *at, size_t size, int fd)
{
	return mmap(at, size, PROT_READ | PROT_WRITE, state_flags(state, fd) | MAP_FIXED, fd, 0);
}

/* Touches memory as a state asks for it, and makes sure that it lies in huge pages if it is to. */
static inline void state_touch(const char *state, char *at, size_t size)
{
	static bool checked;
	bool huge = state_has(state, "thp");

	if (huge && !checked) {
		prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
		/* A kernel without them says so below. */
		choose("/sys/kernel/mm/transparent_hugepage/enabled", "madvise");
		choose("/sys/kernel/mm/transparent_hugepage/shmem_enabled", "advise");
	}
	if (huge && madvise(at, size, MADV_HUGEPAGE))
		die_or_not_there("transparent huge pages");
	if (state_has(state, "clean"))
		touch_read(at, size);
	else if (!state_has(state, "empty"))
		touch_write(at, size);
	if (!huge || checked || state_has(state, "empty"))
		return;
	if (smaps(at, size, "AnonHugePages") + smaps(at, size, "ShmemPmdMapped") < size) {
		errno = ENOMEM;
		not_there("huge pages of this state");
	}
	checked = true;
}

/*
 * Memory in a state, at a multiple of 2 MiB. The state is words joined by "-":
 *
 *	anon	private anonymous		shared	shared anonymous
 *	tmpfs	a shared file on tmpfs		memfd	a shared memfd
 *	private	of a file: mapped MAP_PRIVATE
 *	thp	in huge pages of 2 MiB; otherwise in pages of the smallest size
 *	clean	every page was read; empty: none was touched; otherwise every one was written
 *	cached	of a file: all of its pages are in the page cache
 */
static inline void state_check(const char *state, size_t size)
{
	static const char *const kinds[] = { "anon", "shared", "tmpfs", "memfd" };
	static const char *const words[] = { "private", "thp", "clean", "empty", "cached" };
	char rest[64] = "";
	char *word, *save;
	int kind = 0;
	bool fits;

	snprintf(rest, sizeof(rest), "%s", state);
	fits = strlen(state) < sizeof(rest);
	for (word = strtok_r(rest, "-", &save); word; word = strtok_r(NULL, "-", &save)) {
		bool known = false;

		for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
			if (!strcmp(word, kinds[i]))
				known = ++kind;
		for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
			known |= !strcmp(word, words[i]);
		fits &= known;
	}
	if (!fits || kind != 1 || !size || size % page_size()) {
		fprintf(stderr, "%s: no such state or size: %s\n", program_invocation_short_name,
			state);
		exit(2);
	}
}

/* Such memory, of a file (if it is of one) of `whole` bytes. */
static inline char *state_map_file(const char *state, size_t size, size_t whole)
{
	int fd = state_fd(state, whole);
	char *at;

	state_check(state, size);
	at = state_mmap(state, free_range(size), size, fd);
	if (at == MAP_FAILED)
		die("mmap");
	state_touch(state, at, size);
	/* The mapping keeps the file. */
	if (fd >= 0)
		close(fd);
	return at;
}

static inline char *state_map(const char *state, size_t size)
{
	return state_map_file(state, size, size);
}

/*
 * Makes sure that there is a device to swap to, which lasts as long as the machine: zram, or a RAM
 * disk. Not there without one.
 */
static inline void need_swap(void)
{
	static const char *const devices[] = { "/dev/zram0", "/dev/ram0" };
	size_t page = page_size();
	char *header = calloc(1, page), line[256];
	FILE *file = fopen("/proc/swaps", "re");
	uint32_t *info = (uint32_t *)(header + 1024);
	int fd = -1, lines = 0;

	while (file && fgets(line, sizeof(line), file))
		lines++;
	if (lines > 1)
		return;
	write_text("/sys/block/zram0/disksize", "128M");
	for (size_t i = 0; i < 2 && fd < 0; i++) {
		off_t end;

		fd = open(devices[i], O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		end = lseek(fd, 0, SEEK_END);
		if (end < (off_t)(32 << 20)) {
			close(fd);
			fd = -1;
			continue;
		}
		/* What mkswap(8) writes: the version, the last page, no bad ones, the magic. */
		info[0] = 1;
		info[1] = end / page - 1;
		memcpy(header + page - 10, "SWAPSPACE2", 10);
		if (pwrite(fd, header, page, 0) != (ssize_t)page)
			die(devices[i]);
		close(fd);
		if (syscall(SYS_swapon, devices[i], 0))
			die_or_not_there("swap");
	}
	if (fd < 0)
		not_there("a device to swap to");
}

#endif
