/* The first process of a guest: works once, waits, works between marks, and waits. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "profdiff.h"

enum { PAGE = 4096, PAGES = 64 };

static void ignored(int number) { (void)number; }

static void memory(void)
{
	char *region = mmap(0, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int page = 0; page < PAGES; page++)
		region[page * PAGE] = 1;
	for (int turn = 0; turn < 4; turn++) {
		mprotect(region, PAGES * PAGE, PROT_READ);
		mprotect(region, PAGES * PAGE / 2, PROT_READ | PROT_WRITE);
		mprotect(region, PAGES * PAGE, PROT_READ | PROT_WRITE);
	}
	madvise(region, PAGES * PAGE / 4, MADV_DONTNEED);
	munmap(region, PAGES * PAGE);
}

static void files(void)
{
	char bytes[256] = { 0 };
	struct stat status;
	int ends[2];
	for (int turn = 0; turn < 8; turn++) {
		int file = open("/tmp/file", O_CREAT | O_RDWR, 0600);
		write(file, bytes, sizeof bytes);
		lseek(file, 0, SEEK_SET);
		read(file, bytes, sizeof bytes);
		fstat(file, &status);
		ftruncate(file, 100);
		close(dup(file));
		close(file);
		stat("/proc/self/status", &status);
		rename("/tmp/file", "/tmp/other");
		unlink("/tmp/other");
		mkdir("/tmp/folder", 0700);
		rmdir("/tmp/folder");
		pipe(ends);
		write(ends[1], bytes, sizeof bytes);
		read(ends[0], bytes, sizeof bytes);
		close(ends[0]);
		close(ends[1]);
	}
	int status_file = open("/proc/self/status", O_RDONLY);
	read(status_file, bytes, sizeof bytes);
	close(status_file);
	DIR *folder = opendir("/");
	while (folder && readdir(folder))
		;
	closedir(folder);
}

static void waits(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct timespec pause = { .tv_nsec = 2000000 };
	int events = eventfd(0, 0), poll = epoll_create1(0);
	unsigned long one = 1;
	epoll_ctl(poll, EPOLL_CTL_ADD, events, &event);
	write(events, &one, sizeof one);
	epoll_wait(poll, &event, 1, 0);
	read(events, &one, sizeof one);
	close(poll);
	close(events);
	nanosleep(&pause, 0);
	signal(SIGUSR1, ignored);
	kill(getpid(), SIGUSR1);
	sched_yield();
}

static void work(void)
{
	for (int turn = 0; turn < 3; turn++) {
		memory();
		files();
		waits();
		int child = fork();
		if (!child)
			_exit(0);
		waitpid(child, 0, 0);
	}
}

static void pause_after(const char *word)
{
	char answer;
	write(1, word, 6);
	read(0, &answer, 1);
}

int main(void)
{
	mkdir("/tmp", 0700);
	mkdir("/proc", 0700);
	mount("none", "/proc", "proc", 0, "");
	mount("none", "/tmp", "tmpfs", 0, "");
	work();
	work();
	pause_after("ready\n");
	PROFDIFF_START();
	work();
	PROFDIFF_STOP();
	for (;;)
		pause_after("done.\n");
}
