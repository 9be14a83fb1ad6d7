/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks for x86-64, included by blocks.h. */
#include <cpuid.h>
#include <stdio.h>

/* Register + register: some processors (Golden Cove) execute chains of `add $1` while renaming, in
 * less than a cycle each. */
BLOCK(run_add, TIMES(100, "add %[y], %[x]"))

BLOCK(run_locked_add, TIMES(20, "lock addq $1, (%[p])"))
BLOCK(run_locked_xchg, TIMES(20, "xchg %[x], (%[p])"))
BLOCK(run_locked_cmpxchg, TIMES(20, "lock cmpxchg %[y], (%[p])"), "rax")

#define LOADS TIMES(16, "mov (%[q]), %[q]")
#define ADDS TIMES(64, "add $1, %[q]") "sub $64, %[q]\n"
BLOCK(run_loads, TIMES(10, LOADS))
BLOCK(run_loads_locked, TIMES(10, LOADS "xchg %[x], (%[p])"))
BLOCK(run_adds, TIMES(10, ADDS))
BLOCK(run_adds_locked, TIMES(10, ADDS "xchg %[x], (%[p])"))

/* One in 16 bytes: branch predictors hold few for each line of code. */
#define SPACED(text) TIMES(20, ".balign 16\n" text)
BLOCK(run_jump, SPACED("jmp 1f\n1:"))
/* Calls of one function, as thunks are one function. */
#define CALLS(function, call)                                                                      \
	"lea 1f(%%rip), %%rax\njmp 2f\n.balign 64\n1: " function "\n.balign 64\n2:\n" SPACED(call)
BLOCK(run_return, CALLS("ret", "call 1b"), "rax")
/* arch/x86/lib/retpoline.S: retbleed_return_thunk, its_return_thunk. */
BLOCK(run_return_thunk, CALLS("jmp 3f\n.balign 64\n3: ret\nint3", "call 1b"), "rax")
/* srso_return_thunk, srso_alias_return_thunk. Their call pushes an address that nothing returns to,
 * so that each return is mispredicted. */
BLOCK(run_return_safe,
      CALLS("jmp 3f\n.balign 64\n3: call 4f\nint3\n.balign 64\n4: lea 8(%%rsp), %%rsp\nret\nint3",
	    "call 1b"),
      "rax")
BLOCK(run_indirect_call, CALLS("ret", "call *%%rax"), "rax")
/* __x86_indirect_thunk_rax, as it executes: its return goes where rax points to. */
BLOCK(run_indirect_call_retpoline,
      CALLS("ret\n.balign 64\n3: call 4f\nint3\n4: mov %%rax, (%%rsp)\nret\nint3", "call 3b"),
      "rax")
BLOCK(run_indirect_jump, SPACED("lea 1f(%%rip), %%rax\njmp *%%rax\n1:"), "rax")
BLOCK(run_indirect_jump_retpoline,
      SPACED("lea 1f(%%rip), %%rax\ncall 4f\nint3\n4: mov %%rax, (%%rsp)\nret\nint3\n1:"), "rax")

BLOCK(run_lfence, TIMES(20, "lfence"))
BLOCK(run_mfence, TIMES(20, "mfence"))
BLOCK(run_sfence, TIMES(20, "sfence"))
BLOCK(run_pause, TIMES(5, "pause"))
BLOCK(run_cpuid, "xor %%eax, %%eax\ncpuid", "rax", "rbx", "rcx", "rdx")
/* A stack segment can be written to, which is what Linux takes: mds_verw_sel. */
BLOCK(run_verw, "mov %%ss, (%[p])\n" TIMES(5, "verw (%[p])"))
/* To the same ring: one to user space costs more. */
BLOCK(run_iret,
      TIMES(5, "mov %%rsp, %%rcx\nmov %%ss, %%eax\npush %%rax\npush %%rcx\npushf\n"
	       "mov %%cs, %%eax\npush %%rax\nlea 1f(%%rip), %%rax\npush %%rax\niretq\n1:"),
      "rax", "rcx")

/* Quotients are as long as they can be. A chain: each dividend has to do with the last quotient. */
BLOCK(run_division_32,
      TIMES(10, "and $1, %%eax\nxor $-1, %%eax\nxor %%edx, %%edx\nmov $3, %%ecx\ndiv %%ecx"),
      "rax", "rcx", "rdx")
BLOCK(run_division_64,
      TIMES(10, "and $1, %%eax\nxor $-1, %%rax\nxor %%edx, %%edx\nmov $3, %%ecx\ndiv %%rcx"),
      "rax", "rcx", "rdx")

BLOCK(run_syscall, TIMES(5, "mov $110, %%eax\nsyscall"), "rax", "rcx", "r11")

/* Hardly ever taken, or at random: `x` holds the address of a bit's byte. */
#define BRANCH "cmpb $0, (%[x])\nje 1f\nadd $1, %[q]\n1: add $1, %[x]"

static double copy_bytes(long loops, size_t bytes, bool fill)
{
	static _Alignas(4096) char from[1 << 16], to[1 << 16];
	double start = now();

	for (long loop = 0; loop < loops; loop++) {
		void *source = from, *target = to;
		size_t left = bytes;

		if (fill)
			__asm__ volatile("rep stosb" : "+D"(target), "+c"(left) : "a"(0) : "memory");
		else
			__asm__ volatile("rep movsb"
					 : "+D"(target), "+S"(source), "+c"(left)::"memory");
	}
	return now() - start;
}

static double run_stosb(long loops, size_t bytes)
{
	return copy_bytes(loops, bytes, true);
}

static double run_movsb(long loops, size_t bytes)
{
	return copy_bytes(loops, bytes, false);
}

#define OF_THE_ARCHITECTURE                                                                        \
	{"call-return-thunk", run_return_thunk, 20}, {"call-return-safe", run_return_safe, 20},    \
		{"indirect-call-retpoline", run_indirect_call_retpoline, 20},                      \
		{"indirect-jump-retpoline", run_indirect_jump_retpoline, 20},                      \
		{"lfence", run_lfence, 20}, {"mfence", run_mfence, 20},                            \
		{"sfence", run_sfence, 20}, {"pause", run_pause, 5}, {"cpuid", run_cpuid, 1},      \
		{"verw", run_verw, 5}, {"iret", run_iret, 5},                                      \
		{"stosb-64", run_stosb, 1, NULL, 64}, {"stosb-512", run_stosb, 1, NULL, 512},      \
		{"stosb-4096", run_stosb, 1, NULL, 4096},                                          \
		{"stosb-65536", run_stosb, 1, NULL, 65536},                                        \
		{"movsb-64", run_movsb, 1, NULL, 64}, {"movsb-512", run_movsb, 1, NULL, 512},      \
		{"movsb-4096", run_movsb, 1, NULL, 4096},                                          \
		{"movsb-65536", run_movsb, 1, NULL, 65536},

static bool has_locked(void)
{
	return true;
}

/* Hypervisors set a bit that processors leave clear, and have a leaf with their name. */
static void print_hypervisor(void)
{
	unsigned int leaf, name[4] = {0};

	__cpuid(1, leaf, leaf, name[0], leaf);
	if (!(name[0] >> 31))
		return;
	__cpuid(0x40000000, leaf, name[0], name[1], name[2]);
	printf("hypervisor %s\n", (char *)name);
}
