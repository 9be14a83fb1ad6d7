/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ptrace WHAT OPS: one process traces another. peek and regs read of a stopped one; vm_readv does
 * it without ptrace(); syscall lets it make one system call, with a stop before and a stop behind
 * it; step lets it execute one instruction.
 */
#include "variants.h"

#include <elf.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

static pid_t child;
static long word = 0x5aa5;

static void wait_for_stop(void)
{
	int status;

	if (must(waitpid(child, &status, 0), "waitpid") != child || !WIFSTOPPED(status))
		die("the traced process did not stop");
}

static void make_child(void)
{
	child = must(fork(), "fork");
	if (!child) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0))
			_exit(1);
		raise(SIGSTOP);
		for (;;)
			syscall(SYS_getppid);
	}
	wait_for_stop();
	must(ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD),
	     "PTRACE_SETOPTIONS");
}

static void op_peek(void)
{
	if (ptrace(PTRACE_PEEKDATA, child, &word, 0) != word)
		die("PTRACE_PEEKDATA");
}

static void op_regs(void)
{
	struct user_regs_struct regs;
	struct iovec to = { &regs, sizeof(regs) };

	must(ptrace(PTRACE_GETREGSET, child, NT_PRSTATUS, &to), "PTRACE_GETREGSET");
}

static void op_vm_readv(void)
{
	char page[4096];
	struct iovec to = { page, sizeof(page) };
	struct iovec from = { (void *)((uintptr_t)&word & ~4095ul), sizeof(page) };

	must(process_vm_readv(child, &to, 1, &from, 1, 0), "process_vm_readv");
}

static void op_syscall(void)
{
	for (int i = 0; i < 2; i++) {
		must(ptrace(PTRACE_SYSCALL, child, 0, 0), "PTRACE_SYSCALL");
		wait_for_stop();
	}
}

static void op_step(void)
{
	must(ptrace(PTRACE_SINGLESTEP, child, 0, 0), "PTRACE_SINGLESTEP");
	wait_for_stop();
}

static const struct variant variants[] = {
	{ "peek", make_child, op_peek },
	{ "regs", make_child, op_regs },
	{ "vm_readv", make_child, op_vm_readv },
	{ "syscall", make_child, op_syscall },
	{ "step", make_child, op_step },
	{}
};

int main(int argc, char **argv)
{
	return run_variant(variants, "WHAT OPS", argc, argv);
}
