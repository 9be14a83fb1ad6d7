"""The exact collector on real guests: reproducible, and equal to what valgrind counts."""

import re
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from qemus import NIGHTLY
from support import EXAMPLE, need_program, run_guests

from profdiff.collectors.exact.counts import Counts
from profdiff.collectors.guest.qemu import Qemu
from profdiff.session.session import Session

pytestmark = pytest.mark.guest

COMMAND = [str(EXAMPLE), "400", "50"]


@pytest.mark.parametrize(
    ("kernel", "cpus"),
    [("old_kernel", 1), ("new_kernel", 1), pytest.param("old_kernel", 2, marks=NIGHTLY)],
)
def test_two_recordings_are_identical(
    qemu: Qemu, kernel: str, cpus: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    # The other kernel with two vCPUs: test_three_recordings.py.
    if cpus == 1:
        # The main job was made twice on each kernel.
        session = Session.open(request.getfixturevalue("recorded"))
        runs = session.finished({"old_kernel": "base", "new_kernel": "new"}[kernel], "exact")
        files = [session.path(run.files["counts"]) for run in runs]
    else:
        image = request.getfixturevalue(kernel) / "bzImage"
        for result in run_guests(qemu, image, COMMAND, tmp_path, cpus=cpus, restored=False):
            assert result.failure is None
        files = [tmp_path / name / "counts.bin" for name in ("0", "1")]
    for file in files:
        counts = Counts.load(file)
        assert counts.kind == "marks"
        assert counts.count.sum() > 500_000
        assert counts.calls
        assert counts.calls.unequal(counts.count) == 0
    first, second = (file.read_bytes() for file in files)
    assert first == second


# Three functions of known shape: arithmetic, recursion, and first writes to fresh pages.
_PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include "profdiff.h"

#define PAGES 64
__attribute__((noinline)) unsigned long mix(unsigned long x)
{
    for (int i = 0; i < 10000; i++)
        x = x * 6364136223846793005ul + (x >> 7);
    return x;
}
__attribute__((noinline)) unsigned fib(unsigned n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__attribute__((noinline)) void touch(char *p)
{
    for (int i = 0; i < PAGES * 4096; i += 1024)
        p[i] += 1;
}
__attribute__((noinline)) void fill(char *p)
{
    unsigned long n = 1000;
    __asm__ volatile("rep stosb" : "+D"(p), "+c"(n) : "a"(0) : "memory");
}
static long faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}
int main(void)
{
    char *p = mmap(0, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    static char buffer[1000];
    madvise(p, PAGES * 4096, MADV_NOHUGEPAGE);
    long before = faults();
    volatile unsigned long sink = 0;
    PROFDIFF_START();
    sink += mix(2) + fib(18);
    fill(buffer);
    touch(p);
    PROFDIFF_STOP();
    printf("%ld\\n", faults() - before);
    return 0;
}
"""


def test_user_counts_equal_callgrinds(
    qemu: Qemu, new_kernel: Path, tmp_path: Path, compile_c: Callable[..., Path]
) -> None:
    """Per function, but for what restarts: an instruction that faults starts once more. Like QEMU,
    callgrind counts each iteration of a repeated string instruction."""
    need_program("valgrind")
    need_program("nm", "binutils")
    program = compile_c("known", _PROGRAM, "-static", "-no-pie")
    result = run_guests(qemu, new_kernel / "bzImage", [str(program)], tmp_path, count=1)[0]
    assert result.failure is None
    assert result.counts
    each_iteration = result.counts.each_iteration
    assert each_iteration is not None
    faults = int((tmp_path / "0/stdout").read_text())
    assert faults > 0

    expected = _callgrind(program, tmp_path / "callgrind.out")
    for function, (start, size) in symbols(program).items():
        if function not in ("mix", "fib", "touch", "fill"):
            continue
        inside = (result.counts.address >= start) & (result.counts.address < start + size)
        counted = int(each_iteration[inside].sum())
        iterations = 1000 if function == "fill" else 0
        assert result.counts.count[inside].sum() == counted - iterations, function
        restarted = faults if function == "touch" else 0
        assert counted - restarted == expected.pop(function), function
    assert not {"mix", "fib", "touch", "fill"} & set(expected)


def symbols(program: Path) -> dict[str, tuple[int, int]]:
    """Address and size of each function."""
    listing = subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True)
    rows = (line.split() for line in listing.stdout.splitlines())
    return {row[3]: (int(row[0], 16), int(row[1], 16)) for row in rows if len(row) == 4}


def _callgrind(program: Path, out: Path) -> dict[str, int]:
    """Instructions of each function itself, under valgrind."""
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", program]
    subprocess.run(command, check=True, capture_output=True)
    table = subprocess.run(
        ["callgrind_annotate", "--threshold=100", out], capture_output=True, text=True, check=True
    ).stdout
    # A recursive function has a row for each level of its cycle: fib, fib'2.
    rows = re.findall(r"^\s*([\d,]+) \([\d. %]+\)\s+\S+:(\w+)", table, re.MULTILINE)
    counts: Counter[str] = Counter()
    for count, name in rows:
        counts[name] += int(count.replace(",", ""))
    return dict(counts)


def test_the_counts_file_is_read_as_columns(whole_command: Path) -> None:
    """Bytes are part of a place in user space only, and known of all; places are sorted and counted
    once."""
    session = Session.open(whole_command)
    (run,) = session.finished("b", "exact")
    counts = Counts.load(session.path(run.files["counts"]))
    assert (counts.kind, counts.opened, counts.closed) == ("command", 1, 1)
    kernel = counts.in_kernel
    assert kernel.any()
    assert not counts.code[kernel].any()
    assert (counts.executed[:, 0] > 0).all()
    assert (counts.code[~kernel] == counts.executed[~kernel]).all()
    assert (np.diff(counts.address.astype(object)) >= 0).all()
    assert counts.calls
    named = np.union1d(counts.calls.site, counts.calls.target)
    # What did not execute in the window is there because a call that was under way names it.
    assert np.isin(np.flatnonzero(counts.count == 0), named).all()
