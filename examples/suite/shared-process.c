/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shared-process VARIANT one|own threads|processes OPS: two do what concerns them alone, and share
 * what the kernel keeps of all: the list of tasks, their user, a memory cgroup, a namespace. `own`
 * has a meaning for the cgroup only.
 */
#include "shared.h"

#include <sys/resource.h>
#include <sys/time.h>

static sigset_t usr1;
static char *stacks[2];

static void block_signal(void)
{
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	must(sigprocmask(SIG_BLOCK, &usr1, NULL), "sigprocmask");
}

static void use_task(int me)
{
	mine[me].pid = syscall(SYS_gettid);
}

static void make_stacks(void)
{
	for (int i = 0; i < 2; i++) {
		stacks[i] = common_memory(16 * page_size());
		touch_write(stacks[i], 16 * page_size());
	}
}

static void write_to(const char *folder, const char *name, const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	must(write_text(path, text), path);
}

/* Two groups below the root of the second version's hierarchy, wherever that is mounted. */
static void make_cgroups(void)
{
	enter_tmpfs(NULL);
	must(mkdir("cgroup", 0700), "mkdir");
	if (mount("cgroup2", "cgroup", "cgroup2", 0, NULL))
		die_or_not_there("cgroup2");
	if (write_text("cgroup/cgroup.subtree_control", "+memory"))
		die_or_not_there("memory cgroups");
	for (int i = 0; i < 2; i++) {
		const char *folder = i ? "cgroup/suite-1" : "cgroup/suite-0";

		if (mkdir(folder, 0700) && errno != EEXIST)
			die(folder);
		write_to(folder, "memory.max", "64M");
	}
}

/* Out of its pages, of which the cgroup has a share for each CPU. */
static void use_cgroup(int me)
{
	write_to(whose(me) ? "cgroup/suite-1" : "cgroup/suite-0", "cgroup.procs", "0");
	mine[me].at = mmap(NULL, 256 * page_size(), PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mine[me].at == MAP_FAILED)
		die("mmap");
}

static void op_getppid(int me)
{
	(void)me;
	syscall(SYS_getppid);
}

static void op_getuid(int me)
{
	(void)me;
	syscall(SYS_getuid);
}

static void op_clock(int me)
{
	must(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, mine[me].buffer), "clock_gettime");
}

static void op_yield(int me)
{
	(void)me;
	must(sched_yield(), "sched_yield");
}

static void op_affinity(int me)
{
	on_cpu(me);
}

static void op_setpriority(int me)
{
	must(setpriority(PRIO_PROCESS, mine[me].pid, 0), "setpriority");
}

static void op_getrusage(int me)
{
	must(getrusage(RUSAGE_SELF, (struct rusage *)mine[me].buffer), "getrusage");
}

static void op_setuid(int me)
{
	(void)me;
	must(syscall(SYS_setuid, 0), "setuid");
}

static void op_kill(int me)
{
	must(kill(mine[me].pid, 0), "kill");
}

static void op_sigaction(int me)
{
	must(syscall(SYS_rt_sigaction, SIGUSR2, NULL, mine[me].buffer, 8), "rt_sigaction");
}

/* The user's account has each signal that waits. */
static void op_sigqueue(int me)
{
	const struct timespec none = { 0, 0 };

	must(syscall(SYS_tkill, mine[me].pid, SIGUSR1), "tkill");
	if (must(sigtimedwait(&usr1, NULL, &none), "sigtimedwait") != SIGUSR1)
		die("another signal");
}

static void op_timer(int me)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	int id;

	(void)me;
	must(syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &id), "timer_create");
	must(syscall(SYS_timer_delete, id), "timer_delete");
}

static void op_fork(int me)
{
	pid_t child = must(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0), "clone");

	(void)me;
	if (!child)
		syscall(SYS_exit_group, 0);
	if (syscall(SYS_wait4, child, NULL, __WALL, NULL) != child)
		die("wait4");
}

static int end(void *nothing)
{
	(void)nothing;
	syscall(SYS_exit, 0);
	return 0;
}

/* A task that shares all but signals, so that it can be waited for as a child. */
static void op_clone(int me)
{
	int flags = CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD;
	pid_t child = must(clone(end, stacks[me] + 16 * page_size(), flags, NULL), "clone");

	if (syscall(SYS_wait4, child, NULL, __WALL, NULL) != child)
		die("wait4");
}

static void op_unshare(int me)
{
	(void)me;
	must_know(unshare(CLONE_NEWUTS), "unshare");
}

static void op_charge(int me)
{
	size_t size = 256 * page_size();

	touch_write(mine[me].at, size);
	must(madvise(mine[me].at, size, MADV_DONTNEED), "MADV_DONTNEED");
}

static const struct shared_variant variants[] = {
	{ "getppid", NULL, NULL, op_getppid },
	{ "getuid", NULL, NULL, op_getuid },
	{ "clock", NULL, NULL, op_clock },
	{ "yield", NULL, NULL, op_yield },
	{ "affinity", NULL, NULL, op_affinity },
	{ "setpriority", NULL, use_task, op_setpriority },
	{ "getrusage", NULL, NULL, op_getrusage },
	{ "setuid", NULL, NULL, op_setuid },
	{ "kill", NULL, use_task, op_kill },
	{ "sigaction", NULL, NULL, op_sigaction },
	{ "sigqueue", block_signal, use_task, op_sigqueue },
	{ "timer", NULL, NULL, op_timer },
	{ "fork", NULL, NULL, op_fork },
	{ "clone", make_stacks, NULL, op_clone },
	{ "unshare", NULL, NULL, op_unshare },
	{ "cgroup-charge", make_cgroups, use_cgroup, op_charge },
	{}
};

int main(int argc, char **argv)
{
	return run_shared(variants, argc, argv);
}
