/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the agent sends, packed: pack.c. */
#ifndef PROFDIFF_PACK_H
#define PROFDIFF_PACK_H

int pack(void);

#endif
