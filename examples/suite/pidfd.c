/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pidfd WHAT OPS: a process by a file descriptor of it.
 */
#include "variants.h"

#include <poll.h>
#include <signal.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

static int pidfd;

static void open_own(void)
{
	pidfd = must(syscall(SYS_pidfd_open, own_pid, 0), "pidfd_open");
}

static void op_open(void)
{
	int fd = must(syscall(SYS_pidfd_open, own_pid, 0), "pidfd_open");

	close(fd);
}

static void op_signal(void)
{
	must(syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0), "pidfd_send_signal");
}

static void op_getfd(void)
{
	int fd = must(syscall(SYS_pidfd_getfd, pidfd, 0, 0), "pidfd_getfd");

	close(fd);
}

static void op_poll(void)
{
	struct pollfd poll_fd = { .fd = pidfd, .events = POLLIN };

	must(poll(&poll_fd, 1, 0), "poll");
}

static const struct variant variants[] = {
	{ "open", NULL, op_open },
	{ "signal", open_own, op_signal },
	{ "getfd", open_own, op_getfd },
	{ "poll", open_own, op_poll },
	{}
};

int main(int argc, char **argv)
{
	return run_variant(variants, "WHAT OPS", argc, argv);
}
