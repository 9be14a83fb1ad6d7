"""A program of conditional branches, how often each must be taken, and what must hold of them in
all code that ran."""

import re
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from support import need_program, run_guests

from profdiff.collectors.exact.counts import Counts
from profdiff.collectors.guest.qemu import Qemu

# Each branch of the assembly has a label. The program prints for each label how often the branch
# was executed, how often it was taken, and of how many executions that cannot be told.
_PROGRAM = r"""
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "profdiff.h"

#define FAR 0x10000000
#define FUNCTION __attribute__((noinline, noclone))
static struct told { const char *name; long executed, taken, untold; } all[64];
static int told;
static volatile long alarms;
static int values[500];
volatile long sink;

/* rcx: how often the code goes round; rax: what it looks at. */
#define RUN(label, code, rcx, rax, executed, taken, untold) do {                     \
    long c = rcx, a = rax;                                                           \
    __asm__ volatile(".globl " #label "\n" code                                      \
        : "+c"(c), "+a"(a) : : "rdx", "memory", "cc");                               \
    all[told++] = (struct told){ #label, executed, taken, untold };                  \
} while (0)

static void alarmed(int number) { (void)number; alarms++; }
static void faulted(int number)
{
    (void)number;
    mprotect((void *)FAR, 4096, PROT_READ | PROT_EXEC);
}
FUNCTION void sort(int *p, int n)
{
    for (int i = 1; i < n; i++) {
        int value = p[i], j = i;
        for (; j > 0 && p[j - 1] > value; j--)
            p[j] = p[j - 1];
        p[j] = value;
    }
}
FUNCTION long collatz(long n)
{
    long steps = 0;
    for (; n != 1; steps++)
        n = n % 2 ? 3 * n + 1 : n / 2;
    return steps;
}
int main(void)
{
    unsigned x = 1;
    for (int i = 0; i < 500; i++)
        values[i] = x = x * 1103515245 + 12345;
    char *far = mmap((void *)FAR, 4096, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    *far = 0xc3;
    signal(SIGSEGV, faulted);
    signal(SIGALRM, alarmed);

    PROFDIFF_START();
    RUN(counted, "1: dec %%rcx\n counted: jnz 1b", 1000, 0, 1000, 999, 0);
    RUN(near, "1: dec %%rcx\n near: %{disp32%} jnz 1b", 1000, 0, 1000, 999, 0);
    RUN(looped, "looped: loop looped", 1000, 0, 1000, 999, 0);
    RUN(looped_equal, "1: cmp $7, %%rcx\n looped_equal: loopne 1b", 1000, 0, 994, 993, 0);
    RUN(is_zero, "1: mov %%rcx, %%rdx\n and $3, %%ecx\n is_zero: jrcxz 2f\n nop\n"
        "2: mov %%rdx, %%rcx\n dec %%rcx\n jnz 1b", 1000, 0, 1000, 250, 0);
    RUN(alternates, "1: test $1, %%cl\n alternates: jz 2f\n nop\n 2: dec %%rcx\n jnz 1b",
        1000, 0, 1000, 500, 0);
    RUN(bits, "1: shr %%rax\n bits: jc 2f\n nop\n 2: dec %%rcx\n jnz 1b",
        64, 0x00f0123456789abd, 64, __builtin_popcountl(0x00f0123456789abd), 0);
    RUN(never, "1: xor %%eax, %%eax\n never: jnz 2f\n dec %%rcx\n jnz 1b\n 2:", 100, 0, 100, 0, 0);
    RUN(always, "1: xor %%eax, %%eax\n always: jz 2f\n nop\n 2: dec %%rcx\n jnz 1b",
        100, 0, 100, 100, 0);
    RUN(behind, "1: test $1, %%cl\n behind: jz 2f\n 2: dec %%rcx\n jnz 1b", 100, 0, 100, 0, 100);
    /* Timer ticks come between the branch and what follows. */
    RUN(ticked, "1: dec %%rcx\n ticked: jnz 1b", 30000000, 0, 30000000, 29999999, 0);
    RUN(ticked_not, "1: cmp $-1, %%rcx\n ticked_not: jz 2f\n dec %%rcx\n jnz 1b\n 2:",
        20000000, 0, 20000000, 0, 0);
    /* So do signals. */
    struct itimerval every = { { 0, 1500 }, { 0, 1500 } }, off = { { 0, 0 }, { 0, 0 } };
    setitimer(ITIMER_REAL, &every, 0);
    RUN(signalled, "1: dec %%rcx\n signalled: jnz 1b", 20000000, 0, 20000000, 19999999, 0);
    setitimer(ITIMER_REAL, &off, 0);
    /* And faults at the target. */
    for (int i = 0; i < 20; i++) {
        mprotect(far, 4096, PROT_NONE);
        __asm__ volatile("call 1f\n jmp 2f\n 1: cmp %%eax, %%eax\n .globl faulting\n"
                         "faulting: je 0x10000000\n ret\n 2:" : : : "memory", "cc");
    }
    all[told++] = (struct told){ "faulting", 20, 20, 0 };
    for (int i = 0; i < 4; i++)
        if (!fork()) {
            __asm__ volatile("mov $7000000, %%ecx\n 1: dec %%ecx\n .globl shared\n shared: jnz 1b"
                             : : : "rcx", "cc");
            _exit(0);
        }
    while (wait(NULL) > 0)
        ;
    all[told++] = (struct told){ "shared", 28000000, 27999996, 0 };
    sort(values, 500);
    sink = 0;
    for (long n = 1; n < 100; n++)
        sink += collatz(n);
    PROFDIFF_STOP();
    for (int i = 0; i < told; i++)
        printf("%s %ld %ld %ld\n", all[i].name, all[i].executed, all[i].taken, all[i].untold);
    fprintf(stderr, "alarms %ld\n", alarms);
    return 0;
}
"""


def check(
    qemu: Qemu, kernel: Path, tmp_path: Path, compile_c: Callable[..., Path], cpus: int
) -> None:
    """All of it, in one guest."""
    need_program("nm", "binutils")
    flags = ("-static", "-no-pie", "-O1", "-mno-red-zone", "-fcf-protection=none")
    program = compile_c("branches", _PROGRAM, *flags)
    command = [str(program)]
    result = run_guests(qemu, kernel / "bzImage", command, tmp_path, count=1, cpus=cpus)[0]
    assert result.failure is None
    counts = result.counts
    assert counts
    assert counts.calls
    assert counts.calls.unequal(counts.count) == 0
    assert counts.taken is not None
    assert counts.untold is not None
    assert (counts.taken + counts.untold <= counts.count).all()

    listing = subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True)
    symbols = {line.split()[-1]: line.split() for line in listing.stdout.splitlines()}
    lines = (tmp_path / "0/stdout").read_text().splitlines()
    assert len(lines) == 15
    expected, counted = {}, {}
    for line in lines:
        name, *numbers = line.split()
        expected[name] = tuple(map(int, numbers))
        (row,) = np.flatnonzero(counts.address == int(symbols[name][0], 16))
        counted[name] = tuple(int(one[row]) for one in (counts.count, counts.taken, counts.untold))
    assert counted == expected
    behind = int(symbols["behind"][0], 16)
    assert not counts.untold[counts.address != behind].any()
    # Signals did come in the middle of the loop.
    assert int((tmp_path / "0/stderr").read_text().split()[1]) > 5

    conserved(counts)
    taken = _callgrind(program, tmp_path)
    compared = 0
    for name in ("sort", "collatz"):
        start, size = (int(number, 16) for number in symbols[name][:2])
        for row in np.flatnonzero((counts.address >= start) & (counts.address < start + size)):
            address = int(counts.address[row])
            assert counts.taken[row] == taken[address], f"{name}: {address:#x}"
            compared += counts.taken[row] > 0
    assert compared >= 4


Flow = tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.uint64]]
"""Of instructions: whether each leads to the one behind it, and to a direct target; the target."""


def conserved(
    counts: Counts,
    least: tuple[int, int] = (50, 2000),
    flow: Callable[[NDArray[np.uint64], NDArray[np.uint8]], Flow] | None = None,
) -> None:
    """What comes to an instruction from those before it, by falling through and by direct jumps, is
    as often as it executed, wherever nothing else leads there. Jumps into the middle, faults and
    what the window cuts apart make it more; only the latter makes it less, by one. ``least``: of
    how many instructions of user space, and of the kernel, this must have been said."""
    assert counts.taken is not None
    assert counts.untold is not None
    code = counts.executed
    falls, jumps, target = (flow or _flow)(counts.address, code)
    # One instruction at an address: user space has several programs.
    again = np.append(counts.address[1:] == counts.address[:-1], False)
    once = ~again & ~np.roll(again, 1) & ~counts.patched & (counts.untold == 0)
    rows = {int(address): row for row, address in enumerate(counts.address) if once[row]}
    inflow, whole = np.zeros(len(code), np.int64), once.copy()
    passed = counts.count - counts.taken
    for row in np.flatnonzero(falls):
        behind = rows.get(int(counts.address[row]) + int(code[row, 0]))
        if behind is not None:
            inflow[behind] += passed[row]
            whole[behind] &= bool(once[row])
    for row in np.flatnonzero(jumps):
        there = rows.get(int(target[row]))
        if there is not None:
            inflow[there] += counts.taken[row] if falls[row] else counts.count[row]
            whole[there] &= bool(once[row])
    # Only what some conditional branch leads to: the rest says nothing of branches.
    branch = falls & jumps
    reached = np.zeros(len(code), np.bool_)
    for row in np.flatnonzero(branch):
        for address in (int(counts.address[row]) + int(code[row, 0]), int(target[row])):
            if (there := rows.get(address)) is not None:
                reached[there] = True
    there = reached & whole & (counts.count > 0)
    for kernel in (False, True):
        here = there & (counts.in_kernel == kernel)
        more = counts.count[here] - inflow[here]
        assert here.sum() > least[kernel]
        assert more.min() >= -1
        assert (more < 0).sum() <= 4
        assert (more == 0).mean() > 0.95
    assert not counts.taken[~branch].any()


def _flow(address: NDArray[np.uint64], code: NDArray[np.uint8]) -> Flow:
    """From the encodings (Intel SDM volume 2)."""
    falls, jumps = np.ones(len(code), np.bool_), np.zeros(len(code), np.bool_)
    target = np.zeros(len(code), np.uint64)
    for row, (start, bytes_) in enumerate(zip(address.tolist(), code, strict=True)):
        one = bytes(bytes_[1 : 1 + bytes_[0]]).lstrip(b"\x2e\x3e\xf2\xf3")
        short = one[:1] and (0x70 <= one[0] < 0x80 or 0xE0 <= one[0] <= 0xE3 or one[0] == 0xEB)
        near = one[:1] == b"\xe9" or (one[:1] == b"\x0f" and 0x80 <= one[1] < 0x90)
        if short or near:
            distance = int.from_bytes(one[-1:] if short else one[-4:], "little", signed=True)
            jumps[row], falls[row] = True, one[0] not in (0xEB, 0xE9)
            target[row] = (start + int(bytes_[0]) + distance) % 2**64
        elif (
            one[:1] in (b"\xe8", b"\xc3", b"\xc2", b"\xcb", b"\xcf", b"\xcc")
            or (one[:1] == b"\xff" and one[1] >> 3 & 7 in (2, 3, 4, 5))
            or one[:2] in (b"\x0f\x05", b"\x0f\x07", b"\x0f\x0b", b"\x0f\x34", b"\x0f\x35")
        ):
            falls[row] = False
    return falls, jumps, target


def _callgrind(program: Path, folder: Path) -> Counter[int]:
    """How often each conditional branch is taken, by address: "jcnd=" lines of callgrind's format
    (valgrind's manual), each before a line that begins with the branch's address."""
    need_program("valgrind")
    out = folder / "callgrind.out"
    how = ["--dump-instr=yes", "--collect-jumps=yes", "--compress-pos=no"]
    subprocess.run(
        ["valgrind", "--tool=callgrind", *how, f"--callgrind-out-file={out}", program],
        check=True,
        capture_output=True,
    )
    found = re.findall(r"^jcnd=(\d+)/\d+ .*\n0x(\w+) ", out.read_text(), re.MULTILINE)
    taken: Counter[int] = Counter()
    for count, address in found:
        taken[int(address, 16)] += int(count)
    return taken
