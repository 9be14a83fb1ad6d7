"""Exact call trees on real guests, against callgrind and against the call chains that perf sees."""

import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from callees import CALLEES
from support import EXAMPLE, ODD, RESTORED, need_program, profdiff, run_guests

from profdiff.collectors.exact.counts import Counts
from profdiff.collectors.guest.qemu import Qemu
from profdiff.collectors.recorded import CallTree
from profdiff.profile.comparison import Comparison
from profdiff.profile.recordings import Recordings
from profdiff.session.session import Session

pytestmark = pytest.mark.guest

# Recursion, tail calls (also by a pointer), longjmp().
_KNOWN = (
    """
#include <setjmp.h>
#include <stdio.h>
#include "profdiff.h"
"""
    + CALLEES
    + """
FUNCTION unsigned fib(unsigned n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
FUNCTION unsigned long jumps(int n)
{
    for (volatile int i = 0; i < n; i++)
        if (!setjmp(out))
            deep(7);
    return leaf(n);
}
FUNCTION void work(void)
{
    sink += fib(15);
    for (int i = 0; i < 20; i++)
        sink += twice(i);
    sink += jumps(30);
    sink += indirect(leaf, 3) + indirect(tail, 4);
}
int main(void)
{
    PROFDIFF_START();
    work();
    PROFDIFF_STOP();
    printf("%lu\\n", sink);
    return 0;
}
"""
)


def test_self_total_and_calls_equal_callgrinds(
    old_kernel: Path, new_kernel: Path, tmp_path: Path, compile_c: Callable[..., Path]
) -> None:
    """What differs: a function that ends in a jump has left its caller's stack, as for perf, so its
    total is without the callee; and what runs between longjmp() and the next call or return still
    counts as below the calls that were left."""
    need_program("valgrind")
    program = compile_c("known", _KNOWN, "-O2", "-g", "-static", "-no-pie")
    session = tmp_path / "s.profdiff"
    kernels = ["--kernel", f"a={new_kernel}", "--kernel", f"b={old_kernel}"]
    profdiff("record", *RESTORED, *kernels, "-o", session, "--", program)
    (comparison,) = Recordings(Session.open(session)).comparisons()
    assert comparison.calls is not None
    calls = comparison.stacks.self_by_function(comparison.calls, len(comparison.functions) + 9)
    expected_self, expected_total, expected_calls = _callgrind(program, tmp_path / "callgrind.out")
    after_longjmp = 330
    seen = set()
    for row, function in enumerate(comparison.functions):
        if function.object != "known" or function.name not in expected_self:
            continue
        seen.add(function.name)
        self_, total = comparison.self_[row], comparison.total[row]
        assert (self_ == expected_self[function.name]).all(), function.name
        assert (calls[row] == expected_calls[function.name]).all(), function.name
        expected = expected_total[function.name]
        if function.name == "tail":
            assert expected - total[0] == 21 * 54  # one leaf() for each call
            continue
        assert (total - expected == (after_longjmp if function.name == "deep" else 0)).all(), (
            function.name
        )
    assert seen == {"fib", "leaf", "tail", "twice", "deep", "jumps", "indirect", "work"}


_Table = dict[str, int]


def _callgrind(program: Path, out: Path) -> tuple[_Table, _Table, _Table]:
    """Self, total and calls of the program's functions: callgrind's file, whose format is described
    in valgrind's manual. A deeper level of a recursion has a name of its own: fib'2."""
    subprocess.run(
        ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", program],
        check=True,
        capture_output=True,
    )
    self_: Counter[str] = Counter()
    total: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    names: dict[str, str] = {}
    here = callee = ""
    called = False
    for line in out.read_text().splitlines():
        if match := re.match(r"c?fn=\((\d+)\)(?: (.*))?", line):
            name = names.setdefault(match[1], match[2] or "")
            if line.startswith("c"):
                callee = name
            else:
                here = name
        elif match := re.match(r"calls=(\d+)", line):
            called = True
            calls[callee.partition("'")[0]] += int(match[1])
        elif match := re.match(r"(?:[+*-]?\d*) (\d+)$", line):
            if not called:
                self_[here.partition("'")[0]] += int(match[1])
            elif "'" not in callee:
                total[callee] += int(match[1])
            called = False
    wanted = {"fib", "leaf", "tail", "twice", "deep", "jumps", "indirect", "work"}
    return {name: self_[name] for name in wanted}, total, calls


def test_callers_are_those_that_perf_sees(
    old_kernel: Path, new_kernel: Path, counted_and_sampled: Path, tmp_path: Path
) -> None:
    """Every function of the kernel with over 0.5%: where it has a caller that makes a tenth of its
    total, perf's call chains have that caller too."""
    session = tmp_path / "s.profdiff"
    kernels = ["--kernel", f"base={old_kernel}", "--kernel", f"new={new_kernel}"]
    how = [*RESTORED, "--no-observe", "--collector", "perf", "--count", "2000", "-o", session]
    profdiff("record", *kernels, *how, "--", EXAMPLE, "400", "2000")
    exact, _ = Recordings(Session.open(counted_and_sampled)).comparisons()
    (sampled,) = Recordings(Session.open(session)).comparisons()
    assert exact.labels == sampled.labels
    for kernel in range(2):
        mine, whole = _callers(exact, kernel)
        theirs, _ = _callers(sampled, kernel)
        checked = 0
        for function, callers in mine.items():
            total = sum(callers.values())
            if total < 0.005 * whole:
                continue
            checked += 1
            for caller, count in callers.items():
                assert count < 0.1 * total or caller in theirs[function], (function, caller)
        assert checked > 50


def _callers(comparison: Comparison, kernel: int) -> tuple[dict[str, Counter[str]], int]:
    """Of each kernel function with a caller in the kernel: that caller's part of its total."""
    stacks = comparison.stacks
    functions = [*comparison.functions, *comparison.unnamed]
    inclusive = comparison.counts[:, kernel].copy()
    for row in range(len(stacks) - 1, -1, -1):
        if stacks.parent[row] >= 0:
            inclusive[stacks.parent[row]] += inclusive[row]
    callers: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in np.flatnonzero((stacks.parent >= 0) & (inclusive > 0)):
        callee = functions[stacks.function[row]]
        caller = functions[stacks.function[stacks.parent[row]]]
        if callee.in_kernel and caller.in_kernel:
            callers[callee.name][caller.name] += int(inclusive[row])
    return callers, int(comparison.counts[:, kernel].sum())


# Stacks that come and go: threads, a fork, a program that replaces itself, signals, page faults.
_HECTIC = """
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#define FUNCTION __attribute__((noinline, noclone))
static sigjmp_buf out;
volatile unsigned long sink;
FUNCTION void busy(void) { for (int i = 0; i < 1000; i++) sink += i; }
FUNCTION void handler(int number) { (void)number; busy(); }
FUNCTION void leaver(int number) { (void)number; siglongjmp(out, 1); }
FUNCTION void *thread(void *unused) { busy(); return unused; }
FUNCTION void child(void) { busy(); execl("/proc/self/exe", "again", "again", (char *)0); }
FUNCTION void again(void) { busy(); }
FUNCTION void after(void) { busy(); }
FUNCTION void touch(char *p) { for (int i = 0; i < 64; i++) p[i * 4096] = 1; }
FUNCTION void parent(void)
{
    pthread_t id;
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    after();
    signal(SIGUSR2, leaver);
    if (!sigsetjmp(out, 1))
        raise(SIGUSR2);
    after();
    pthread_create(&id, 0, thread, 0);
    pthread_join(id, 0);
    touch(mmap(0, 64 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (!fork())
        child();
    wait(0);
    after();
}
int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        again();
    else
        parent();
    return 0;
}
"""


@pytest.mark.parametrize("cpus", [pytest.param("1", marks=pytest.mark.nightly), "2"])
def test_callers_survive_signals_threads_and_processes(
    old_kernel: Path, new_kernel: Path, tmp_path: Path, cpus: str, compile_c: Callable[..., Path]
) -> None:
    program = compile_c("hectic", _HECTIC, "-O1", "-g", "-static", "-pthread")
    session = tmp_path / "s.profdiff"
    kernels = ["--kernel", f"a={new_kernel}", "--kernel", f"b={old_kernel}"]
    profdiff("record", *RESTORED, *kernels, "--cpus", cpus, "-o", session, "--", program)
    (comparison,) = Recordings(Session.open(session)).comparisons()
    assert comparison.remarks == []
    calls = _calls(comparison)
    # after() is called by parent(), which main() called, also behind signals.
    assert calls["parent", "after"] == 3
    assert calls["main", "parent"] == calls["parent", "touch"] == 1
    for function in ("handler", "thread", "child", "again", "after"):
        assert calls[function, "busy"] == (3 if function == "after" else 1), function
    # A program that was replaced is no caller of the one that came instead.
    assert calls["child", "main"] == 0
    assert calls["main", "again"] == 1
    # Page faults are below what touched the page.
    assert calls["touch", "asm_exc_page_fault"] >= 64


def _calls(comparison: Comparison) -> Counter[tuple[str, str]]:
    """Calls of each function from each other, in the first kernel."""
    stacks = comparison.stacks
    names = [function.name for function in [*comparison.functions, *comparison.unnamed]]
    calls: Counter[tuple[str, str]] = Counter()
    assert comparison.calls is not None
    for row in np.flatnonzero(comparison.calls[:, 0]):
        above = stacks.parent[row]
        caller = names[stacks.function[above]] if above >= 0 else ""
        calls[caller, names[stacks.function[row]]] += int(comparison.calls[row, 0])
    return calls


def test_the_tree_changes_no_count(
    qemu: Qemu, new_kernel: Path, one_guest: Counts, tmp_path: Path
) -> None:
    command = [str(EXAMPLE), "400", "50"]
    image = new_kernel / "bzImage"
    (flat,) = run_guests(qemu, image, command, tmp_path / "flat", count=1, calls=False)
    assert flat.counts
    assert flat.counts.calls is None
    assert one_guest.calls
    there = one_guest.count > 0
    for column in ("address", "count", "code"):
        assert (getattr(one_guest, column)[there] == getattr(flat.counts, column)).all()


def test_a_tree_that_does_not_add_up_is_told(recorded: Path, tmp_path: Path) -> None:
    session = Session.open(recorded)
    run = session.finished("base", "exact")[0]
    counts = Counts.load(session.path(run.files["counts"]))
    assert isinstance(counts.calls, CallTree)
    assert counts.calls.unequal(counts.count) == 0
    wrong = counts.count.copy()
    wrong[:3] += 1
    assert counts.calls.unequal(wrong) == 3


def test_without_a_call_tree(old_kernel: Path, new_kernel: Path, at_a_terminal: Path) -> None:
    session = at_a_terminal / ODD
    said = " ".join(profdiff("report", session).stdout.split())
    assert "recorded without callers (--no-call-tree)" in said
    assert "calls v6.12.107" not in said
    command = ["record", *RESTORED, "-o", session, "--kernel", old_kernel]
    command += ["--kernel", new_kernel, "--kernel", f"again={old_kernel}"]
    refused = profdiff(*command, "--", EXAMPLE, "400", "20", status=2)
    assert "--no-call-tree" in refused.stderr
