/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Observes the workload: which system calls it makes, and what memory it has. */
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fail.h"
#include "observe.h"
#include "run.h"

/* More stops than these, and the rest runs freely: each is some ten thousand instructions. */
#define MAX_STOPS 200000
#define MAX_READS 2000
#define MAX_CALL 1024

static unsigned long calls[MAX_CALL];
static const char *const names[MAX_CALL] = {
/* Made from <asm/unistd.h> when the agent is compiled. */
#include "syscall-names.h"
};
static long most_huge, most_resident, reads, huge_requests;

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25	/* since Linux 6.1 (7d8faaf15545) */
#endif

/* Whether a call asks for transparent huge pages (Documentation/admin-guide/mm/transhuge.rst). */
static int asks_for_huge(const struct __ptrace_syscall_info *info)
{
	const uint64_t *given = info->entry.args;
	switch (info->entry.nr) {
	case SYS_madvise:
		return given[2] == MADV_HUGEPAGE || given[2] == MADV_COLLAPSE;
#ifdef SYS_process_madvise
	case SYS_process_madvise:
		return given[3] == MADV_HUGEPAGE || given[3] == MADV_COLLAPSE;
#endif
	}
	return 0;
}

/* The process's memory while it still has it (Documentation/filesystems/proc.rst). */
static void read_memory(pid_t pid)
{
	char path[64], line[256];
	long value, huge = 0;
	if (reads++ >= MAX_READS)
		return;
	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", pid);
	FILE *file = fopen(path, "r");
	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Rss: %ld", &value) == 1 && value > most_resident)
			most_resident = value;
		if (sscanf(line, "AnonHugePages: %ld", &value) == 1)
			huge = value;
	}
	fclose(file);
	if (huge > most_huge)
		most_huge = huge;
}

int observe(const char *argv_path, const char *out_path)
{
	char **arguments = read_arguments(argv_path);
	take_environment(argv_path);
	FILE *out = fopen(out_path, "w");
	if (!out)
		fail(out_path);
	pid_t child = vfork();
	if (child < 0)
		fail("vfork");
	if (child == 0) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0))
			_exit(126);
		execvp(arguments[0], arguments);
		_exit(127);
	}
	/* It stops behind exec. */
	int status;
	if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
		fail("ptrace");
	calls[SYS_execve]++;
	long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
		       PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT |
		       PTRACE_O_EXITKILL;
	if (ptrace(PTRACE_SETOPTIONS, child, 0, options))
		fail("ptrace");
	ptrace(PTRACE_SYSCALL, child, 0, 0);
	long stops = 0, processes = 0;
	pid_t pid;
	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		if (!WIFSTOPPED(status)) {
			processes++;
			continue;
		}
		int signal = WSTOPSIG(status), event = status >> 16;
		if (signal == (SIGTRAP | 0x80)) {
			struct __ptrace_syscall_info info;
			stops++;
			/* Since Linux 5.3 (201766a20e30 "ptrace: add PTRACE_GET_SYSCALL_INFO request"). */
			if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) > 0 &&
			    info.op == PTRACE_SYSCALL_INFO_ENTRY) {
				if (info.entry.nr < MAX_CALL)
					calls[info.entry.nr]++;
				huge_requests += asks_for_huge(&info);
				if (info.entry.nr == SYS_munmap || info.entry.nr == SYS_madvise)
					read_memory(pid);
			}
			signal = 0;
		} else if (event) {
			if (event == PTRACE_EVENT_EXIT)
				read_memory(pid);
			signal = 0;
		} else if (signal == SIGSTOP || signal == SIGTRAP) {
			signal = 0;
		}
		ptrace(stops < MAX_STOPS ? PTRACE_SYSCALL : PTRACE_CONT, pid, 0, signal);
	}
	fprintf(out, "complete %d\nprocesses %ld\nanon_huge_kib %ld\nresident_kib %ld\n"
		"huge_page_requests %ld\n",
		stops < MAX_STOPS, processes, most_huge, most_resident, huge_requests);
	for (int number = 0; number < MAX_CALL; number++)
		if (calls[number] && names[number])
			fprintf(out, "syscall_%s %lu\n", names[number], calls[number]);
		else if (calls[number])
			fprintf(out, "syscall_%d %lu\n", number, calls[number]);
	return fclose(out) ? 125 : 0;
}
