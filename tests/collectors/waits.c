/* What a program waits for, by its first argument, twenty times; in its window, the guest's clock as the
 * program sees it, in nanoseconds. */
#define _GNU_SOURCE
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "profdiff.h"

static int there[2], back[2];

static void *answers(void *none)
{
	char one;
	while (read(there[0], &one, 1) == 1) {
		nanosleep(&(struct timespec){ 0, 300000 }, NULL);
		if (write(back[1], &one, 1) != 1)
			break;
	}
	return none;
}

static void waits(const char *what)
{
	char one = 0;
	if (!strcmp(what, "sleep"))
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
	else if (!strcmp(what, "rcu"))
		syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	else if (!strcmp(what, "pipe") && (write(there[1], &one, 1) != 1 || read(back[0], &one, 1) != 1))
		_exit(1);
	else
		getppid();
}

int main(int argc, char **argv)
{
	pthread_t thread;
	struct timespec begin, end;
	if (argc < 2 || pipe(there) || pipe(back) || pthread_create(&thread, NULL, answers, NULL))
		return 1;
	for (int n = 0; n < 2; n++)
		waits(argv[1]);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	PROFDIFF_START();
	for (int n = 0; n < 20; n++)
		waits(argv[1]);
	PROFDIFF_STOP();
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%ld\n", (end.tv_sec - begin.tv_sec) * 1000000000L + end.tv_nsec - begin.tv_nsec);
	close(there[1]);
	return pthread_join(thread, NULL);
}
