"""vCPUs that take turns at random places, on a real guest: they wait for locks."""

import gzip
import re
from pathlib import Path

import pytest
from restored import GUEST, Restorer

from profdiff.collectors.exact.counts import Counts
from profdiff.collectors.guest.qemu import Qemu

pytestmark = pytest.mark.guest

PROGRAM = Path(__file__).parent.parent / "sharing/known.c"


def run(restorer: Restorer, repetition: int) -> tuple[bytes, Path]:
    """The counts file of a repetition of two threads that read one directory, and its folder."""
    result, folder = restorer.run([PROGRAM, "entries-same", "2000"], repetition=repetition)
    assert result.failure is None
    return (folder / "counts.bin").read_bytes(), folder


def executed(folder: Path, function: str) -> int:
    """How many instructions of a function of the kernel executed."""
    counts = Counts.load(folder / "counts.bin")
    symbols = gzip.decompress((folder / "kallsyms.gz").read_bytes()).decode()
    found = re.search(rf"^([0-9a-f]+) . {function}\n([0-9a-f]+) ", symbols, re.MULTILINE)
    assert found
    start, end = (int(one, 16) for one in found.groups())
    inside = (counts.address >= start) & (counts.address < end)
    return int(counts.count[inside].sum())


def test_locks_are_waited_for_in_a_way_that_repeats(
    newest_kernel: Path, qemu: Qemu, tmp_path: Path
) -> None:
    image, slow = newest_kernel / "bzImage", "queued_spin_lock_slowpath"
    contended = Restorer(qemu, image, tmp_path / "model", GUEST, 2, collector="contention")
    alone = Restorer(qemu, image, tmp_path / "exact", GUEST, 2, calls=False)
    _, without = run(alone, 1)
    first, folder = run(contended, 1)
    again, _ = run(contended, 1)
    other, _ = run(contended, 2)
    # Without the model, too, a turn can end while a vCPU holds a lock.
    assert executed(without, slow) < 50
    assert executed(folder, slow) > 1000
    assert first == again
    assert first != other
