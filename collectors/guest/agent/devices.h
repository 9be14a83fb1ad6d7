/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Devices of a machine that is restored: devices.c. */
#ifndef PROFDIFF_DEVICES_H
#define PROFDIFF_DEVICES_H

#include <stddef.h>
#include <stdint.h>

/* Opens a file of the PCI device with these ids. */
int open_device(unsigned vendor, unsigned device, const char *name, int flags);
void *map_device(unsigned vendor, unsigned device, int bar, size_t *size);

/*
 * The memory that is shared with the host: the second BAR of QEMU's ivshmem-plain
 * (docs/specs/ivshmem-spec.rst). What the host writes: struct request (hold.c), at RECORDS the
 * records, each a struct record, a path, and the content of that file. What we write: how far we are
 * at PHASE, struct answer at ANSWER (hand_over.c), and in the upper half the result.
 */
uint8_t *map_shared(size_t *size);
#define PHASE 1024
#define ANSWER 2048
#define RECORDS 4096

#endif
