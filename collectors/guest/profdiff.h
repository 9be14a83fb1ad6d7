/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Marks for profdiff: what runs between PROFDIFF_START() and PROFDIFF_STOP() is measured, on all
 * CPUs, kernel and user. Several windows add up. A program without marks is measured whole.
 * PROFDIFF_OP() says where an operation ends, for what is told by operation.
 *
 * A mark is one instruction without effect, so a marked program runs unchanged anywhere: a long nop
 * on x86-64, on arm64 and riscv64 one that writes the zero register. Elsewhere marks are empty.
 */
#ifndef PROFDIFF_H
#define PROFDIFF_H

#ifdef __x86_64__
#define PROFDIFF_MARK_(digit) __asm__ volatile("nopl 0x5044490" digit "(%%rax)" : : : "memory")
#elif defined(__aarch64__)
#define PROFDIFF_MARK_(digit) __asm__ volatile("movz xzr, #0x490" digit ", lsl #48" : : : "memory")
#elif defined(__riscv) && __riscv_xlen == 64
#define PROFDIFF_MARK_(digit) __asm__ volatile("slti zero, zero, 0x49" digit : : : "memory")
#else
#define PROFDIFF_MARK_(digit) ((void)0)
#define PROFDIFF_NO_MARKS_
#endif

#define PROFDIFF_START() PROFDIFF_MARK_("1")
#define PROFDIFF_STOP() PROFDIFF_MARK_("2")
#define PROFDIFF_OP() PROFDIFF_MARK_("5")

#endif
