/* Memory of which it is known how much the kernel gives out: by hand, and by its own tracepoints. */
#define _GNU_SOURCE
#include "profdiff.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096UL
#define TRACING "/tmp/tracing"

static const char *const events[] = {
	"kmalloc", "kmem_cache_alloc", "kfree", "kmem_cache_free", "mm_page_alloc", "mm_page_free",
};

static void put(const char *name, const char *text)
{
	char path[200];
	snprintf(path, sizeof path, TRACING "/%s", name);
	int file = open(path, O_WRONLY | O_TRUNC);
	if (file < 0 || write(file, text, strlen(text)) < 0) {
		perror(path);
		exit(1);
	}
	close(file);
}

static char *pages(int count)
{
	char *memory = mmap(0, count * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(memory, count * PAGE, MADV_NOHUGEPAGE);
	return memory;
}

static void touch(char *memory, int count)
{
	for (int i = 0; i < count; i++)
		memory[i * PAGE] = 1;
}

/* What uses as many of the allocators' functions as a program easily can. */
static void work(void)
{
	for (int round = 0; round < 5; round++) {
		char *memory = pages(300);
		int pair[2];
		touch(memory, 300);
		if (pipe(pair) || write(pair[1], memory, 6000) != 6000)
			exit(1);
		close(pair[0]);
		close(pair[1]);
		for (int i = 0; i < 60; i += 2) /* many mappings, and many nodes of their tree */
			mprotect(memory + i * PAGE, PAGE, PROT_READ);
		pid_t child = fork();
		if (child == 0) {
			memory[0] = 2;
			_exit(0);
		}
		waitpid(child, 0, 0);
		munmap(memory, 300 * PAGE);
		close(open("/tmp", O_RDONLY | O_DIRECTORY));
	}
}

/* What the tracepoints saw, as `EVENT COUNT BYTES` and `NAME FIELD COUNT`. */
static void tell(void)
{
	FILE *trace = fopen(TRACING "/trace", "r");
	char line[1000];
	unsigned long counts[6] = { 0 }, order[2][16] = { { 0 } };
	while (trace && fgets(line, sizeof line, trace)) {
		if (strstr(line, "LOST"))
			puts("lost");
		for (int event = 0; event < 6; event++) {
			char name[50], *found, *field;
			snprintf(name, sizeof name, " %s: ", events[event]);
			if (!(found = strstr(line, name)))
				continue;
			counts[event]++;
			if ((field = strstr(found, "bytes_alloc=")))
				printf("given %s %ld %.60s\n", events[event], atol(field + 12), found + strlen(name));
			if ((field = strstr(found, "order=")) && event >= 4)
				order[event - 4][atoi(field + 6) & 15]++;
			if ((field = strstr(found, " name=")) && event == 3)
				printf("freed %s", field + 6);
		}
	}
	for (int event = 0; event < 6; event++)
		printf("event %s %lu\n", events[event], counts[event]);
	for (int i = 0; i < 16; i++)
		if (order[0][i] || order[1][i])
			printf("order %d %lu %lu\n", i, order[0][i], order[1][i]);
}

int main(int argc, char **argv)
{
	int count = argc > 2 ? atoi(argv[2]) : 0;
	struct rlimit limit = { 4096, 4096 };
	setrlimit(RLIMIT_NOFILE, &limit);
	dup2(0, 4000); /* the table of descriptors is as large as it gets */
	if (!strcmp(argv[1], "files")) {
		PROFDIFF_START();
		for (int i = 0; i < count; i++)
			open("/dev/null", O_RDONLY);
		PROFDIFF_STOP();
	} else if (!strcmp(argv[1], "closed")) {
		for (int i = 0; i < count; i++)
			open("/dev/null", O_RDONLY);
		PROFDIFF_START();
		for (int i = 0; i < count; i++)
			close(3 + i);
		PROFDIFF_STOP();
	} else if (!strcmp(argv[1], "pages")) {
		char *memory = pages(count);
		PROFDIFF_START();
		touch(memory, count);
		PROFDIFF_STOP();
	} else if (!strcmp(argv[1], "traced")) {
		mkdir(TRACING, 0700);
		if (mount("tracefs", TRACING, "tracefs", 0, 0)) {
			perror("tracefs");
			return 1;
		}
		put("tracing_on", "0");
		put("buffer_size_kb", "32768");
		for (int event = 0; event < 6; event++) {
			char path[100];
			snprintf(path, sizeof path, "events/kmem/%s/enable", events[event]);
			put(path, "1");
		}
		int on = open(TRACING "/tracing_on", O_WRONLY);
		put("trace", "");
		PROFDIFF_START();
		if (write(on, "1", 1) != 1)
			return 1;
		work();
		if (write(on, "0", 1) != 1)
			return 1;
		PROFDIFF_STOP();
		tell();
	}
	return 0;
}
