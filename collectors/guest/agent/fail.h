/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the agent ends where it cannot go on: one line, which the host looks for, and status 125. */
#ifndef PROFDIFF_FAIL_H
#define PROFDIFF_FAIL_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void fail(const char *what)
{
	fprintf(stderr, "profdiff agent: %s: %s\n", what, strerror(errno));
	exit(125);
}

#endif
