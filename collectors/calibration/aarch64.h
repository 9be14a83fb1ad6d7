/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks for arm64, included by blocks.h. */
#include <sys/auxv.h>

#define LSE ".arch_extension lse\n"

/* Atomic instructions of Armv8.1, which Linux patches in where the processor has them. */
static bool has_locked(void)
{
	return getauxval(AT_HWCAP) & (1 << 8); /* HWCAP_ATOMICS */
}

BLOCK(run_add, TIMES(100, "add %[x], %[x], %[y]"))

BLOCK(run_locked_add, LSE TIMES(20, "ldaddal %[y], %[x], [%[p]]"))
BLOCK(run_locked_xchg, LSE TIMES(20, "swpal %[x], %[x], [%[p]]"))
BLOCK(run_locked_cmpxchg, LSE TIMES(20, "casal %[x], %[y], [%[p]]"))
BLOCK(run_exclusive_add,
      TIMES(20, "1: ldaxr x9, [%[p]]\nadd x9, x9, #1\nstlxr w10, x9, [%[p]]\ncbnz w10, 1b"), "x9",
      "x10")

#define LOADS TIMES(16, "ldr %[q], [%[q]]")
#define ADDS TIMES(64, "add %[q], %[q], #1") "sub %[q], %[q], #64\n"
BLOCK(run_loads, TIMES(10, LOADS))
BLOCK(run_loads_locked, LSE TIMES(10, LOADS "swpal %[x], %[x], [%[p]]"))
BLOCK(run_adds, TIMES(10, ADDS))
BLOCK(run_adds_locked, LSE TIMES(10, ADDS "swpal %[x], %[x], [%[p]]"))

/* One in 16 bytes: branch predictors hold few for each line of code. */
#define SPACED(text) TIMES(20, ".balign 16\n" text)
BLOCK(run_jump, SPACED("b 1f\n1:"))
/* Calls of one function. */
#define CALLS(call) "adr x9, 1f\nb 2f\n.balign 64\n1: ret\n.balign 64\n2:\n" SPACED(call)
BLOCK(run_return, CALLS("bl 1b"), "x9", "x30")
BLOCK(run_indirect_call, CALLS("blr x9"), "x9", "x30")
BLOCK(run_indirect_jump, SPACED("adr x16, 1f\nbr x16\n1:"), "x16")

BLOCK(run_dmb, TIMES(20, "dmb ish"))
BLOCK(run_dsb, TIMES(20, "dsb ish"))
BLOCK(run_isb, TIMES(20, "isb"))
BLOCK(run_yield, TIMES(20, "yield"))

/* Quotients are as long as they can be. A chain: each dividend has to do with the last quotient. */
BLOCK(run_division_32,
      "mov w10, #3\n" TIMES(10, "and w9, w9, #1\nmvn w9, w9\nudiv w9, w9, w10"), "x9", "x10")
BLOCK(run_division_64,
      "mov x10, #3\n" TIMES(10, "and x9, x9, #1\nmvn x9, x9\nudiv x9, x9, x10"), "x9", "x10")

BLOCK(run_syscall, TIMES(5, "mov x8, #173\nsvc #0"), "x0", "x8")

/* Hardly ever taken, or at random: `x` holds the address of a bit's byte. */
#define BRANCH "ldrb w9, [%[x]], #1\ncbz w9, 1f\nadd %[q], %[q], #1\n1:"

#define OF_THE_ARCHITECTURE                                                                        \
	{"exclusive-add", run_exclusive_add, 20}, {"dmb", run_dmb, 20}, {"dsb", run_dsb, 20},      \
		{"isb", run_isb, 20}, {"yield", run_yield, 20},

/* A program cannot tell. */
static void print_hypervisor(void)
{
}
