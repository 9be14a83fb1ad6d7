/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * process_vm readv|writev STATE SIZE OPS: process_vm_readv() or process_vm_writev() of a child's
 * memory in a state. An op is one call.
 */
#include "suite.h"

#include <signal.h>
#include <sys/uio.h>

int main(int argc, char **argv)
{
	long ops = suite_ops(argc, argv, "readv|writev STATE SIZE OPS");
	size_t size = size_of(argv[3]);
	struct iovec there = { state_map(argv[2], size), size }, here = { malloc(size), size };
	bool writes = !strcmp(argv[1], "writev");
	pid_t child;

	if (!writes && strcmp(argv[1], "readv"))
		usage("readv|writev STATE SIZE OPS");
	if (!here.iov_base)
		die("malloc");
	memset(here.iov_base, 1, size);
	child = fork();
	if (child < 0)
		die("fork");
	while (!child)
		pause();
	for (long i = -2; i < ops; i++) {
		ssize_t done;

		if (!i)
			start();
		done = writes ? process_vm_writev(child, &here, 1, &there, 1, 0)
			      : process_vm_readv(child, &here, 1, &there, 1, 0);
		if (done != (ssize_t)size) {
			stop();
			kill(child, SIGKILL);
			die_or_not_there(writes ? "process_vm_writev" : "process_vm_readv");
		}
	}
	stop();
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return 0;
}
