/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The workload once more, under ptrace(): observe.c. */
#ifndef PROFDIFF_OBSERVE_H
#define PROFDIFF_OBSERVE_H

int observe(const char *argv_path, const char *out_path);

#endif
