/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replays system calls: replay SCRIPT TIMES. profdiff/recording/replay.py writes the script, and has
 * its grammar. All files are made beneath one folder, which is the root of this process; before each
 * time they are as the script has them, outside of the window. The first time is outside, too.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/capability.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "profdiff.h"

#define ARGUMENTS 6
#define ROOT "replay.root"
/* The least number of a descriptor that the trace puts at a number of its own. */
#define HIGH 200

static const struct {
	const char *name;
	long number;
} calls[] = {
#define CALL(name) { #name, SYS_##name }
	CALL(open), CALL(openat), CALL(creat), CALL(read), CALL(write), CALL(pread64),
	CALL(pwrite64), CALL(readv), CALL(writev), CALL(close), CALL(stat), CALL(lstat),
	CALL(fstat), CALL(newfstatat), CALL(statx), CALL(access), CALL(faccessat),
	CALL(faccessat2), CALL(readlink), CALL(readlinkat), CALL(getdents64), CALL(lseek),
	CALL(mmap), CALL(munmap), CALL(mprotect), CALL(madvise), CALL(mremap), CALL(brk),
	CALL(unlink), CALL(unlinkat), CALL(rmdir), CALL(mkdir), CALL(mkdirat), CALL(rename),
	CALL(renameat), CALL(renameat2), CALL(link), CALL(symlink), CALL(chmod), CALL(fchmod),
	CALL(truncate), CALL(ftruncate), CALL(fallocate), CALL(fsync), CALL(fdatasync),
	CALL(chdir), CALL(fchdir), CALL(getcwd), CALL(umask), CALL(dup), CALL(dup2), CALL(dup3),
	CALL(fcntl), CALL(pipe2), CALL(socketpair), CALL(fadvise64), CALL(statfs), CALL(fstatfs),
	CALL(getpid), CALL(getppid), CALL(gettid), CALL(getuid), CALL(geteuid), CALL(getgid),
	CALL(getegid), CALL(getpgrp), CALL(sched_yield), CALL(uname), CALL(sysinfo),
	CALL(getrandom), CALL(prlimit64), CALL(getrusage), CALL(times), CALL(getrlimit),
	CALL(eventfd2), CALL(epoll_create1), CALL(getxattr), CALL(lgetxattr), CALL(listxattr),
	CALL(llistxattr),
};

struct argument {
	char kind;
	long value, offset;
};

struct call {
	long number;
	const char *name;
	int fails;
	char result;
	long first, second;
	struct argument arguments[ARGUMENTS];
};

struct made {
	char kind;
	long path, a, b;
};

static char **paths;
static int *slots;
static char **regions;
static long *lengths;
static struct call *script;
static struct made *tree;
static long path_count, slot_count, region_count, call_count, tree_count, buffer_size;
static char *buffer, *program_break;
static long directory = -1, high = HIGH, end_count;
static int has_proc = 1;
static char printed[4096];

static void fail(const char *what)
{
	fprintf(stderr, "replay: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void *array(long count, size_t size)
{
	void *made = calloc(count + 1, size);

	if (!made)
		fail("memory");
	return made;
}

/* Of %XX. */
static char *decoded(char *text)
{
	char *to = text, *from = text;

	for (; *from && *from != '\n'; from++) {
		if (*from == '%' && from[1] && from[2]) {
			char digits[3] = { from[1], from[2], 0 };

			*to++ = strtol(digits, NULL, 16);
			from += 2;
		} else {
			*to++ = *from;
		}
	}
	*to = 0;
	return strdup(text);
}

static long within(long value, long count)
{
	if (value < 0 || value >= count) {
		errno = EINVAL;
		fail("script");
	}
	return value;
}

static void read_call(struct call *call, char *line)
{
	char *rest, *word = strtok_r(line, " \n", &rest);
	int number = 0;

	for (size_t n = 0; word && n < sizeof(calls) / sizeof(*calls); n++)
		if (!strcmp(word, calls[n].name)) {
			call->number = calls[n].number;
			call->name = calls[n].name;
		}
	if (!call->name)
		fail(word ? word : "no call");
	word = strtok_r(NULL, " \n", &rest);
	call->fails = word && *word == '1';
	word = strtok_r(NULL, " \n", &rest);
	call->result = word ? *word : '-';
	if (call->result != '-') {
		call->first = strtol(word + 1, &word, 10);
		call->second = *word ? strtol(word + 1, NULL, 10) : 0;
		within(call->first, call->result == 'm' ? region_count : slot_count);
		if (call->result == 'd')
			within(call->second, slot_count);
	}
	while ((word = strtok_r(NULL, " \n", &rest)) && number < ARGUMENTS) {
		struct argument *argument = &call->arguments[number++];

		argument->kind = *word;
		argument->value = strtol(word + 1, &word, 10);
		argument->offset = *word == ':' ? strtol(word + 1, NULL, 10) : 0;
		if (argument->kind == 'p')
			argument->value = (long)paths[within(argument->value, path_count)];
		else if (argument->kind == 'f' || argument->kind == 't')
			within(argument->value, slot_count);
		else if (argument->kind == 'r')
			within(argument->value, region_count);
	}
}

/* What the end of a process closes. */
static void read_end(struct call *call, const char *line)
{
	call->number = SYS_close;
	call->name = "close";
	call->result = '-';
	call->arguments[0].kind = 'f';
	call->arguments[0].value = within(strtol(line, NULL, 10), slot_count);
	end_count++;
}

static void read_script(const char *name)
{
	char *line = NULL;
	size_t size = 0;
	long path = 0, call = 0, made = 0;
	FILE *file = fopen(name, "r");

	if (!file || getline(&line, &size, file) < 0 ||
	    sscanf(line, "profdiff-replay 1 %ld %ld %ld %ld %ld %ld", &path_count, &tree_count,
		   &slot_count, &region_count, &call_count, &buffer_size) != 6)
		fail(name);
	paths = array(path_count, sizeof(*paths));
	tree = array(tree_count, sizeof(*tree));
	slots = array(slot_count, sizeof(*slots));
	regions = array(region_count, sizeof(*regions));
	lengths = array(region_count, sizeof(*lengths));
	script = array(call_count, sizeof(*script));
	while (getline(&line, &size, file) > 0) {
		if (*line == 'P') {
			paths[within(path++, path_count)] = decoded(line + 2);
		} else if (*line == 'W') {
			directory = within(strtol(line + 2, NULL, 10), path_count);
		} else if (*line == 'C') {
			read_call(&script[within(call++, call_count)], line + 2);
		} else if (*line == 'X') {
			read_end(&script[within(call++, call_count)], line + 2);
		} else {
			struct made *one = &tree[within(made++, tree_count)];

			if (sscanf(line, "%c %ld %ld %ld", &one->kind, &one->path, &one->a, &one->b) < 2)
				fail(line);
			within(one->path, path_count);
		}
	}
	fclose(file);
	free(line);
}

static int removed(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	return remove(path);
}

/* What a replay has left of another kind. */
static void clear(const char *path, char kind)
{
	mode_t mode = kind == 'D' ? S_IFDIR : kind == 'F' ? S_IFREG : kind == 'L' ? S_IFLNK : 0;
	struct stat status;

	if (mode && !lstat(path, &status) && (status.st_mode & S_IFMT) != mode)
		nftw(path, removed, 16, FTW_DEPTH | FTW_PHYS);
}

static void make_file(const char *path, long size, long filled)
{
	struct stat status;
	int file;

	if (!lstat(path, &status) && S_ISREG(status.st_mode) && status.st_size == size)
		return;
	file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	if (file < 0 || ftruncate(file, size))
		fail(path);
	for (long at = 0; at < filled; at += buffer_size) {
		long part = filled - at < buffer_size ? filled - at : buffer_size;

		if (pwrite(file, buffer, part, at) != part)
			fail(path);
	}
	close(file);
}

/* Files as they are before the trace begins. Parents come before what is in them. */
static void restore(void)
{
	char name[64];

	for (long n = tree_count; n-- > 0;)
		if (tree[n].kind == 'N')
			nftw(paths[tree[n].path], removed, 16, FTW_DEPTH | FTW_PHYS);
	for (long n = 0; n < tree_count; n++) {
		struct made *one = &tree[n];
		const char *path = paths[one->path];

		clear(path, one->kind);
		if (one->kind == 'D' && mkdir(path, 0755) && errno != EEXIST)
			fail(path);
		if (one->kind == 'F')
			make_file(path, one->a, one->b);
		if (one->kind == 'L' && symlink(paths[within(one->a, path_count)], path) && errno != EEXIST)
			fail(path);
		if (one->kind == 'V' && mknod(path, S_IFCHR | 0666, makedev(one->a, one->b)) && errno != EEXIST)
			fail(path);
		if (one->kind == 'M' && has_proc && mount("proc", path, "proc", MS_RDONLY, NULL) && errno != EBUSY)
			fail(path);
		for (long entry = 0; one->kind == 'E' && entry < one->a; entry++) {
			int folder = open(path, O_RDONLY | O_DIRECTORY), file;

			snprintf(name, sizeof(name), "entry-%ld", entry);
			file = openat(folder, name, O_CREAT | O_EXCL | O_RDWR, 0644);
			close(folder);
			if (file < 0)
				break;
			close(file);
		}
	}
	if (chdir(directory < 0 ? "/" : paths[directory]))
		fail("current folder");
	umask(022);
	for (long n = 0; n < slot_count; n++)
		slots[n] = -1;
	for (long n = 0; n < tree_count; n++)
		if (tree[n].kind == 'O')
			slots[within(tree[n].a, slot_count)] = open(paths[tree[n].path], tree[n].b);
}

/* What the end of a process does. */
static void leave(void)
{
	for (long n = 0; n < slot_count; n++)
		if (slots[n] > 2)
			close(slots[n]);
	for (long n = 0; n < region_count; n++) {
		if (regions[n])
			munmap(regions[n], lengths[n]);
		regions[n] = NULL;
	}
	syscall(SYS_brk, program_break);
}

static long made_call(struct call *call, struct iovec *vector)
{
	long words[ARGUMENTS] = { 0 }, result;
	int n;

	for (n = 0; n < ARGUMENTS; n++) {
		struct argument *one = &call->arguments[n];

		switch (one->kind) {
		case 'v':
		case 'p':
			words[n] = one->value;
			break;
		case 'f':
			words[n] = slots[one->value];
			break;
		case 't':
			words[n] = slots[one->value] > 2 ? slots[one->value] : high + one->value;
			break;
		case 'r':
			words[n] = regions[one->value] ? (long)(regions[one->value] + one->offset) : -1;
			break;
		case 'b':
			words[n] = (long)buffer;
			break;
		case 'i':
			vector->iov_base = buffer;
			vector->iov_len = one->value;
			words[n] = (long)vector;
			break;
		case 'k':
			words[n] = (long)(program_break + one->value);
			break;
		}
	}
	result = syscall(call->number, words[0], words[1], words[2], words[3], words[4], words[5]);
	if (result == -1)
		return result;
	if (call->number == SYS_close && call->arguments[0].kind == 'f') {
		slots[call->arguments[0].value] = -1;
	} else if (call->result == 'f') {
		slots[call->first] = result;
	} else if (call->result == 'd') {
		slots[call->first] = ((int *)buffer)[0];
		slots[call->second] = ((int *)buffer)[1];
	} else if (call->result == 'm') {
		regions[call->first] = (char *)result;
		lengths[call->first] = call->second;
	}
	return result;
}

/* Room for all descriptors, with their own numbers above those that a kernel gives. */
static void raise_limit(void)
{
	struct rlimit limit;

	high = slot_count + 64 > HIGH ? slot_count + 64 : HIGH;
	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= (rlim_t)(high + slot_count))
		return;
	limit.rlim_cur = high + slot_count;
	if (limit.rlim_max < limit.rlim_cur)
		limit.rlim_max = limit.rlim_cur;
	/* Where it fails, calls have another outcome, which is printed. */
	setrlimit(RLIMIT_NOFILE, &limit);
}

/*
 * No link of proc leads into another process, whose root is outside: that takes CAP_SYS_PTRACE, or
 * all capabilities that the other one has. A kernel without capabilities gets no proc.
 */
static void stay_inside(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data)) {
		has_proc = 0;
		return;
	}
	data[0].effective &= ~(1u << CAP_SYS_PTRACE);
	data[0].permitted &= ~(1u << CAP_SYS_PTRACE);
	if (syscall(SYS_capset, &header, data))
		fail("capabilities");
}

int main(int argc, char **argv)
{
	long times = argc > 2 ? atol(argv[2]) : 1, differ = 0;
	struct iovec vector;

	/* The program's break is the trace's. */
	mallopt(M_MMAP_THRESHOLD, 0);
	mallopt(M_MMAP_MAX, 1 << 24);
	setvbuf(stdout, printed, _IOFBF, sizeof(printed));
	signal(SIGPIPE, SIG_IGN);
	if (argc < 2)
		return 2;
	read_script(argv[1]);
	raise_limit();
	buffer = mmap(NULL, buffer_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (buffer == MAP_FAILED)
		fail("buffer");
	memset(buffer, 'x', buffer_size);
	if ((mkdir(ROOT, 0755) && errno != EEXIST) || chroot(ROOT) || chdir("/"))
		fail(ROOT);
	stay_inside();
	program_break = (char *)syscall(SYS_brk, 0);
	restore();
	for (long n = 0; n < call_count; n++) {
		int fails = made_call(&script[n], &vector) == -1;

		if (fails != script[n].fails && ++differ <= 20)
			printf("call %ld, %s: %s\n", n + 1, script[n].name, fails ? strerror(errno) : "succeeds");
	}
	printf("%ld calls, %ld with another outcome than in the trace\n", call_count - end_count,
	       differ);
	fflush(stdout);
	leave();
	for (long n = 0; n < times; n++) {
		restore();
		PROFDIFF_START();
		for (long at = 0; at < call_count; at++)
			made_call(&script[at], &vector);
		PROFDIFF_OP();
		PROFDIFF_STOP();
		leave();
	}
	return 0;
}
