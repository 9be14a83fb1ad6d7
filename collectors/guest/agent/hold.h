/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the agent does in a machine that is restored: hold.c, alone.c, hand_over.c. */
#ifndef PROFDIFF_HOLD_H
#define PROFDIFF_HOLD_H

/* Before the machine is saved, for alone(). */
void note_modules(void);
int hold(void);
/* It stops or resets the machine, as QEMU is told, so many nanoseconds later. */
void arm_watchdog(long ns);
int alone(void);
int hand_over(char **names);

#endif
