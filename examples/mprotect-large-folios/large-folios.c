/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * large-folios FOLIO_KIB PROTECTION SIZE_KIB ITERATIONS
 *
 * Maps a private anonymous region of SIZE_KIB and touches every page, so that it lies in folios of
 * FOLIO_KIB: the size of a page, or a larger power of two that the kernel offers as a multi-size
 * transparent huge page. Then calls mprotect() over all of it ITERATIONS times, alternating
 * PROTECTION (none: PROT_NONE, read: PROT_READ) and PROT_READ|PROT_WRITE. An op is a PTE that
 * changes.
 *
 * Prints of which folios the region really is, by /proc/kpageflags, and fails if one has another
 * size. Needs root, for that and to enable the size; the setting is put back.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profdiff.h"

/* Documentation/admin-guide/mm/pagemap.rst */
#define PFN_MASK ((UINT64_C(1) << 55) - 1)
#define PRESENT (UINT64_C(1) << 63)
#define COMPOUND_HEAD (UINT64_C(1) << 15)
#define COMPOUND_TAIL (UINT64_C(1) << 16)

static size_t page_size;

static int failed(const char *what)
{
	fprintf(stderr, "large-folios: %s: %s\n", what, strerror(errno));
	return -1;
}

/* Writes one line of text, or reads one into `text`, which has `size` bytes. 0, or -1 and errno. */
static int setting(const char *file, char *text, size_t size)
{
	FILE *stream = fopen(file, size ? "re" : "we");
	int wrong;

	if (!stream)
		return -1;
	wrong = size ? !fgets(text, size, stream) : fputs(text, stream) < 0;
	return fclose(stream) || wrong ? -1 : 0;
}

/*
 * Lets madvise() ask for folios of `kib`. `before` gets the word to put back, or is empty.
 * 0, or -1 after a message.
 */
static int enable(const char *file, long kib, char before[static 32])
{
	char line[128] = "", *open, *close;

	*before = 0;
	if (setting(file, line, sizeof(line))) {
		fprintf(stderr, "large-folios: this kernel has no folios of %ld KiB (%s: %s)\n", kib,
			file, strerror(errno));
		return -1;
	}
	if (strstr(line, "[madvise]") || strstr(line, "[always]"))
		return 0;
	open = strchr(line, '[');
	close = open ? strchr(open, ']') : NULL;
	if (!close || close - open > 31) {
		fprintf(stderr, "large-folios: %s says %s\n", file, line);
		return -1;
	}
	if (setting(file, (char[]){ "madvise" }, 0))
		return failed(file);
	memcpy(before, open + 1, close - open - 1);
	before[close - open - 1] = 0;
	return 0;
}

/* One number of 64 bits for each page from number `first` on, of a file below /proc. */
static int numbers(const char *file, uint64_t first, uint64_t *out, size_t count)
{
	int descriptor = open(file, O_RDONLY | O_CLOEXEC);
	ssize_t bytes = count * sizeof(*out), got = -1;

	if (descriptor >= 0) {
		got = pread(descriptor, out, bytes, first * sizeof(*out));
		close(descriptor);
	}
	if (got != bytes) {
		if (got >= 0)
			errno = EIO;
		return failed(file);
	}
	return 0;
}

/* Whether the pages from `region` on are one whole folio of that many pages; -1: unknown. */
static int is_folio(const char *region, size_t pages)
{
	uint64_t maps[pages], flags[pages];

	if (numbers("/proc/self/pagemap", (uintptr_t)region / page_size, maps, pages))
		return -1;
	for (size_t i = 0; i < pages; i++) {
		uint64_t pfn = maps[0] & PFN_MASK;

		if (!(maps[i] & PRESENT))
			return 0;
		if (!pfn) {
			fprintf(stderr, "large-folios: /proc/self/pagemap hides its frames: be root\n");
			return -1;
		}
		if ((maps[i] & PFN_MASK) != pfn + i)
			return 0;
	}
	if (numbers("/proc/kpageflags", maps[0] & PFN_MASK, flags, pages))
		return -1;
	for (size_t i = 0; i < pages; i++) {
		uint64_t wanted = pages == 1 ? 0 : i ? COMPOUND_TAIL : COMPOUND_HEAD;

		if ((flags[i] & (COMPOUND_HEAD | COMPOUND_TAIL)) != wanted)
			return 0;
	}
	return 1;
}

/* 0, or -1 after a message unless every folio of the region has this size. */
static int check(const char *region, size_t size, size_t folio)
{
	size_t others = 0;

	for (size_t offset = 0; offset < size; offset += folio) {
		int found = is_folio(region + offset, folio / page_size);

		if (found < 0)
			return -1;
		others += !found;
	}
	if (others) {
		fprintf(stderr, "large-folios: %zu of %zu folios are not of %zu KiB\n", others,
			size / folio, folio / 1024);
		return -1;
	}
	return 0;
}

/* A region whose folios can have this size. NULL after a message. */
static char *map(size_t size, size_t folio)
{
	/*
	 * It begins one folio behind a multiple of 2 MiB and ends before the next, so that no huge
	 * page fits, whatever is set for those.
	 */
	size_t huge = (size_t)2 << 20;
	char *area = mmap(NULL, 2 * huge, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *region;

	if (area == MAP_FAILED) {
		failed("mmap");
		return NULL;
	}
	region = area + (huge - (uintptr_t)area % huge) % huge + folio;
	region = mmap(region, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		      -1, 0);
	if (region == MAP_FAILED) {
		failed("mmap");
		return NULL;
	}
	/* A kernel without huge pages has small ones anyway. */
	if (madvise(region, size, folio > page_size ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) &&
	    folio > page_size) {
		failed("madvise");
		return NULL;
	}
	for (size_t offset = 0; offset < size; offset += page_size)
		region[offset] = 1;
	return region;
}

static int measure(size_t size, size_t folio, int protection, long iterations)
{
	char *region = map(size, folio);

	if (!region || check(region, size, folio))
		return -1;
	PROFDIFF_START();
	for (long i = 0; i < iterations; i++) {
		if (mprotect(region, size, i & 1 ? PROT_READ | PROT_WRITE : protection)) {
			PROFDIFF_STOP();
			return failed("mprotect");
		}
	}
	PROFDIFF_STOP();
	if (mprotect(region, size, PROT_READ | PROT_WRITE))
		return failed("mprotect");
	/* The same folios as before: neither was one split, nor was any merged. */
	if (check(region, size, folio))
		return -1;
	printf("folios: %zu of %zu KiB\nptes: %zu\nops: %zu\n", size / folio, folio / 1024,
	       size / page_size, size / page_size * iterations);
	return 0;
}

int main(int argc, char **argv)
{
	long folio_kib = argc > 1 ? atol(argv[1]) : 0, size_kib = argc > 3 ? atol(argv[3]) : 0;
	long iterations = argc > 4 ? atol(argv[4]) : 0;
	int none = argc > 2 && !strcmp(argv[2], "none"), read = argc > 2 && !strcmp(argv[2], "read");
	char file[PATH_MAX], before[32] = "";
	int status;

	page_size = sysconf(_SC_PAGESIZE);
	if (argc != 5 || !(none || read) || folio_kib < 1 || folio_kib > 1024 ||
	    folio_kib * 1024 % page_size || folio_kib & (folio_kib - 1) || size_kib < 1 ||
	    size_kib % folio_kib || size_kib + folio_kib > 2048 || iterations < 1 ||
	    iterations > 1000000) {
		fprintf(stderr, "usage: large-folios FOLIO_KIB none|read SIZE_KIB ITERATIONS\n"
				"FOLIO_KIB is a power of two, at least a page and at most 1024; SIZE_KIB "
				"is a multiple of it;\nboth together are at most 2048\n");
		return 2;
	}
	snprintf(file, sizeof(file), "/sys/kernel/mm/transparent_hugepage/hugepages-%ldkB/enabled",
		 folio_kib);
	if (folio_kib * 1024 > (long)page_size && enable(file, folio_kib, before))
		return 1;
	status = measure(size_kib * 1024, folio_kib * 1024, none ? PROT_NONE : PROT_READ, iterations);
	if (*before && setting(file, before, 0))
		status = failed(file);
	return status ? 1 : 0;
}
