/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * chains: works between its marks, and has perf sample itself by the clock, with call chains.
 * Prints each chain as a line of hexadecimal numbers, innermost first, as perf gives it.
 */
#include <dirent.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profdiff.h"

#define PAGE 4096
#define BUFFER ((size_t)512 * PAGE)
#define PERIOD 10007 /* ns, which are instructions */
#define FUNCTION static __attribute__((noinline, noclone))

static volatile unsigned long sink;
static volatile int handled;

static void need(int holds, const char *what)
{
	if (!holds) {
		perror(what);
		exit(1);
	}
}

static void set(const char *file, const char *text)
{
	FILE *stream = fopen(file, "w");

	need(stream && fputs(text, stream) >= 0 && !fclose(stream), file);
}

FUNCTION void memory(void)
{
	size_t size = 128 * PAGE;
	char *region = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t at = 0; at < size; at += PAGE)
		region[at] = 1;
	for (int i = 0; i < 20; i++)
		mprotect(region, size, i & 1 ? PROT_READ | PROT_WRITE : PROT_NONE);
	munmap(region, size);
}

FUNCTION void files(void)
{
	char text[PAGE];

	for (int i = 0; i < 5; i++) {
		int descriptor = open("/proc/self/maps", O_RDONLY);
		DIR *folder = opendir("/proc");

		while (read(descriptor, text, sizeof(text)) > 0)
			sink++;
		close(descriptor);
		while (folder && readdir(folder))
			sink++;
		closedir(folder);
		descriptor = open("/tmp/file", O_RDWR | O_CREAT | O_TRUNC, 0600);
		for (int j = 0; j < 8; j++)
			sink += write(descriptor, text, sizeof(text));
		close(descriptor);
	}
}

FUNCTION void children(void)
{
	for (int i = 0; i < 3; i++) {
		int ends[2];
		char byte = 1;
		pid_t child;

		need(!pipe(ends), "pipe");
		child = fork();
		if (!child) {
			memory();
			_exit(write(ends[1], &byte, 1) != 1);
		}
		sink += read(ends[0], &byte, 1);
		waitpid(child, NULL, 0);
		close(ends[0]);
		close(ends[1]);
	}
}

FUNCTION void on_signal(int number)
{
	(void)number;
	sink += getppid();
	handled++;
}

FUNCTION unsigned fib(unsigned n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

FUNCTION void through(void (*work)(void))
{
	work();
	sink++;
}

FUNCTION void work(void)
{
	through(memory);
	through(files);
	through(children);
	for (int i = 0; i < 50; i++)
		raise(SIGUSR1);
	sink += fib(18);
	through(memory);
}

static void print(struct perf_event_mmap_page *page, const char *data)
{
	for (uint64_t at = 0; at < page->data_head;) {
		struct perf_event_header *header = (void *)(data + at);
		uint64_t *sample = (void *)(header + 1);

		if (header->type == PERF_RECORD_SAMPLE) {
			for (uint64_t i = 0; i < sample[0]; i++)
				printf(" %lx", sample[1 + i]);
			puts("");
		} else {
			printf("record %u\n", header->type);
		}
		at += header->size;
	}
}

int main(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = PERIOD,
		.sample_type = PERF_SAMPLE_CALLCHAIN,
		.disabled = 1,
	};
	struct perf_event_mmap_page *page;
	int descriptor;

	set("/proc/sys/kernel/perf_event_max_sample_rate", "1000000");
	set("/proc/sys/kernel/perf_cpu_time_max_percent", "0");
	signal(SIGUSR1, on_signal);
	descriptor = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	need(descriptor >= 0, "perf_event_open");
	page = mmap(NULL, PAGE + BUFFER, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
	need(page != MAP_FAILED, "mmap of an event");
	PROFDIFF_START();
	ioctl(descriptor, PERF_EVENT_IOC_ENABLE, 0);
	work();
	ioctl(descriptor, PERF_EVENT_IOC_DISABLE, 0);
	PROFDIFF_STOP();
	need(page->data_head < BUFFER, "a buffer that is large enough");
	print(page, (const char *)page + PAGE);
	return 0;
}
