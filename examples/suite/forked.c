/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forked STATE SIZE OPS: fork() with memory in a state, the child's exit and waitpid(). An op is
 * all three.
 */
#include "suite.h"

int main(int argc, char **argv)
{
	long ops = suite_ops(argc, argv, "STATE SIZE OPS");

	state_map(argv[1], size_of(argv[2]));
	for (long i = -2; i < ops; i++) {
		pid_t child;

		if (!i)
			start();
		child = fork();
		if (!child)
			_exit(0);
		if (child < 0 || waitpid(child, NULL, 0) != child)
			die("fork");
	}
	stop();
	return 0;
}
