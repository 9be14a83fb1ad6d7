/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A varied state: what a workload finds otherwise than in the plain one, though it should not
 * matter to it. The workload is not changed.
 *
 * Before it runs, the agent uses and holds memory and objects of the kernel. Of the workload's own
 * process, open files and environment pass through exec; mappings do not, so they are made behind
 * it: the process stops there under ptrace(), and its registers are lent to a system call for each.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "architecture.h"
#include "fail.h"
#include "state.h"

/* Programs that expect their first files at certain numbers get these. */
#define FIRST_FILE 20
#define FOLDER "/profdiff/held-files"
#define VARIABLE "PROFDIFF_STATE"
#define MOST_TASKS 7
/* Mappings that lie apart are so far from each other. */
#define APART (1UL << 28)

void read_state(const char *path, struct state *state)
{
	struct {
		const char *name;
		unsigned *value;
	} known[] = {
		{ "mappings", &state->mappings },
		{ "apart", &state->apart },
		{ "files", &state->files },
		{ "environment", &state->environment },
		{ "processes", &state->processes },
		{ "held", &state->held },
		{ "freed", &state->freed },
		{ "pages", &state->pages },
	};
	char name[32];
	unsigned value;
	FILE *file = fopen(path, "r");
	if (!file)
		fail(path);
	memset(state, 0, sizeof(*state));
	while (fscanf(file, "%31s %u", name, &value) == 2)
		for (size_t n = 0; n < sizeof(known) / sizeof(*known); n++)
			if (!strcmp(name, known[n].name))
				*known[n].value = value;
	fclose(file);
}

static void name_of(char *path, size_t size, const char *kind, unsigned number)
{
	snprintf(path, size, FOLDER "/%s-%u", kind, number);
}

/* Hold objects of the kernel for as long as the agent lives, then tell it. */
static void hold_objects(unsigned held, int told)
{
	char path[64];
	int ends[2];
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (unsigned n = 0; n < held; n++) {
		name_of(path, sizeof(path), "held", n);
		if (pipe(ends) || open(path, O_RDWR | O_CREAT, 0600) < 0)
			_exit(1);
	}
	for (unsigned n = 0; n < held % (MOST_TASKS + 1); n++) {
		pid_t task = fork();
		if (task < 0)
			_exit(1);
		if (task == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
	}
	if (write(told, "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static void start_holder(unsigned held)
{
	int ends[2];
	char byte;
	if (pipe(ends))
		fail("pipe");
	pid_t holder = fork();
	if (holder < 0)
		fail("fork");
	if (holder == 0) {
		close(ends[0]);
		hold_objects(held, ends[1]);
	}
	close(ends[1]);
	if (read(ends[0], &byte, 1) != 1)
		fail("cannot hold objects");
	close(ends[0]);
}

static void leave_in_caches(unsigned freed)
{
	static char content[4096 * 3];
	char path[64];
	struct stat st;
	int ends[2];
	for (unsigned n = 0; n < freed; n++) {
		name_of(path, sizeof(path), "freed", n);
		int fd = open(path, O_RDWR | O_CREAT, 0600);
		if (fd < 0 || write(fd, content, 1 + n * 997 % sizeof(content)) < 0)
			fail(path);
		close(fd);
		/* Every third stays, and with it pages and names; of the others, their slots do. */
		if (n % 3)
			unlink(path);
		name_of(path, sizeof(path), "missing", n);
		stat(path, &st);
		if (pipe(ends))
			fail("pipe");
		close(ends[0]);
		close(ends[1]);
	}
}

static void use_memory(unsigned pages)
{
	size_t page = sysconf(_SC_PAGESIZE), size = pages * page;
	char *at = size ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) :
			  NULL;
	if (at == MAP_FAILED)
		fail("mmap");
	for (size_t done = 0; done < size; done += page)
		at[done] = 1;
	if (at)
		munmap(at, size);
}

/* All but mappings: before the workload's process is there, which inherits its part. */
void prepare_state(const struct state *state)
{
	mkdir(FOLDER, 0700);
	start_holder(state->held);
	leave_in_caches(state->freed);
	use_memory(state->pages);
	for (unsigned n = 0; n < state->processes; n++) {
		pid_t child = vfork();
		if (child == 0)
			_exit(0);
		if (child < 0 || waitpid(child, NULL, 0) != child)
			fail("fork");
	}
	char *text = malloc(state->environment + 1);
	if (!text)
		fail("memory");
	memset(text, 'x', state->environment);
	text[state->environment] = '\0';
	if (setenv(VARIABLE, text, 1))
		fail("memory");
	free(text);
	for (unsigned n = 0; n < state->files; n++)
		if (fcntl(0, F_DUPFD, FIRST_FILE) < 0)
			fail("cannot open files");
}

static void registers_of(pid_t child, struct user_regs_struct *registers, int request)
{
	struct iovec all = { registers, sizeof(*registers) };
	if (ptrace(request, child, (void *)NT_PRSTATUS, &all))
		fail("ptrace");
	/* A 32-bit program has others. */
	if (all.iov_len != sizeof(*registers)) {
		errno = ENOEXEC;
		fail("no varied state of a 32-bit program");
	}
}

/* Where in the process's vDSO a system call is; 0: nowhere. */
static unsigned long call_in_vdso(pid_t child)
{
	static uint8_t code[4 * 4096];
	unsigned long pair[2], vdso = 0;
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/auxv", child);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && read(fd, pair, sizeof(pair)) == sizeof(pair))
		if (pair[0] == AT_SYSINFO_EHDR)
			vdso = pair[1];
	close(fd);
	snprintf(path, sizeof(path), "/proc/%d/mem", child);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd >= 0 && vdso ? pread(fd, code, sizeof(code), vdso) : 0;
	close(fd);
	for (ssize_t at = 0; at + (ssize_t)sizeof(CALL) <= size; at += CALL_ALIGNED)
		if (!memcmp(code + at, CALL, sizeof(CALL)))
			return vdso + at;
	return 0;
}

static void go_to_stop(pid_t child)
{
	int status;
	if (ptrace(PTRACE_SYSCALL, child, 0, 0) || waitpid(child, &status, 0) != child ||
	    !WIFSTOPPED(status))
		fail("ptrace");
}

/*
 * The process has just executed its program. Neighbours that differ in what they allow do not merge,
 * and no program of ours to be asks for what the last of them allows.
 */
void map_beside(pid_t child, const struct state *state)
{
	struct user_regs_struct before, now;
	registers_of(child, &before, PTRACE_GETREGSET);
	unsigned long page = sysconf(_SC_PAGESIZE), lowest = 0, code = call_in_vdso(child);
	long kept = 0;
	if (!code) {
		/* Lend it the first of its own. */
		code = before.CODE;
		long changed = kept = ptrace(PTRACE_PEEKTEXT, child, (void *)code, 0);
		memcpy(&changed, CALL, sizeof(CALL));
		if (ptrace(PTRACE_POKETEXT, child, (void *)code, (void *)changed))
			fail("ptrace");
	}
	unsigned total = state->mappings + state->apart;
	for (unsigned n = 0; n < total; n++) {
		unsigned left = n < state->mappings ? state->mappings - n : 1;
		unsigned long hint = n < state->mappings ? 0 : lowest - (n - state->mappings + 1) * APART;
		unsigned long may = left % 2 ? PROT_READ | PROT_EXEC : PROT_NONE;
		unsigned long with[] = { hint, page, may, MAP_PRIVATE | MAP_ANONYMOUS, -1UL, 0 };
		now = before;
		set_call(&now, SYS_mmap, with);
		now.CODE = code;
		registers_of(child, &now, PTRACE_SETREGSET);
		/* As the call begins, and when it is done. */
		go_to_stop(child);
		go_to_stop(child);
		registers_of(child, &now, PTRACE_GETREGSET);
		if ((long)RESULT(now) < 0 && (long)RESULT(now) > -4096) {
			errno = -(long)RESULT(now);
			fail("cannot map beside the workload");
		}
		if (n < state->mappings || !lowest)
			lowest = RESULT(now);
	}
	if (kept && ptrace(PTRACE_POKETEXT, child, (void *)code, (void *)kept))
		fail("ptrace");
	registers_of(child, &before, PTRACE_SETREGSET);
}
