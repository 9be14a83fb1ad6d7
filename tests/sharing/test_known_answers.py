"""Lines that change hands in guests, where it is known which do: two threads that share what the
operation says (known.c)."""

from pathlib import Path

import pytest
from restored import GUEST, Restorer

from profdiff.collectors.guest.qemu import Qemu
from profdiff.collectors.sharing.lines import SharedLines

pytestmark = pytest.mark.guest

PROGRAM = Path(__file__).with_name("known.c")
# So many that a tick, some 75 misses, is little beside them.
OPS = 1500


@pytest.fixture(scope="module")
def restorer(newest_kernel: Path, qemu: Qemu, tmp_path_factory: pytest.TempPathFactory) -> Restorer:
    """Runs on v7.1.8 with two vCPUs."""
    folder = tmp_path_factory.mktemp("known")
    return Restorer(qemu, newest_kernel / "bzImage", folder, GUEST, 2, collector="sharing")


def recorded(restorer: Restorer, case: str) -> SharedLines:
    """What a case shares."""
    result, folder = restorer.run([PROGRAM, case, str(OPS)])
    assert result.failure is None
    lines = SharedLines.load(folder / "sharing.bin")
    assert lines.kind == "marks"
    assert lines.ops_by == "marks"
    assert lines.ops.tolist() == [OPS, OPS]
    return lines


# Transfers and misses per operation. A signalfd's mask (8 bytes, of kmalloc-8) lies in a line with
# those of others; all threads have one lock for signals.
@pytest.mark.parametrize(
    ("case", "transfers", "misses"),
    [
        ("one-line", 1, 2),
        ("a-line-each", 0, 0),
        ("atomic", 1, 1),
        ("fstat-same", 1, 1),
        ("fstat-own", 0, 0),
        ("signalfd-beside", 2, 2),
        ("signalfd-apart", 1, 1),
        ("getppid", 0, 0),
        ("clock", 0, 0),
        ("entries-own", 0, 0),
    ],
)
def test_what_is_shared_is_found(
    restorer: Restorer, case: str, transfers: int, misses: int
) -> None:
    lines = recorded(restorer, case)
    # What is more: ticks.
    assert lines.transfers.sum() / lines.all_ops == pytest.approx(transfers, abs=0.05)
    assert lines.line_misses.sum() / lines.all_ops == pytest.approx(misses, abs=0.1)


def test_a_recording_repeats(restorer: Restorer) -> None:
    files = set()
    for _ in range(3):
        _, folder = restorer.run([PROGRAM, "entries-same", str(OPS)])
        files.add((folder / "sharing.bin").read_bytes())
    assert len(files) == 1


@pytest.mark.nightly
def test_booted_guests_find_the_same(restorer: Restorer) -> None:
    booted = restorer.with_guest("booted", restored=False)
    one, other = (recorded(which, "fstat-same") for which in (restorer, booted))
    # Ticks fall elsewhere; the file's reference is transferred in each operation.
    first, second = (int(lines.transfers.argmax()) for lines in (one, other))
    assert one.transfers[first] == other.transfers[second] == pytest.approx(2 * OPS, abs=1)
    # A tick lets a vCPU have two turns on end.
    for lines, row in ((one, first), (other, second)):
        assert int(lines.line_misses[row]) == pytest.approx(2 * OPS, abs=8)


def test_lines_may_be_longer(restorer: Restorer) -> None:
    longer = Restorer(
        restorer.qemu,
        restorer.image,
        restorer.folder / "longer",
        GUEST,
        2,
        collector="sharing",
        options={"line_size": 128},
    )
    lines = recorded(longer, "a-line-each")
    assert lines.line_size == 128
    assert lines.transfers.sum() < 0.05 * lines.all_ops


def test_marks_of_operations_change_no_exact_count_and_turns_hardly_any(
    restorer: Restorer, newest_kernel: Path, qemu: Qemu, tmp_path: Path
) -> None:
    """The same program with PROFDIFF_OP() and without it, counted; and what the kernel executes
    while vCPUs take turns after each operation."""
    marked, plain = tmp_path / "marked.c", tmp_path / "plain.c"
    source = PROGRAM.read_text()
    include = '#include "profdiff.h"'
    assert include in source and "PROFDIFF_OP();" in source
    marked.write_text(source)
    unmarked = f"{include}\n#undef PROFDIFF_OP\n#define PROFDIFF_OP() ((void)0)"
    plain.write_text(source.replace(include, unmarked))
    counts = Restorer(qemu, newest_kernel / "bzImage", tmp_path / "exact", GUEST, 2)
    kernels = []
    for program in (marked, plain):
        result, _ = counts.run([program, "fstat-same", str(10 * OPS)])
        assert result.instructions is not None
        kernels.append(result.instructions.kernel)
    # What is left: the barriers at the window's ends, where threads wait for each other.
    assert kernels[0] == pytest.approx(kernels[1], rel=0.002)
    _, folder = restorer.run([marked, "fstat-same", str(10 * OPS)])
    turned = int(SharedLines.load(folder / "sharing.bin").instructions.sum())
    assert turned == pytest.approx(kernels[0], rel=0.01)
