/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mlock WAY STATE SIZE OPS: locks memory in a state, or unlocks it. An op is one call.
 *
 * lock: mlock(). unlock: munlock(). onfault: mlock2() with MLOCK_ONFAULT. all: mlockall() of what
 * is mapped now, and unlockall: munlockall().
 */
#include "suite.h"

static const char words[] = "lock|unlock|onfault|all|unlockall STATE SIZE OPS";

int main(int argc, char **argv)
{
	long ops = suite_ops(argc, argv, words);
	size_t size = size_of(argv[3]);
	char *at = state_map(argv[2], size);
	bool unlock = !strncmp(argv[1], "unlock", 6), all = !!strstr(argv[1], "all");
	bool onfault = !strcmp(argv[1], "onfault");

	if (!unlock && !all && !onfault && strcmp(argv[1], "lock"))
		usage(words);
	for (long i = -2; i < ops; i++) {
		if (i >= 0 && !unlock)
			start();
		if (all ? mlockall(MCL_CURRENT) : mlock2(at, size, onfault ? MLOCK_ONFAULT : 0))
			die_or_not_there("mlock");
		if (i >= 0 && !unlock)
			stop();
		if (i >= 0 && unlock)
			start();
		if (all ? munlockall() : munlock(at, size))
			die("munlock");
		if (i >= 0 && unlock)
			stop();
	}
	return 0;
}
