"""Two threads on two vCPUs call the same function along different paths, as often as is known: on
each QEMU, the call tree has them apart."""

import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from qemus import NIGHTLY, QEMU_10, QEMU_11, another_qemu
from support import need_program, run_guests

from profdiff.collectors.architecture import X86_64
from profdiff.collectors.exact.counts import Counts
from profdiff.collectors.guest.qemu import Qemu

pytestmark = [pytest.mark.guest, pytest.mark.network]

CALLS = {"one": 20_000, "two": 15_000}
LOOPS = 1000
SOURCE = rf"""
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include "profdiff.h"
void one(long calls), two(long calls);
__asm__(".text\nleaf: mov ${LOOPS},%ecx\ndown: dec %ecx\nagain: jnz down\nret\n"
        "one: call middle_one\ndec %rdi\njnz one\nret\n"
        "two: call middle_two\ndec %rdi\njnz two\nret\n"
        "middle_one: call leaf\nret\nmiddle_two: call leaf\nret\n");
static pthread_barrier_t both;
static void pin(int cpu)
{{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    pthread_barrier_wait(&both);
}}
static void *first(void *none) {{ pin(0); one({CALLS["one"]}); return none; }}
static void *second(void *none) {{ pin(1); two({CALLS["two"]}); return none; }}
int main(void)
{{
    pthread_t threads[2];
    pthread_barrier_init(&both, 0, 2);
    PROFDIFF_START();
    pthread_create(&threads[0], 0, first, 0);
    pthread_create(&threads[1], 0, second, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    PROFDIFF_STOP();
    return 0;
}}
"""


@pytest.mark.parametrize("suite", ["installed", QEMU_10, pytest.param(QEMU_11, marks=NIGHTLY)])
def test_paths_of_two_vcpus_are_apart(
    qemu: Qemu, new_kernel: Path, tmp_path: Path, compile_c: Callable[..., Path], suite: str
) -> None:
    need_program("nm", "binutils")
    this = qemu if suite == "installed" else another_qemu(suite, X86_64)
    program = compile_c("threads", SOURCE, "-static", "-pthread")
    image, guests = new_kernel / "bzImage", tmp_path / "guests"
    (run,) = run_guests(this, image, [str(program)], guests, count=1, cpus=2)
    assert run.failure is None
    counts = run.counts
    assert counts
    calls = counts.calls
    assert calls
    assert counts.taken is not None
    assert counts.untold is not None
    assert calls.unequal(counts.count) == 0
    told = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
    at = {name: int(address, 16) for address, _, name in map(str.split, told.splitlines())}
    row = {int(address): number for number, address in enumerate(counts.address)}
    total = sum(CALLS.values())
    assert counts.count[row[at["down"]]] == total * LOOPS
    assert counts.taken[row[at["again"]]] == total * (LOOPS - 1)
    assert counts.untold[row[at["again"]]] == 0

    names = {row[at[name]]: name for name in ("leaf", "one", "two", "middle_one", "middle_two")}
    paths = paths_of(counts, names)
    ran: Counter[tuple[str, ...]] = Counter()
    for node, place, count in zip(calls.node, calls.place, calls.count, strict=True):
        if place == row[at["down"]]:
            ran[paths[node]] += count
    entered: Counter[tuple[str, ...]] = Counter()
    for node, number in enumerate(calls.calls):
        if calls.target[node] >= 0 and names.get(calls.target[node]) == "leaf":
            entered[paths[node]] += number
    expected = {(name, f"middle_{name}", "leaf"): number for name, number in CALLS.items()}
    assert entered == expected
    assert ran == {path: number * LOOPS for path, number in expected.items()}


def paths_of(counts: Counts, names: dict[int, str]) -> list[tuple[str, ...]]:
    """The functions of ``names`` (by the row of their first instruction) on each node's path."""
    assert counts.calls
    paths: list[tuple[str, ...]] = []
    for parent, target in zip(counts.calls.parent, counts.calls.target, strict=True):
        above = paths[parent] if parent >= 0 else ()
        paths.append((*above, names[target]) if target in names else above)
    return paths
