"""The same cell on each QEMU that Debian has: the kernel executes the same instructions for the
workload's system calls (docs/exact-collector.md)."""

import subprocess
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import whole_run
from qemus import NIGHTLY, QEMU_10, QEMU_11, another_qemu
from support import EXAMPLE, need_program, run_guests

from profdiff.collectors.architecture import ARM64, X86_64, Architecture
from profdiff.collectors.exact.counts import Counts

pytestmark = [pytest.mark.guest, pytest.mark.network, NIGHTLY]

Cell = Callable[[Architecture, str, int], Counts]
# So short that a tick hardly ever falls into it: what was interrupted may then call the scheduler.
COMMAND = [str(EXAMPLE), "400", "5"]
NAMES = {X86_64: "x86-64", ARM64: "arm64"}


@pytest.fixture(scope="module")
def cell(request: pytest.FixtureRequest) -> Cell:
    """The counts of the cell: ``cell(architecture, suite, cpus)``."""

    @cache
    def recorded(architecture: Architecture, suite: str, cpus: int) -> Counts:
        need_program("dpkg-deb", "dpkg")
        if architecture is X86_64:
            installed = request.getfixturevalue("qemu")
            image = request.getfixturevalue("new_kernel") / "bzImage"
        else:
            installed = request.getfixturevalue("arm64_qemu")
            image = request.getfixturevalue("arm64_kernel").image
        qemu = installed if suite == "installed" else another_qemu(suite, architecture)

        def make(folder: Path) -> None:
            # What may differ on arm64 is known of guests that boot.
            how = {"cpus": cpus, "restored": architecture is X86_64}
            (run,) = run_guests(qemu, image, COMMAND, folder, count=1, **how)
            assert run.failure is None

        name = f"version-{architecture.name}-{suite}-{cpus}"
        return Counts.load(whole_run.once(name, make) / "0/counts.bin")

    return recorded


def calls_function(code: bytes, architecture: Architecture) -> bool:
    """Whether an instruction is a call (SDM volume 2; Arm ARM C4.1: BL, BLR)."""
    if architecture is ARM64:
        word = int.from_bytes(code, "little")
        return word >> 26 == 0b100101 or word & 0xFEFFFC00 == 0xD63F0000
    while code[:1] and (0x40 <= code[0] < 0x50 or code[0] in (0x2E, 0x3E, 0x67)):
        code = code[1:]
    return code[:1] == b"\xe8" or (code[:1] == b"\xff" and code[1] >> 3 & 7 == 2)


def calls_kernel(code: bytes, architecture: Architecture) -> bool:
    """Whether an instruction is a system call."""
    word = int.from_bytes(code, "little")
    return word & 0xFFE0001F == 0xD4000001 if architecture is ARM64 else code == b"\x0f\x05"


def called(counts: Counts, architecture: Architecture) -> dict[int, int]:
    """Counts by address of the kernel's instructions that ran below calls alone (no fault and no
    interrupt), for the system call that the workload makes most: what waits for it makes one, in
    the window or before it."""
    calls = counts.calls
    assert calls
    assert calls.unequal(counts.count) == 0
    # By node: the system call that leads there, -1 for none yet, None for what is left out.
    made: list[int | None] = []
    for parent, site in zip(calls.parent, calls.site, strict=True):
        code = bytes(counts.executed[site][1 : 1 + counts.executed[site][0]]) if site >= 0 else b""
        above = made[parent] if parent >= 0 else -1
        if parent < 0 or (above is not None and calls_function(code, architecture)):
            made.append(above)
        else:
            made.append(site if above == -1 and calls_kernel(code, architecture) else None)
    most = max((one for one in made if one not in (-1, None)), key=lambda one: counts.count[one])
    found: Counter[int] = Counter()
    for node, place, count in zip(calls.node, calls.place, calls.count, strict=True):
        if made[node] == most:
            found[int(counts.address[place])] += int(count)
    return dict(found)


@pytest.mark.parametrize(
    ("architecture", "suite", "cpus"),
    [(X86_64, QEMU_10, 1), (X86_64, QEMU_11, 2), (ARM64, QEMU_10, 2), (ARM64, QEMU_11, 2)],
    ids=lambda value: NAMES.get(value, str(value)),
)
def test_system_calls_cost_the_same(
    request: pytest.FixtureRequest, cell: Cell, architecture: Architecture, suite: str, cpus: int
) -> None:
    one, other = (cell(architecture, name, cpus) for name in ("installed", suite))
    first, second = called(one, architecture), called(other, architecture)
    assert sum(first.values()) > 50_000
    unlike = {at for at in first.keys() | second.keys() if first.get(at) != second.get(at)}
    if architecture is ARM64 and unlike:
        # Each QEMU has another device tree, so memory lies elsewhere: memset() looks at the
        # alignment of what it sets, and 16 PTEs are folded (contpte) where their pages are aligned.
        kernel = request.getfixturevalue("arm64_kernel")
        for name in ("__pi_memset", "ptep_modify_prot_commit", "__contpte_try_fold"):
            unlike -= set(function(kernel.debug_elf, name))
    assert not unlike


def function(elf: Path, name: str) -> range:
    """The addresses of a function."""
    need_program("nm", "binutils")
    told = subprocess.run(["nm", "-n", elf], check=True, capture_output=True, text=True).stdout
    found = [(int(line[:16], 16), line[19:]) for line in told.splitlines()]
    start = next(address for address, known in found if known == name)
    return range(start, next(address for address, _ in found if address > start))
