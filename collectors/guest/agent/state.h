/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A varied state, in which a workload runs: state.c. */
#ifndef PROFDIFF_STATE_H
#define PROFDIFF_STATE_H

#include <sys/types.h>

/* How many of what there are beside those of the plain state: varied_state.py draws them. */
struct state {
	unsigned mappings, apart; /* of the workload's process; in other parts of its addresses */
	unsigned files;		  /* open in it, from FIRST_FILE on */
	unsigned environment;	  /* bytes of a variable of its environment */
	unsigned processes;	  /* that ended before: its pid is as much higher */
	unsigned held;		  /* pipes, files, and some tasks, that others hold while it runs */
	unsigned freed;		  /* files and names of which caches keep something */
	unsigned pages;		  /* of memory that were used and are free again */
};

void read_state(const char *path, struct state *state);
void prepare_state(const struct state *state);
void map_beside(pid_t child, const struct state *state);

#endif
