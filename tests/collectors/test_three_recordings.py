"""Three recordings of one workload are the same, bit for bit, on each architecture."""

from pathlib import Path

import extent
import pytest
from qemus import NIGHTLY
from support import EXAMPLE, run_guests

from profdiff.collectors.exact.counts import Counts
from profdiff.collectors.guest.qemu import Qemu
from profdiff.collectors.kernels.files import KernelFiles

pytestmark = pytest.mark.guest

COMMAND = [str(EXAMPLE), "400", "20"]


def _check(qemu: Qemu, image: Path | None, cpus: int, folder: Path, *, restored: bool) -> None:
    assert image
    # A boot takes ten times as long as a restored machine.
    count = 3 if restored or extent.is_nightly() else 2
    results = run_guests(qemu, image, COMMAND, folder, count=count, cpus=cpus, restored=restored)
    assert [run.failure for run in results] == [None] * count
    first, *others = ((folder / str(number) / "counts.bin").read_bytes() for number in range(count))
    assert others == [first] * (count - 1)
    counts = Counts.load(folder / "0/counts.bin")
    assert (counts.kind, counts.opened, counts.closed) == ("marks", 1, 1)
    # 20 calls change 100 PTEs each.
    assert int(counts.count[counts.in_kernel].sum()) > 20 * 100 * 50
    assert counts.calls
    assert counts.calls.unequal(counts.count) == 0


@pytest.mark.parametrize("restored", [True, pytest.param(False, marks=NIGHTLY)])
def test_on_x86_64(qemu: Qemu, new_kernel: Path, restored: bool, tmp_path: Path) -> None:
    """With two vCPUs; what one does, test_exact.py compares."""
    _check(qemu, new_kernel / "bzImage", 2, tmp_path, restored=restored)


@pytest.mark.network
@pytest.mark.parametrize("cpus", [1, pytest.param(2, marks=NIGHTLY)])
def test_on_arm64(arm64_qemu: Qemu, arm64_kernel: KernelFiles, cpus: int, tmp_path: Path) -> None:
    """Restored with one vCPU, booted with two."""
    _check(arm64_qemu, arm64_kernel.image, cpus, tmp_path, restored=cpus == 1)
