"""An arm64 program that knows its branches, its calls and who makes them: recursion, tail calls,
longjmp(), coroutines, signals, and processes that take turns."""

import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np
import pytest
from branches import Flow, conserved
from callees import CALLEES
from numpy.typing import NDArray
from qemus import NIGHTLY, QEMU_10, another_qemu
from support import need_program, run_guests

from profdiff.collectors.architecture import ARM64
from profdiff.collectors.exact.counts import Counts
from profdiff.collectors.guest.qemu import Qemu
from profdiff.collectors.kernels.files import KernelFiles

pytestmark = [pytest.mark.guest, pytest.mark.network]

# Each branch of the assembly has a label. The program prints for each label how often the branch
# was executed, how often it was taken, and of how many executions that cannot be told.
_PROGRAM = (
    r"""
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include "profdiff.h"

#define FAR 0x10000000
"""
    + CALLEES
    + r"""
static ucontext_t here, there;
static char stack[65536];
static volatile long alarms;
static volatile unsigned long fibs;

FUNCTION __attribute__((optimize("no-optimize-sibling-calls"))) unsigned fib(unsigned n)
{
    fibs++;
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
FUNCTION void after(void) { sink++; }
FUNCTION unsigned long jumps(int n)
{
    for (volatile int i = 0; i < n; i++) {
        if (!setjmp(out))
            deep(7);
        after();
    }
    return leaf(n);
}
FUNCTION void coroutine(void)
{
    for (;;) {
        sink += leaf(sink);
        swapcontext(&there, &here);
    }
}
FUNCTION void switches(int n)
{
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = sizeof stack;
    makecontext(&there, coroutine, 0);
    for (int i = 0; i < n; i++) {
        swapcontext(&here, &there);
        after();
    }
}
FUNCTION void work(void)
{
    sink += fib(15);
    for (int i = 0; i < 20; i++)
        sink += twice(i);
    sink += jumps(30);
    switches(40);
    sink += indirect(leaf, 3) + indirect(tail, 4);
}

/* %0: how often the code goes round; %1: what it looks at. */
#define RUN(label, code, rounds, value, executed, taken, untold) do {                \
    long c = rounds, a = value;                                                      \
    __asm__ volatile(".globl " #label "\n" code : "+r"(c), "+r"(a) : : "memory", "cc"); \
    printf("%s %ld %ld %ld\n", #label, (long)executed, (long)taken, (long)untold);   \
} while (0)

static void alarmed(int number) { (void)number; alarms++; }
static void faulted(int number)
{
    (void)number;
    mprotect((void *)(FAR + 4096), 4096, PROT_READ | PROT_EXEC);
}
int main(void)
{
    static char text[4096];
    /* cmp xzr, xzr; b.eq .+0xffc, which FAR + 4 is; ret; and a page further, ret */
    static const unsigned code[] = { 0xeb1f03ff, 0x54007fe0, 0xd65f03c0 };
    unsigned *far = mmap((void *)FAR, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    for (int i = 0; i < 3; i++)
        far[i] = code[i];
    far[1024] = code[2];
    __builtin___clear_cache((char *)far, (char *)far + 8192);
    setvbuf(stdout, text, _IOFBF, sizeof text);
    signal(SIGSEGV, faulted);
    signal(SIGALRM, alarmed);

    PROFDIFF_START();
    work();
    RUN(counted, "1: subs %0, %0, #1\n counted: b.ne 1b", 1000, 0, 1000, 999, 0);
    RUN(compared, "1: sub %0, %0, #1\n compared: cbnz %0, 1b", 1000, 0, 1000, 999, 0);
    RUN(bits, "1: bits: tbz %w1, #0, 2f\n nop\n 2: lsr %1, %1, #1\n sub %0, %0, #1\n cbnz %0, 1b",
        64, 0x00f0123456789abd, 64, 64 - __builtin_popcountl(0x00f0123456789abd), 0);
    RUN(signs, "1: signs: tbnz %1, #63, 2f\n nop\n 2: lsl %1, %1, #1\n sub %0, %0, #1\n"
        "cbnz %w0, 1b", 64, 0x00f0123456789abd, 64, __builtin_popcountl(0x00f0123456789abd), 0);
    RUN(never, "1: never: cbz %0, 2f\n subs %0, %0, #1\n b.ne 1b\n 2:", 100, 0, 100, 0, 0);
    RUN(always, "1: always: cbz %1, 2f\n nop\n 2: subs %0, %0, #1\n b.ne 1b", 100, 0, 100, 100, 0);
    RUN(behind, "1: behind: tbz %0, #0, 2f\n 2: subs %0, %0, #1\n b.ne 1b", 100, 0, 100, 0, 100);
    /* Timer ticks come between the branch and what follows. */
    RUN(ticked, "1: subs %0, %0, #1\n ticked: b.ne 1b", 30000000, 0, 30000000, 29999999, 0);
    RUN(ticked_not, "1: ticked_not: cbz %0, 2f\n sub %0, %0, #1\n b 1b\n 2:",
        20000000, 0, 20000001, 1, 0);
    /* So do signals. */
    struct itimerval every = { { 0, 1500 }, { 0, 1500 } }, off = { { 0, 0 }, { 0, 0 } };
    setitimer(ITIMER_REAL, &every, 0);
    RUN(signalled, "1: sub %0, %0, #1\n signalled: cbnz %0, 1b", 20000000, 0, 20000000, 19999999,
        0);
    setitimer(ITIMER_REAL, &off, 0);
    /* And faults at the target. */
    for (int i = 0; i < 20; i++) {
        mprotect((char *)far + 4096, 4096, PROT_NONE);
        ((void (*)(void))far)();
    }
    printf("faulting 20 20 0\n");
    fflush(stdout);
    for (int i = 0; i < 4; i++)
        if (!fork()) {
            __asm__ volatile("mov x9, #0x8000\n lsl x9, x9, #8\n 1: subs x9, x9, #1\n"
                             ".globl shared\n shared: b.ne 1b" : : : "x9", "cc");
            _exit(0);
        }
    while (wait(NULL) > 0)
        ;
    printf("shared %d %d 0\n", 4 << 23, (4 << 23) - 4);
    PROFDIFF_STOP();
    fprintf(stderr, "%ld %lu\n", alarms, fibs);
    return 0;
}
"""
)


@dataclass(frozen=True)
class Ran:
    """The program's symbols by name, with their sizes; its counts; what it printed, and how often
    it received a signal and called fib()."""

    symbols: dict[str, range]
    counts: Counts
    told: str
    alarms: int
    fibs: int

    @cached_property
    def functions(self) -> list[str]:
        """For each place the name of the function of the program that holds it; "" if none does."""
        return [
            next((name for name, where in self.symbols.items() if address in where), "")
            for address in self.counts.address.tolist()
        ]


# The suite of Debian that has the QEMU, if it is not the one on PATH; vCPUs.
GUESTS = [("", 2), pytest.param(QEMU_10, 2, marks=NIGHTLY)]


@pytest.fixture(scope="module")
def ran(
    arm64_qemu: Qemu, arm64_kernel: KernelFiles, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, int], Ran]:
    """The program in one of the guests."""

    @cache
    def run(suite: str, cpus: int) -> Ran:
        qemu = another_qemu(suite, ARM64) if suite else arm64_qemu
        folder = tmp_path_factory.mktemp("arm64-program")
        source, program = folder / "known.c", folder / "known"
        source.write_text(_PROGRAM)
        include = Path(__file__).parents[2] / "collectors/guest"
        command = [ARM64.compiler, "-O2", "-static", f"-I{include}", "-o", program, source]
        subprocess.run(command, check=True)
        assert arm64_kernel.image
        words = [str(program)]
        (result,) = run_guests(qemu, arm64_kernel.image, words, folder / "run", count=1, cpus=cpus)
        assert result.failure is None
        assert result.counts
        listing = subprocess.run(
            [need_program("nm", "binutils"), "-S", program],
            capture_output=True,
            text=True,
            check=True,
        )
        symbols = {}
        for line in listing.stdout.splitlines():
            start, *size, _, name = line.split()
            length = int(size[0], 16) if size else 0
            symbols[name] = range(int(start, 16), int(start, 16) + length)
        read = (folder / "run/0").joinpath
        alarms, fibs = map(int, read("stderr").read_text().split())
        return Ran(symbols, result.counts, read("stdout").read_text(), alarms, fibs)

    return run


def flow(address: NDArray[np.uint64], code: NDArray[np.uint8]) -> Flow:
    """From the encodings (Arm ARM C4.1): of each instruction, whether it leads to the one behind
    it, and to a direct target; the target."""
    word = code[:, 1:5].copy().view("<u4")[:, 0].astype(np.int64)
    fields = {  # mask and value of the word, the first bit of the distance, its bits
        "b": (0xFC000000, 0x14000000, 0, 26),
        "b.cond": (0xFF000000, 0x54000000, 5, 19),
        "cbz": (0x7E000000, 0x34000000, 5, 19),
        "tbz": (0x7E000000, 0x36000000, 5, 14),
    }
    jumps, target = np.zeros(len(word), np.bool_), np.zeros(len(word), np.uint64)
    for mask, value, low, bits in fields.values():
        these = (word & mask) == value
        distance = (word >> low & (1 << bits) - 1) << 64 - bits >> 62 - bits
        jumps |= these
        target[these] = (address + distance.astype(np.uint64))[these]
    falls = (word >> 26 != 0x05) & (word >> 26 != 0x25) & (word >> 25 != 0x6B)
    falls &= (word >> 24 != 0xD4) & (word >> 16 != 0)
    return falls, jumps, target


@pytest.mark.parametrize(("suite", "cpus"), GUESTS)
def test_branches_taken(ran: Callable[[str, int], Ran], suite: str, cpus: int) -> None:
    one = ran(suite, cpus)
    counts = one.counts
    assert counts.calls
    assert counts.calls.unequal(counts.count) == 0
    assert counts.taken is not None
    assert counts.untold is not None
    lines = one.told.splitlines()
    assert len(lines) == 12
    expected, counted = {}, {}
    for line in lines:
        name, *numbers = line.split()
        expected[name] = tuple(map(int, numbers))
        address = one.symbols[name].start if name != "faulting" else 0x10000004
        # A path in which a vCPU idled may name code of another program there.
        (row,) = np.flatnonzero((counts.address == address) & (counts.count > 0))
        counted[name] = tuple(
            int(column[row]) for column in (counts.count, counts.taken, counts.untold)
        )
    assert counted == expected
    falls, jumps, target = flow(counts.address, counts.executed)
    nowhere_else = falls & jumps & (target == counts.address + np.uint64(4))
    assert not counts.untold[~nowhere_else].any()
    # Signals did come in the middle of the loop.
    assert one.alarms > 5
    conserved(counts, flow=flow)


@pytest.mark.parametrize(("suite", "cpus"), GUESTS)
def test_calls_and_callers(ran: Callable[[str, int], Ran], suite: str, cpus: int) -> None:
    one = ran(suite, cpus)
    tree = one.counts.calls
    assert tree
    calls: Counter[str] = Counter()
    paths: list[tuple[str, ...]] = [()]
    own: Counter[tuple[str, ...]] = Counter()
    # What a function that was entered by a jump executed is its callers' callee's.
    for node in range(1, len(tree.parent)):
        function = one.functions[tree.target[node]] if tree.target[node] >= 0 else ""
        paths.append((*paths[tree.parent[node]], function))
        calls[function] += int(tree.calls[node])
    for node, place, count in zip(tree.node, tree.place, tree.count, strict=True):
        function = one.functions[place]
        if function and one.counts.address[place] < 1 << 32:
            own[(*paths[node], function)] += int(count)
    known = {"fib": one.fibs, "twice": 20, "deep": 240, "after": 70, "jumps": 1, "switches": 1}
    known |= {"indirect": 2, "work": 1, "tail": 21, "leaf": 20 + 240 + 1 + 40 + 1}
    assert {name: calls[name] for name in known} == known
    # Who is whose caller, from main() on: of leaf(), tail() is none, for it jumps there.
    callers = {
        "work": {("main",)},
        "twice": {("work",)},
        "tail": {("twice",), ("indirect",)},
        "jumps": {("work",)},
        "switches": {("work",)},
        "indirect": {("work",)},
        "after": {("jumps",), ("switches",)},
        "coroutine": {("switches",)},
        "fib": {("work",), ("fib",)},
        "deep": {("jumps",), ("deep",)},
    }
    found: dict[str, set[tuple[str, ...]]] = {name: set() for name in callers}
    for node in range(1, len(paths)):
        names = [name for name in paths[node] if name in callers]
        if paths[node] and paths[node][-1] in callers and tree.calls[node]:
            found[paths[node][-1]].add(tuple(names[-2:-1]) or ("main",))
    found["coroutine"] = callers["coroutine"]  # entered by a jump
    assert found == callers
    # What runs behind longjmp() is no longer below the calls that were left.
    after_jumps = [path for path in own if path[-1] in ("after", "jumps")]
    assert after_jumps
    assert not [path for path in after_jumps if "deep" in path]
    # Nor is what runs behind a coroutine's switch below the coroutine.
    back = [path for path in own if path[-1] == "switches"]
    assert back
    assert not [path for path in back if "leaf" in path[:-1] or path.count("swapcontext") > 0]
