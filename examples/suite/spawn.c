/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spawn WAY MIB OPS: makes a process that ends at once, and waits for it. MIB of private anonymous
 * memory are written before.
 */
#include "variants.h"

#include <linux/sched.h>
#include <spawn.h>

#ifndef CLONE_PIDFD
#define CLONE_PIDFD 0x1000
#endif

static char *const child_argv[] = { "exit", NULL };
static char *const child_envp[] = { NULL };

static void reap(pid_t child)
{
	int status;

	if (must(waitpid(child, &status, 0), "waitpid") != child || status)
		die("the child failed");
}

static void prepare_memory(void)
{
	size_t size = (size_t)atol(words[0]) << 20;

	if (size)
		state_map("anon", size);
}

static void op_fork(void)
{
	pid_t child = must(fork(), "fork");

	if (!child)
		_exit(0);
	reap(child);
}

static void op_vfork(void)
{
	pid_t child = must(vfork(), "vfork");

	if (!child)
		_exit(0);
	reap(child);
}

static void op_clone3(void)
{
	struct clone_args args = { .exit_signal = SIGCHLD };
	pid_t child = must(syscall(SYS_clone3, &args, sizeof(args)), "clone3");

	if (!child)
		_exit(0);
	reap(child);
}

static void op_clone3_pidfd(void)
{
	int pidfd = -1;
	struct clone_args args = {
		.flags = CLONE_PIDFD,
		.pidfd = (uintptr_t)&pidfd,
		.exit_signal = SIGCHLD,
	};
	pid_t child = must_know(syscall(SYS_clone3, &args, sizeof(args)), "CLONE_PIDFD");

	if (!child)
		_exit(0);
	reap(child);
	close(pidfd);
}

static void op_fork_exec(void)
{
	pid_t child = must(fork(), "fork");

	if (!child) {
		execve("/proc/self/exe", child_argv, child_envp);
		_exit(1);
	}
	reap(child);
}

static void op_vfork_exec(void)
{
	pid_t child = must(vfork(), "vfork");

	if (!child) {
		execve("/proc/self/exe", child_argv, child_envp);
		_exit(1);
	}
	reap(child);
}

static void op_posix_spawn(void)
{
	pid_t child;

	errno = posix_spawn(&child, "/proc/self/exe", NULL, NULL, child_argv, child_envp);
	if (errno)
		die("posix_spawn");
	reap(child);
}

static const struct variant variants[] = {
	{ "fork", prepare_memory, op_fork },
	{ "vfork", prepare_memory, op_vfork },
	{ "clone3", prepare_memory, op_clone3 },
	{ "clone3-pidfd", prepare_memory, op_clone3_pidfd },
	{ "fork-exec", prepare_memory, op_fork_exec },
	{ "vfork-exec", prepare_memory, op_vfork_exec },
	{ "posix_spawn", prepare_memory, op_posix_spawn },
	{}
};

int main(int argc, char **argv)
{
	if (argc == 1) /* what exec starts */
		_exit(0);
	return run_variant(variants, "WAY MIB OPS", argc, argv);
}
