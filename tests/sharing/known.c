/*
 * Two threads, each on its vCPU, whose operations share what their name says:
 *
 *   known CASE OPS
 *
 * An operation touches as little else as it can.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "profdiff.h"

#define WARM_UP 50

static pthread_barrier_t barrier;
static long ops;
static int file[2], signals[2], directory[2];
static struct {
	volatile long of[8];
} together __attribute__((aligned(128)));
static struct {
	volatile long of;
	char more[120];
} apart[2] __attribute__((aligned(128)));

static void one_line(long me)
{
	together.of[me]++;
}

static void a_line_each(long me)
{
	apart[me].of++;
}

static void atomic(long me)
{
	(void)me;
	__atomic_fetch_add(&together.of[0], 1, __ATOMIC_SEQ_CST);
}

static void status(long me)
{
	struct stat st;
	fstat(file[me], &st);
}

static void mask(long me)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	signalfd(signals[me], &set, 0);
}

static void parent(long me)
{
	(void)me;
	syscall(SYS_getppid);
}

static void now(long me)
{
	struct timespec time;
	(void)me;
	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
}

static void entries(long me)
{
	char buffer[4096];
	lseek(directory[me], 0, SEEK_SET);
	syscall(SYS_getdents64, directory[me], buffer, sizeof(buffer));
}

static int opened(const char *path, int flags)
{
	int fd = open(path, flags, 0600);
	if (fd < 0) {
		perror(path);
		exit(1);
	}
	return fd;
}

static int signalled(void)
{
	sigset_t set;
	sigemptyset(&set);
	return signalfd(-1, &set, 0);
}

static const struct {
	const char *name;
	void (*operation)(long);
	int same, apart;
} cases[] = {
	{ "one-line", one_line },
	{ "a-line-each", a_line_each },
	{ "atomic", atomic },
	{ "fstat-same", status, 1 },
	{ "fstat-own", status },
	{ "signalfd-beside", mask },
	{ "signalfd-apart", mask, 0, 1 },
	{ "getppid", parent },
	{ "clock", now },
	{ "entries-same", entries, 1 },
	{ "entries-own", entries },
};
static void (*operation)(long);

static void *run(void *argument)
{
	long me = (long)argument;
	cpu_set_t own;
	CPU_ZERO(&own);
	CPU_SET(me, &own);
	if (sched_setaffinity(0, sizeof(own), &own))
		exit(1);
	for (long n = 0; n < WARM_UP; n++) {
		operation(me);
		PROFDIFF_OP();
	}
	pthread_barrier_wait(&barrier);
	if (me == 0)
		PROFDIFF_START();
	pthread_barrier_wait(&barrier);
	PROFDIFF_OP();
	for (long n = 0; n < ops; n++) {
		operation(me);
		PROFDIFF_OP();
	}
	pthread_barrier_wait(&barrier);
	if (me == 0)
		PROFDIFF_STOP();
	pthread_barrier_wait(&barrier);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int same = 0, between = 0;
	for (size_t n = 0; argc == 3 && n < sizeof(cases) / sizeof(*cases); n++)
		if (!strcmp(argv[1], cases[n].name)) {
			operation = cases[n].operation;
			same = cases[n].same;
			between = cases[n].apart ? 8 : 0;
		}
	if (!operation)
		return 2;
	ops = atol(argv[2]);
	pthread_barrier_init(&barrier, NULL, 2);
	for (int n = 0; n < 2; n++) {
		char path[32];
		snprintf(path, sizeof(path), "/tmp/known-%d", same ? 0 : n);
		file[n] = n && same ? file[0] : opened(path, O_CREAT | O_RDWR);
		snprintf(path, sizeof(path), "/tmp/folder-%d", same ? 0 : n);
		mkdir(path, 0700);
		directory[n] = opened(path, O_RDONLY | O_DIRECTORY);
		signals[n] = signalled();
		/* A line of eight of them. */
		for (int more = 0; more < between; more++)
			signalled();
	}
	if (pthread_create(&thread, NULL, run, (void *)1))
		return 1;
	run(NULL);
	pthread_join(thread, NULL);
	return 0;
}
