"""What the workload itself executed, and what ran beside it, told apart by the call tree."""

import gzip
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest
from counts_bytes import counts_bytes
from restored import Restorer

from profdiff.base.errors import SessionError
from profdiff.collectors.exact.context import Entries, own_context
from profdiff.collectors.exact.counts import Counts
from profdiff.collectors.guest.qemu import Qemu

NONE = 0xFFFF_FFFF
K = 0xFFFF_FFFF_8100_0000
USER, SYSCALL, LOCK, TICK, EXIT, THREAD, WORK, FORK, OTHER = range(9)
# A place each; the last two are what tasks without callers execute: a new one, and one that slept.
ADDRESSES = [0x40_1000, K + 0x100, K + 0x200, K + 0x1000, K + 0x3000, K + 0x4000, K + 0x5000]
ADDRESSES += [K + 0x6004, K + 0x7000]
SYMBOLS = {
    "do_syscall_64": 0x100,
    "_raw_spin_lock": 0x200,
    "__irqentry_text_start": 0x1000,
    "asm_sysvec_apic_timer_interrupt": 0x1000,
    "asm_sysvec_reschedule_ipi": 0x1100,
    "error_return": 0x3000,
    "kthread": 0x4000,
    "worker_thread": 0x5000,
    "ret_from_fork_asm": 0x6000,
    "rcu_gp_kthread": 0x7000,
    "vectors": 0x8000,
    "el1h_64_sync": 0x8800,
    "last": 0x9000,
}


def kallsyms(symbols: dict[str, int]) -> bytes:
    lines = [f"{K + at:016x} T {name}\n" for name, at in symbols.items()]
    # A module's symbol of such a name is no entry.
    lines.append(f"{K + 0x10_0000:016x} t kthread\t[evil]\n")
    return gzip.compress("".join(lines).encode())


ENTRIES = Entries.of_kallsyms(kallsyms(SYMBOLS))
# Node: parent, site, target, refused, calls.
NODES = [
    (NONE, NONE, NONE, 0, 0),
    (0, USER, SYSCALL, 0, 7),
    (1, SYSCALL, TICK, 0, 2),  # interrupts the system call
    (2, TICK, LOCK, 0, 2),  # takes a lock that the system call takes too
    (1, SYSCALL, LOCK, 0, 7),
    (0, FORK, THREAD, 0, 1),  # a thread of the kernel, begun in the window
    (5, THREAD, WORK, 0, 1),
    (0, OTHER, LOCK, 0, 3),  # one that slept when its machine was saved
    (0, USER, TICK, 0, 1),  # interrupts the program
]
# Node, place, count: what leaves an interrupt runs in its node.
ROWS = [
    (0, USER, 100),
    (0, FORK, 4),
    (0, OTHER, 30),
    (1, SYSCALL, 70),
    (2, TICK, 2),
    (2, EXIT, 22),
    (3, LOCK, 10),
    (4, LOCK, 35),
    (5, THREAD, 1),
    (6, WORK, 50),
    (7, LOCK, 15),
    (8, TICK, 1),
]
OWN = {USER: 100, FORK: 4, SYSCALL: 70, LOCK: 35}


def counts(folder: Path, branches: list[tuple[int, int, int]] | None = None) -> Counts:
    flat = np.zeros(len(ADDRESSES), int)
    for _, place, count in ROWS:
        flat[place] += count
    records = [
        (address, int(count), b"\x90") for address, count in zip(ADDRESSES, flat, strict=True)
    ]
    folder.mkdir(exist_ok=True)
    path = folder / "counts.bin"
    path.write_bytes(counts_bytes(records, NODES, ROWS, [(LOCK, 120)], branches or []))
    return Counts.load(path)


def test_what_ran_beside_stands_apart(tmp_path: Path) -> None:
    flat = counts(tmp_path)
    found = own_context(flat, ENTRIES)
    assert found
    own, beside = found
    by_place = {ADDRESSES.index(a): n for a, n in zip(own.address, own.count, strict=True)}
    assert by_place == OWN
    assert beside == flat.count.sum() - own.count.sum() == 131
    assert own.calls
    assert own.calls.unequal(own.count) == 0
    assert own.calls.calls.tolist() == [0, 7, 7]
    assert own.calls.parent.tolist() == [-1, 0, 1]
    # 60 executions of the lock's string instruction, of which 35 are own, started 120 times.
    assert (own.each_iteration - own.count).sum() == 35


def test_of_a_boot_all_is_own_but_interrupts_and_idling(tmp_path: Path) -> None:
    flat = msgspec.structs.replace(counts(tmp_path), kind="boot")
    found = own_context(flat, ENTRIES)
    assert found
    own, beside = found
    by_place = {ADDRESSES.index(a): n for a, n in zip(own.address, own.count, strict=True)}
    assert by_place == {**OWN, OTHER: 30, LOCK: 50, THREAD: 1, WORK: 50}
    assert beside == 2 + 22 + 10 + 1
    idle = Entries.of([("do_idle", K + 0x5000, K + 0x5100)])
    left = own_context(flat, idle)
    assert left
    assert left[1] == 50


def test_interrupts_are_counted_by_their_entries(tmp_path: Path) -> None:
    flat = counts(tmp_path)
    assert ENTRIES.interrupts(flat.address, flat.count) == 3
    found = Entries.of(
        [
            ("irq_entries_start", K, K + 0x800),
            ("asm_common_interrupt", K + 0x1000, K + 0x1040),
            ("vectors", K + 0x8000, K + 0x8800),
            ("kthread", K + 0x9000, K + 0x9100),
        ]
    )
    # A stub and what it leads to; of vectors the synchronous one (0), IRQ and FIQ, and SError.
    at = [0x8, 0x1000, 0x1004, 0x8000, 0x8080, 0x8084, 0x8100, 0x8180, 0x8280, 0x9000]
    executed = np.array([1, 1, 1, 10, 100, 100, 1_000, 10_000, 100_000, 1_000_000])
    assert found.interrupts(np.array([K + one for one in at], np.uint64), executed) == 101_101


@pytest.mark.parametrize(
    ("taken", "passed", "own"),
    [(60, 0, (35, 0)), (0, 60, (0, 0)), (50, 10, (25, 10)), (30, 30, (5, 25)), (10, 40, (0, 20))],
)
def test_a_branch_that_also_ran_beside_has_what_is_certain(
    tmp_path: Path, taken: int, passed: int, own: tuple[int, int]
) -> None:
    found = own_context(counts(tmp_path, [(LOCK, taken, passed)]), ENTRIES)
    assert found
    known, _ = found
    assert known.taken is not None
    assert known.untold is not None
    row = known.address.tolist().index(ADDRESSES[LOCK])
    assert (known.taken[row], known.untold[row]) == own
    assert known.taken.sum() + known.untold.sum() == sum(own)


def test_where_interrupts_enter_an_arm64_kernel() -> None:
    vectors = K + 0x8000
    interrupts = {0x80, 0x100, 0x280, 0x300, 0x480, 0x500, 0x680, 0x700}
    at = np.array([vectors + entry for entry in range(0, 0x800, 4)], np.uint64)
    found = at[ENTRIES.begins_beside(at)]
    assert set((found - np.uint64(vectors)).tolist()) == interrupts


def test_without_entries_or_callers_nothing_is_told(tmp_path: Path) -> None:
    flat = counts(tmp_path)
    assert own_context(flat, Entries.of_kallsyms(b"")) is None
    hidden = Entries.of_kallsyms(gzip.compress(b"0000000000000000 T kthread\n" * 2))
    assert own_context(flat, hidden) is None
    plain = tmp_path / "plain.bin"
    plain.write_bytes(counts_bytes([(ADDRESSES[0], 3, b"\x90")]))
    assert own_context(Counts.load(plain), ENTRIES) is None


def test_entries_are_kept_with_the_run(tmp_path: Path) -> None:
    path = tmp_path / "entries"
    ENTRIES.save(path)
    again = Entries.load(path)
    assert again.names == ENTRIES.names
    assert again.start.tolist() == ENTRIES.start.tolist()
    assert again.end.tolist() == ENTRIES.end.tolist()
    path.write_text("ffffffff81004000 kthread\n")
    with pytest.raises(SessionError, match="damaged"):
        Entries.load(path)


# The same work at another phase of the timer tick: what runs before the window is longer.
PHASES = r"""
#include <stdlib.h>
#include <sys/mman.h>
#include "profdiff.h"
int main(int argc, char **argv)
{
	size_t size = 400 << 10;
	char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	for (volatile long n = argc > 1 ? atol(argv[1]) : 0; n > 0; n--)
		;
	PROFDIFF_START();
	for (int n = 0; n < 100; n++) {
		mprotect(pages, size, PROT_READ);
		mprotect(pages, size, PROT_READ | PROT_WRITE);
	}
	PROFDIFF_STOP();
	return 0;
}
"""


@pytest.mark.guest
@pytest.mark.parametrize("cpus", [1, 2])
def test_the_phase_of_the_tick_hardly_matters(
    qemu: Qemu, new_kernel: Path, compile_c: Callable[..., Path], tmp_path: Path, cpus: int
) -> None:
    """And own counts and those beside sum to all at each address."""
    program = compile_c("phases", PHASES, "-static")
    restorer = Restorer(qemu, new_kernel / "bzImage", tmp_path / "runs", cpus=cpus)
    every, own_counts = [], []
    for spin in (0, 200_000, 400_000, 600_000):
        result, folder = restorer.run([program, str(spin)])
        assert result.failure is None
        assert result.instructions
        flat = Counts.load(folder / "counts.bin")
        found = own_context(flat, Entries.load(folder / result.files["entries"]))
        assert found
        own, beside = found
        told = result.instructions
        assert (told.kernel + told.user, told.beside) == (own.count.sum(), beside)
        assert own.count.sum() + beside == flat.count.sum()
        rows = {
            (address, code.tobytes()): count
            for address, code, count in zip(flat.address, flat.code, flat.count, strict=True)
        }
        for address, code, count in zip(own.address, own.code, own.count, strict=True):
            assert count <= rows[address, code.tobytes()]
        every.append(int(flat.count.sum()))
        own_counts.append(int(own.count.sum()))
    spread = max(own_counts) - min(own_counts)
    assert max(every) > min(own_counts)
    assert spread < 0.005 * min(own_counts)
    if cpus == 1:
        assert spread < max(every) - min(every)
