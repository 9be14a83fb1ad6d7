"""A program of repeated string instructions, and how often each must count."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
from support import need_program, run_guests

from profdiff.collectors.guest.qemu import Qemu

# Each string instruction has a label. The program prints for each label how often the instruction
# was executed, how many iterations that took, how often an iteration was the last one for what it
# compared, and how many faults there were.
_PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "profdiff.h"

#define PAGE 4096l
#define LONG (6l << 20)

static struct told { const char *name; long executed, iterated, ended, faults; } all[64];
static int told;

static long faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}
static char *fresh(long bytes)
{
    char *p = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(p, bytes, MADV_NOHUGEPAGE);
    return p;
}
static char *touched(long bytes, int value)
{
    return memset(fresh(bytes), value, bytes);
}

/* One execution. BEFORE stands before the label, BEHIND directly behind the instruction. */
#define RUN(label, before, insn, behind, dst, src, count, al, times, iterations, ends) do { \
    void *di = dst, *si = src; long cx = count, was = faults();                             \
    __asm__ volatile(before "\n.globl " #label "\n" #label ": " insn "\n" behind            \
        : "+D"(di), "+S"(si), "+c"(cx) : "a"((long)(al)), "d"(0x80), "b"(times) : "memory", "cc"); \
    all[told++] = (struct told){ #label, times, iterations, ends, faults() - was };         \
} while (0)

int main(void)
{
    char *a = touched(LONG, 1), *b = touched(LONG, 1);

    a[100] = 7;
    PROFDIFF_START();
    RUN(scan_to_mark, "", "repne scasb", "nopl 0x50444902(%%rax)", a, b, LONG, 7, 1, 101, 1);
    PROFDIFF_START();
    RUN(stos_b, "", "rep stosb", "", a, b, 1000, 1, 1, 1000, 0);
    RUN(stos_q, "", "rep stosq", "", a, b, 512, 0x0101010101010101, 1, 512, 0);
    RUN(stos_repne, "", "repne stosb", "", a, b, 17, 1, 1, 17, 0);
    RUN(stos_none, "", "rep stosb", "", a, b, 0, 1, 1, 0, 0);
    RUN(stos_jumped, "jmp stos_jumped", "rep stosl", "", a, b, 9, 0x01010101, 1, 9, 0);
    RUN(stos_loop, "1: mov $13, %%ecx", "rep stosb", "dec %%ebx; jnz 1b",
        touched(PAGE, 1), b, 0, 1, 50l, 650, 0);
    RUN(stos_again, "", "rep stosb", "mov $1, %%ecx; dec %%ebx; jnz stos_again",
        touched(PAGE, 1), b, 5, 1, 50l, 54, 0);
    RUN(stos_faults, "", "rep stosb", "", fresh(8 * PAGE), b, 8 * PAGE, 1, 1, 8 * PAGE, 0);
    RUN(stos_crossing, "", "rep stosq", "", fresh(8 * PAGE) + 4, b, PAGE - 1, 1, 1, PAGE - 1, 0);
    RUN(stos_long, "", "rep stosb", "", a, b, LONG, 1, 1, LONG, 0);
    RUN(movs_b, "", "rep movsb", "", a, b, 1000, 1, 1, 1000, 0);
    RUN(movs_none, "", "rep movsq", "", a, b, 0, 1, 1, 0, 0);
    RUN(movs_store_faults, "", "rep movsb", "", fresh(8 * PAGE), b, 8 * PAGE, 1, 1, 8 * PAGE, 0);
    RUN(movs_load_faults, "", "rep movsw", "", touched(8 * PAGE, 1), fresh(8 * PAGE),
        4 * PAGE, 1, 1, 4 * PAGE, 0);
    RUN(movs_both_fault, "", "rep movsl", "", fresh(8 * PAGE), fresh(8 * PAGE) + 12,
        PAGE, 1, 1, PAGE, 0);
    RUN(movs_long, "", "rep movsb", "", a, b, LONG, 1, 1, LONG, 0);
    RUN(lods_b, "", "rep lodsb", "", a, b, 300, 1, 1, 300, 0);
    RUN(lods_faults, "", "rep lodsb", "", a, fresh(4 * PAGE), 4 * PAGE, 1, 1, 4 * PAGE, 0);

    RUN(scas_all, "", "repne scasb", "", a, b, 300, 9, 1, 300, 0);
    RUN(scas_none, "", "repne scasb", "", a, b, 0, 9, 1, 0, 0);
    a[40] = 9;
    RUN(scas_found, "", "repne scasb", "", a, b, 300, 9, 1, 41, 1);
    RUN(scas_last, "", "repne scasb", "", a, b, 41, 9, 1, 41, 1);
    RUN(scas_first, "", "repe scasb", "", a, b, 41, 9, 1, 1, 1);
    a[40] = 1;
    for (int i = 0; i < 300; i += 3)
        a[i] = 9;
    RUN(scas_again, "", "repne scasb", "je scas_again", a, b, 300, 9, 101, 300, 100);
    RUN(scas_faults, "", "repne scasb", "", fresh(8 * PAGE), b, 8 * PAGE, 9, 1, 8 * PAGE, 0);
    RUN(scas_behind_first, "jmp 2f", "repne scasb", "2: dec %%ebx; jns scas_behind_first",
        a + 300, b, 7, 9, 2, 7, 0);
    memset(a, 1, PAGE);
    a[LONG - 1] = 9;
    RUN(scas_long, "", "repne scasb", "", a, b, LONG, 9, 1, LONG, 1);
    RUN(cmps_all, "", "repe cmpsb", "", a, b, 300, 9, 1, 300, 0);
    RUN(cmps_found, "", "repne cmpsb", "", a, b, 300, 9, 1, 1, 1);
    a[77] = 5;
    RUN(cmps_differ, "", "repe cmpsb", "", a, b, 300, 9, 1, 78, 1);
    RUN(cmps_faults, "", "repe cmpsb", "", fresh(4 * PAGE), fresh(4 * PAGE), 4 * PAGE, 9,
        1, 4 * PAGE, 0);

    /* Four processes take turns in the same instruction. */
    a[LONG / 2] = 3;
    for (int i = 0; i < 4; i++)
        if (!fork()) {
            for (int j = 0; j < 3; j++)
                RUN(scas_shared, "", "repne scasb", "", a, b, LONG, 3, 1, LONG / 2 + 1, 1);
            _exit(0);
        }
    while (wait(NULL) > 0)
        ;
    /* Timer ticks come while the kernel clears pages. */
    char *pages = fresh(3000 * PAGE);
    for (int i = 0; i < 3000; i++)
        pages[i * PAGE] = 1;
    PROFDIFF_STOP();
    all[told++] = (struct told){ "scas_shared", 12, 12 * (LONG / 2 + 1), 12, 0 };
    for (int i = 0; i < told; i++)
        printf("%s %ld %ld %ld %ld\n", all[i].name, all[i].executed, all[i].iterated,
               all[i].ended, all[i].faults);
    return 0;
}
"""


def check(qemu: Qemu, kernel: Path, tmp_path: Path, compile_c: Callable[..., Path]) -> None:
    """Counts once with each fault, and keeps the starts. The first iteration of a page that faults
    starts anew, as any instruction that faults."""
    need_program("nm", "binutils")
    program = compile_c("repeated", _PROGRAM, "-static", "-no-pie", "-O1")
    result = run_guests(qemu, kernel / "bzImage", [str(program)], tmp_path, count=1)[0]
    assert result.failure is None
    counts = result.counts
    assert counts
    assert counts.each_iteration is not None
    assert counts.calls
    assert counts.calls.unequal(counts.count) == 0

    listing = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    address = {line.split()[2]: int(line.split()[0], 16) for line in listing.splitlines()}
    lines = (tmp_path / "0/stdout").read_text().splitlines()
    assert len(lines) > 30
    expected, counted = {}, {}
    for line in lines:
        name, *numbers = line.split()
        executed, iterations, ended, faults = map(int, numbers)
        (row,) = np.flatnonzero(counts.address == address[name])
        counted[name] = (int(counts.count[row]), int(counts.each_iteration[row]))
        # An execution that no iteration ends starts once more, to find that none is left.
        expected[name] = (executed + faults, iterations + executed - ended + faults)
    assert counted == expected

    # rep stosb clears a page in the kernel: the program touches 37 and more of its own at first.
    started = counts.each_iteration == 4097 * counts.count
    clears = counts.in_kernel & started & (counts.count > 37)
    assert bytes(counts.executed[clears][0, :3]) == b"\x02\xf3\xaa"
