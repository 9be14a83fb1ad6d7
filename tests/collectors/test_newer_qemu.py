"""The plugin's other build, on Debian's QEMU 10, unpacked beside the installed one."""

import subprocess
from pathlib import Path

import pytest
from support import EXAMPLE, run_guests

from profdiff.base.cache import cache_folder
from profdiff.base.errors import ProfdiffError
from profdiff.collectors.architecture import ARCHITECTURES
from profdiff.collectors.exact.entry import Exact
from profdiff.collectors.guest.qemu import Qemu
from profdiff.collectors.kernels.apt import Apt

pytestmark = [pytest.mark.guest, pytest.mark.network]

PACKAGES = ("qemu-system-x86", "qemu-system-data", "seabios")
COMMAND = [str(EXAMPLE), "400", "50"]


@pytest.fixture(scope="session")
def newer_qemu(qemu: Qemu) -> Qemu:
    """QEMU 10 from bookworm-backports, kept in the cache."""
    root = cache_folder("qemu-bookworm-backports")
    program = root / "usr/bin/qemu-system-x86_64"
    if not program.exists():
        try:
            apt = Apt(("bookworm-backports",))
            packages = [package for name in PACKAGES for package in apt.packages(name)]
            files = apt.download("QEMU 10", packages, root)
        except ProfdiffError as error:
            pytest.skip(f"QEMU 10 from bookworm-backports cannot be fetched: {error}")
        for file in files:
            subprocess.run(["dpkg-deb", "-x", file, root], check=True)
            file.unlink()
    if subprocess.run([program, "--version"], check=False, capture_output=True).returncode:
        pytest.skip("QEMU 10 from bookworm-backports needs libraries of Debian 12")
    return Exact().emulator(ARCHITECTURES[0], program)


def test_each_qemu_gets_its_build(qemu: Qemu, newer_qemu: Qemu) -> None:
    assert qemu.version.split()[3] != newer_qemu.version.split()[3]
    assert newer_qemu.plugin_api == 2
    if " 7.2" in qemu.version:
        assert qemu.plugin_api == 1


@pytest.mark.parametrize("cpus", [1, 2])
def test_two_recordings_are_identical(
    newer_qemu: Qemu, new_kernel: Path, cpus: int, tmp_path: Path
) -> None:
    image = new_kernel / "bzImage"
    results = run_guests(newer_qemu, image, COMMAND, tmp_path, cpus=cpus)
    first, second = ((tmp_path / name / "counts.bin").read_bytes() for name in ("0", "1"))
    assert results[0].failure is None
    assert first == second
    counts = results[0].counts
    assert counts
    assert counts.calls
    assert counts.calls.unequal(counts.count) == 0


def test_both_qemus_count_the_same_work(
    qemu: Qemu, newer_qemu: Qemu, new_kernel: Path, tmp_path: Path
) -> None:
    """The workload's own instructions are equal to the last one; the kernel's but for timer ticks,
    which fall elsewhere, and features of the emulated CPU."""
    image = new_kernel / "bzImage"
    totals: list[int] = []
    user: list[dict[tuple[int, bytes], int]] = []
    for emulator, name in ((qemu, "old"), (newer_qemu, "new")):
        result = run_guests(emulator, image, COMMAND, tmp_path / name, count=1)[0]
        assert result.failure is None
        assert result.counts
        kernel = result.counts.in_kernel
        totals.append(result.counts.count[kernel].sum())
        user.append(
            {
                (int(address), bytes(code)): int(count)
                for address, code, count in zip(
                    result.counts.address[~kernel],
                    result.counts.code[~kernel],
                    result.counts.count[~kernel],
                    strict=True,
                )
                if count
            }
        )
    # The agent and init's shell begin to wait for the workload inside the window or before it:
    # once, and an instruction that faults counts once more.
    both = user[0].keys() & user[1].keys()
    assert {n for u in user for place, n in u.items() if place not in both} <= {1, 2}
    assert max(user[0][place] for place in both) >= 50
    assert {place: user[0][place] for place in both} == {place: user[1][place] for place in both}
    assert totals[0] == pytest.approx(totals[1], rel=0.03)
