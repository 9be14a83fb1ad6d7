/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The workload between the marks of the whole command: run.c. */
#ifndef PROFDIFF_RUN_H
#define PROFDIFF_RUN_H

char **read_arguments(const char *path);
/* Adds the variables that lie beside the command in the file ``path``, if there are any. */
void take_environment(const char *path);
int run(const char *argv_path, const char *status_path, const char *usage_path, long times,
	const char *state_path);
int collect(const char *folder, const char *out);

#endif
