/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What differs by architecture in the agent, beside the marks of profdiff.h: how the registers of a
 * process that is traced make a system call, by which instruction; and whether QEMU restores timers.
 */
#ifndef ARCHITECTURE_H
#define ARCHITECTURE_H

#include <asm/ptrace.h>
#include <stdint.h>
#include <sys/user.h>

#ifdef __x86_64__
#define RESULT(registers) ((registers).rax)
#define CODE rip
static const uint8_t CALL[] = { 0x0f, 0x05 }; /* syscall */
#define CALL_ALIGNED 1

static inline void set_call(struct user_regs_struct *registers, long number, const unsigned long *with)
{
	registers->rax = number;
	registers->orig_rax = -1;
	registers->rdi = with[0];
	registers->rsi = with[1];
	registers->rdx = with[2];
	registers->r10 = with[3];
	registers->r8 = with[4];
	registers->r9 = with[5];
}
#elif defined(__aarch64__)
#define RESULT(registers) ((registers).regs[0])
#define CODE pc
static const uint8_t CALL[] = { 0x01, 0x00, 0x00, 0xd4 }; /* svc #0 */
#define CALL_ALIGNED 4

static inline void set_call(struct user_regs_struct *registers, long number, const unsigned long *with)
{
	registers->regs[8] = number;
	for (int n = 0; n < 6; n++)
		registers->regs[n] = with[n];
}
#elif defined(__riscv)
#define LOSES_TIMERS
#define RESULT(registers) ((registers).a0)
#define CODE pc
static const uint8_t CALL[] = { 0x73, 0x00, 0x00, 0x00 }; /* ecall */
#define CALL_ALIGNED 2

static inline void set_call(struct user_regs_struct *registers, long number, const unsigned long *with)
{
	registers->a7 = number;
	registers->a0 = with[0];
	registers->a1 = with[1];
	registers->a2 = with[2];
	registers->a3 = with[3];
	registers->a4 = with[4];
	registers->a5 = with[5];
}
#endif

#endif
