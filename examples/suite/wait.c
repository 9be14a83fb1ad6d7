/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wait CALL OPS: asks for the state of a child. With "running", the one child goes on, and there is
 * nothing to tell; else OPS children have ended before the window, and each op takes one.
 */
#include "suite.h"

#include <signal.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef P_PIDFD
#define P_PIDFD 3
#endif

static pid_t make_child(int ends)
{
	pid_t child = fork();

	if (child < 0)
		die("fork");
	if (child)
		return child;
	if (!ends)
		for (;;)
			pause();
	_exit(0);
}

int main(int argc, char **argv)
{
	static const char words[] = "wait4|waitid|pidfd|running OPS";
	long ops = suite_ops(argc, argv, words);
	const char *call = argv[1];
	int running = !strcmp(call, "running"), by_pidfd = !strcmp(call, "pidfd");
	int by_waitid = !strcmp(call, "waitid"), by_wait4 = !strcmp(call, "wait4");
	int *children;

	if (!(running || by_pidfd || by_waitid || by_wait4))
		usage(words);
	children = calloc(ops, sizeof(*children));
	if (!children)
		die("calloc");
	if (running)
		children[0] = make_child(0);
	for (long i = 0; !running && i < ops; i++) {
		siginfo_t info;
		pid_t child = make_child(1);

		if (waitid(P_PID, child, &info, WEXITED | WNOWAIT))
			die("waitid");
		children[i] = child;
		if (by_pidfd) {
			children[i] = syscall(SYS_pidfd_open, child, 0);
			if (children[i] < 0 && errno == ENOSYS)
				not_there("pidfd_open");
			if (children[i] < 0)
				die("pidfd_open");
		}
	}
	start();
	for (long i = 0; i < ops; i++) {
		siginfo_t info;
		int status;

		if (running) {
			if (wait4(children[0], &status, WNOHANG, NULL) != 0)
				die("wait4");
		} else if (by_wait4) {
			if (wait4(children[i], &status, 0, NULL) != children[i])
				die("wait4");
		} else if (waitid(by_pidfd ? P_PIDFD : P_PID, children[i], &info, WEXITED)) {
			die("waitid");
		}
	}
	stop();
	if (running)
		kill(children[0], SIGKILL);
	return 0;
}
