/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * signal WHAT OPS: signals within one process.
 */
#include "variants.h"

#include <signal.h>
#include <sys/signalfd.h>

static volatile sig_atomic_t arrived;
static sigset_t usr1;
static int fd;

static void on_signal(int number)
{
	arrived += number == SIGUSR1;
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	ucontext_t *user = context;

	(void)info;
	arrived += number == SIGILL;
#if defined(__x86_64__)
	user->uc_mcontext.gregs[REG_RIP] += 2; /* ud2 */
#elif defined(__aarch64__)
	user->uc_mcontext.pc += 4; /* udf */
#endif
}

static void handle(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	must(sigaction(SIGUSR1, &action, NULL), "sigaction");
}

static void handle_fault(void)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };

	must(sigaction(SIGILL, &action, NULL), "sigaction");
}

static void ignore(void)
{
	signal(SIGUSR1, SIG_IGN);
}

static void block(void)
{
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	must(sigprocmask(SIG_BLOCK, &usr1, NULL), "sigprocmask");
}

static void block_and_open(void)
{
	block();
	fd = must(signalfd(-1, &usr1, 0), "signalfd");
}

static void op_kill(void)
{
	sig_atomic_t before = arrived;

	must(kill(own_pid, SIGUSR1), "kill");
	if (arrived != before + 1)
		die("the signal did not arrive");
}

static void op_tgkill(void)
{
	must(syscall(SYS_tgkill, own_pid, own_pid, SIGUSR1), "tgkill");
}

static void op_ignored(void)
{
	must(kill(own_pid, SIGUSR1), "kill");
}

static void op_null(void)
{
	must(kill(own_pid, 0), "kill");
}

static void op_sigaction(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	must(sigaction(SIGUSR2, &action, NULL), "sigaction");
}

static void op_sigprocmask(void)
{
	sigset_t old;

	must(sigprocmask(SIG_BLOCK, &usr1, &old), "sigprocmask");
	must(sigprocmask(SIG_SETMASK, &old, NULL), "sigprocmask");
}

static void op_sigaltstack(void)
{
	stack_t stack;

	must(sigaltstack(NULL, &stack), "sigaltstack");
}

static void op_sigtimedwait(void)
{
	struct timespec zero = {};

	must(kill(own_pid, SIGUSR1), "kill");
	must(sigtimedwait(&usr1, NULL, &zero), "sigtimedwait");
}

static void op_signalfd(void)
{
	struct signalfd_siginfo info;

	must(kill(own_pid, SIGUSR1), "kill");
	if (must(read(fd, &info, sizeof(info)), "read") != sizeof(info))
		die("read of a signalfd");
}

static void op_sigqueue(void)
{
	/* sigqueue() would ask for pid and uid each time. */
	siginfo_t info = { .si_code = SI_QUEUE };

	info.si_pid = own_pid;
	info.si_value.sival_int = 1;
	must(syscall(SYS_rt_sigqueueinfo, own_pid, SIGUSR1, &info), "rt_sigqueueinfo");
}

static void op_fault(void)
{
#if defined(__x86_64__)
	__asm__ volatile("ud2");
#elif defined(__aarch64__)
	__asm__ volatile("udf #0");
#endif
}

static const struct variant variants[] = {
	{ "kill", handle, op_kill },
	{ "tgkill", handle, op_tgkill },
	{ "sigqueue", handle, op_sigqueue },
	{ "ignored", ignore, op_ignored },
	{ "null", NULL, op_null },
	{ "illegal-instruction", handle_fault, op_fault },
	{ "sigaction", NULL, op_sigaction },
	{ "sigprocmask", NULL, op_sigprocmask },
	{ "sigaltstack", NULL, op_sigaltstack },
	{ "sigtimedwait", block, op_sigtimedwait },
	{ "signalfd", block_and_open, op_signalfd },
	{}
};

int main(int argc, char **argv)
{
	return run_variant(variants, "WHAT OPS", argc, argv);
}
