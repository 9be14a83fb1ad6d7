/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the agent does in a machine that is restored: hold.c. */
#ifndef PROFDIFF_HOLD_H
#define PROFDIFF_HOLD_H

int hold(void);
int hand_over(char **names);

#endif
