"""Locks that are held: what executes meanwhile, and which functions take and release them."""

import json
from pathlib import Path

import made_sharing as made
import pytest
from made_accesses import LOAD, STORE, Layout, Site
from made_sharing import OPS, Hold, MadeLine, On
from support import profdiff
from tables import rows, tables

from profdiff.collectors.guest.qemu import Qemu
from profdiff.profile.sharing.locks import releases, taken_by

BOTH = frozenset({LOAD, STORE})
HEAP = 0xFFFF_8880_0100_0000
LAYOUTS: dict[str, Layout] = {"mm_struct": (128, {"mmap_lock.count": (8, 8), "total_vm": (16, 8)})}


def site(function: str, inlined: str = "", *, header: bool = False) -> Site:
    """An instruction that accesses the count of a lock."""
    return Site(
        *("mmap_lock.count", 1, function, inlined, BOTH),
        type="mm_struct",
        offset=8,
        file="include/linux/x.h" if header else "mm/x.c",
        nested=["rw_semaphore:count"],
    )


WRITES, READS, WRITTEN, READ = map(
    site, ("down_write_killable", "down_read", "up_write", "up_read")
)
MAPS = site("do_mmap")


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("_raw_spin_lock", "exclusive"),
        ("__raw_spin_lock_irqsave", "exclusive"),
        ("_raw_spin_trylock_bh", "exclusive"),
        ("queued_spin_lock", "exclusive"),
        ("_raw_write_lock_irq", "exclusive"),
        ("_raw_read_lock", "shared"),
        ("mutex_lock_interruptible", "exclusive"),
        ("__mutex_lock.constprop", None),
        ("mutex_trylock", "exclusive"),
        ("down_write_killable", "exclusive"),
        ("rwsem_down_read_slowpath", "shared"),
        ("down_read_trylock", "shared"),
        ("downgrade_write", "shared"),
        ("hlist_bl_lock", "exclusive"),
        ("rcu_read_lock", None),
        ("lock_sock", None),
        ("fget", None),
        ("_raw_spin_unlock", None),
    ],
)
def test_functions_that_take_locks_are_known_by_name(name: str, mode: str | None) -> None:
    assert taken_by(name) == mode
    assert mode is None or not releases(name) or name == "downgrade_write"


@pytest.mark.parametrize(
    "name",
    [
        *("_raw_spin_unlock", "_raw_spin_unlock_irqrestore", "queued_spin_unlock"),
        *("__raw_callee_save___native_queued_spin_unlock", "mutex_unlock", "up_read", "up_write"),
        *("downgrade_write", "_raw_read_unlock", "__bit_spin_unlock"),
    ],
)
def test_functions_that_release_locks_are_known_by_name(name: str) -> None:
    assert releases(name)


def lock(*holds: Hold) -> list[MadeLine]:
    """A lock that both vCPUs take, and who holds it."""
    on = [On(one, vcpu, 8, store=True, locked=True) for vcpu in (0, 1) for one in (WRITES, READS)]
    return [MadeLine(HEAP, on, holds=holds)]


def test_what_is_held_is_by_lock_and_by_the_function_that_takes_it(tmp_path: Path) -> None:
    holds = [
        Hold(WRITES, WRITTEN, MAPS, 8, instructions=30 * OPS),
        Hold(READS, READ, None, 8, instructions=20 * OPS),
        # What follows a release holds nothing, nor does what takes no lock.
        Hold(WRITTEN, WRITES, MAPS, 8, instructions=40 * OPS),
        Hold(MAPS, WRITTEN, MAPS, 8, instructions=50 * OPS),
    ]
    kernels = {"base": [lock(*holds)], "new": [lock(holds[0]._replace(instructions=60 * OPS))]}
    made.session(tmp_path / "held.profdiff", kernels, LAYOUTS, instructions=100 * OPS)
    said = profdiff("report", tmp_path / "held.profdiff", "--sharing", "--json", "-").stdout
    every = {one["name"]: one for one in tables(json.loads(said), "sharing")}
    recorded = rows(every["sharing-kernels"])
    assert [one["instructions"] for one in recorded] == [100 * OPS] * 2
    held = [
        (one["lock"], one["function"], one["held"], one["times"], one["instructions"])
        for one in rows(every["sharing-locks"])
    ]
    assert held == [
        (
            *("mm_struct.mmap_lock", "do_mmap", "alone"),
            *({"base": OPS, "new": OPS}, {"base": 30 * OPS, "new": 60 * OPS}),
        ),
        (
            *("mm_struct.mmap_lock", "?", "with others"),
            *({"base": OPS, "new": 0}, {"base": 20 * OPS, "new": 0}),
        ),
    ]
    text = profdiff("report", tmp_path / "held.profdiff", "--sharing", "--width", "130").stdout
    shown = [line.split() for line in text.splitlines() if "mm_struct.mmap_lock" in line]
    held_rows = [row for row in shown if "30.00" in row or "20.00" in row]
    assert held_rows == [
        ["30.00", "60.00", "+30.00", "30%", "60%", "alone", "mm_struct.mmap_lock", "do_mmap"],
        ["20.00", "0.00", "-20.00", "20%", "0%", "with", "others", "mm_struct.mmap_lock", "?"],
    ]
    assert (
        "`mm_struct.mmap_lock` is held alone for 30% of the kernel's instructions on base, for 60% "
        "on new: at most 1.7 vCPUs can be in the kernel for this at a time on new, however cheap "
        "waiting is."
    ) in text.replace("\n", " ")
    mail = profdiff("mail", tmp_path / "held.profdiff", "--sharing").stdout
    assert "at most 1.7 vCPUs can be in the kernel" in mail.replace("\n", " ")


def test_a_lock_that_is_inlined_belongs_to_the_function_that_it_is_in(tmp_path: Path) -> None:
    taken = site("queued_spin_lock", "work", header=True)
    released = site("queued_spin_unlock", "work", header=True)
    on = [On(taken, vcpu, 8, store=True, locked=True) for vcpu in (0, 1)]
    line = MadeLine(HEAP, on, holds=[Hold(taken, released, MAPS, 8)])
    table = made.table({"base": [line]}, tmp_path, LAYOUTS)
    ((found, counts),) = table.held().items()
    assert table.functions.functions[found.function].name == "work"
    assert counts == [(OPS, 10 * OPS)]


def test_locks_of_recycled_lines_are_not_told(tmp_path: Path) -> None:
    (line,) = lock(Hold(WRITES, WRITTEN, MAPS, 8))
    table = made.table({"base": [line._replace(transfers=OPS // 5)]}, tmp_path, LAYOUTS)
    assert not table.held()


MAPS_AND_UNMAPS = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "profdiff.h"
static pthread_barrier_t barrier;
static long ops;
static void work(long count)
{
    for (long i = 0; i < count; i++) {
        mmap((void *)0x10000000, 4096, PROT_READ, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        PROFDIFF_OP();
    }
}
static void *side(void *argument)
{
    long me = (long)argument;
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(me, &cpus);
    sched_setaffinity(0, sizeof cpus, &cpus);
    work(50);
    pthread_barrier_wait(&barrier);
    if (!me)
        PROFDIFF_START();
    pthread_barrier_wait(&barrier);
    work(ops);
    pthread_barrier_wait(&barrier);
    if (!me)
        PROFDIFF_STOP();
    return 0;
}
int main(int argc, char **argv)
{
    pthread_t other;
    ops = atol(argv[1]);
    pthread_barrier_init(&barrier, 0, 2);
    pthread_create(&other, 0, side, (void *)1L);
    side(0);
    pthread_join(other, 0);
    return 0;
}
"""


@pytest.mark.guest
def test_what_is_held_is_what_exact_counts_have_below_the_function(
    old_kernel: Path, newest_kernel: Path, qemu: Qemu, tmp_path: Path
) -> None:
    """vm_mmap_pgoff() calls do_mmap() with mmap_lock held, and nothing else that is large: exact
    counts of another recording, with its call tree, are the oracle."""
    assert qemu
    source = tmp_path / "maps.c"
    source.write_text(MAPS_AND_UNMAPS)
    session = tmp_path / "s.profdiff"
    kernels = ["--kernel", f"old={old_kernel}", "--kernel", f"new={newest_kernel}"]
    options = ["--collector", "exact,sharing", "--cpus", "2", "--no-observe"]
    options += ["--ops", "2000", *kernels]
    profdiff("record", *options, "-o", session, "--", source, 1000)
    profdiff("report", session, "--sharing", "--json", tmp_path / "sharing.json")
    profdiff("report", session, "--json", tmp_path / "exact.json")
    document = json.loads((tmp_path / "sharing.json").read_text())
    every = {one["name"]: one for one in tables(document, "sharing")}
    locked = [
        one
        for one in rows(every["sharing-locks"])
        if one["lock"] == "mm_struct.mmap_lock" and one["held"] == "alone"
    ]
    (held,) = (one for one in locked if one["function"] == "vm_mmap_pgoff")
    exact = json.loads((tmp_path / "exact.json").read_text())
    functions = exact["metrics"][0]["functions"]
    (maps,) = (one for one in functions if one["name"] == "do_mmap")
    for label in ("old", "new"):
        # A side that waited takes the lock in another function.
        taken = sum(one["times"][label] for one in locked)
        assert taken == pytest.approx(2000, abs=3)
        inclusive = maps["total"][label] / 2000
        # A tick while the lock is held is 9 of each.
        # From the locked instruction to the call, and from its return to the release: some 45.
        each = held["instructions"][label] / held["times"][label]
        assert each == pytest.approx(inclusive + 45, abs=20)
