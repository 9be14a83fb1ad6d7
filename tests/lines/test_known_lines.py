"""Distinct lines that programs access in guests, where it is known how many (known.c)."""

from pathlib import Path

import pytest
from qemus import NIGHTLY, QEMU_10, QEMU_11, another_qemu
from restored import Restorer

from profdiff.collectors.architecture import X86_64
from profdiff.collectors.guest.qemu import Qemu
from profdiff.collectors.lines.counts import LineCounts

pytestmark = pytest.mark.guest

PROGRAM = Path(__file__).with_name("known.c")
# Lines of a page, pages of a page of page tables, and entries of one in a line.
LINES, PAGES, ENTRIES = 64, 512, 8
# Before and behind a later series on page allocation; both tell types of pages.
KERNELS = ("old_kernel", "newest_kernel")


@pytest.fixture(scope="module", params=KERNELS)
def restorer(
    request: pytest.FixtureRequest, qemu: Qemu, tmp_path_factory: pytest.TempPathFactory
) -> Restorer:
    """Runs on a kernel."""
    kernel: Path = request.getfixturevalue(request.param)
    folder = tmp_path_factory.mktemp("known")
    return Restorer(qemu, kernel / "bzImage", folder, collector="lines", vmlinux=True)


def recorded(restorer: Restorer, how: str, count: int) -> dict[str, int]:
    """The lines of a run, by region."""
    result, folder = restorer.run([PROGRAM, how, str(count)])
    assert result.failure is None
    counts = LineCounts.load(folder / "lines.txt")
    assert (counts.kind, counts.opened, counts.misplaced) == ("marks", 1, 0)
    return counts.lines


@pytest.mark.parametrize("lines", [1, 4])
def test_lines_of_a_program_are_counted_once(restorer: Restorer, lines: int) -> None:
    found = recorded(restorer, "user", lines)
    assert found["user"] == found["all"] == 1000 * lines


def test_ticks_are_outside(restorer: Restorer) -> None:
    found = recorded(restorer, "spin", 3_000_000)
    assert found["user"] == found["all"] == 1
    assert found["outside"] > 100


def test_page_tables_and_struct_pages(restorer: Restorer) -> None:
    one, other, unmapped = (
        recorded(restorer, *what) for what in (("populate", 8), ("populate", 16), ("unmap", 8))
    )
    # Each page of page tables is cleared, and has an entry in the table above.
    upper = one["page-tables"] - 8 * LINES
    assert 8 // ENTRIES <= upper <= 8
    more = other["page-tables"] - one["page-tables"]
    assert 8 * LINES + 8 // ENTRIES - 1 <= more <= 8 * LINES + 8 // ENTRIES + 1
    # Pages that were page tables count as such when they are free again.
    assert unmapped["page-tables"] == one["page-tables"]
    # Each of the program's pages is cleared through the direct map.
    cleared = 8 * PAGES * LINES
    assert cleared <= one["direct-map"] <= cleared + LINES
    assert other["direct-map"] - one["direct-map"] == pytest.approx(cleared, abs=LINES)
    # Each page has a struct page of one line, also that of a page of page tables. A page that is
    # taken from a larger block leaves its buddy behind, which is touched, too: at most one each.
    for found, tables in ((one, 8), (other, 16)):
        pages = tables * (PAGES + 1)
        assert pages <= found["struct-page"] <= 2 * pages
    assert one["user"] <= 4 and min(one[name] for name in ("slab", "per-cpu", "stack", "image")) > 5


def test_slabs(restorer: Restorer) -> None:
    one, other = (recorded(restorer, "files", count) for count in (200, 400))
    # A file has three lines or four (include/linux/fs.h), an eventfd_ctx one; a descriptor 8 bytes.
    # With the rest of a slab's page beside them: its line's neighbours on the free list.
    more = other["slab"] - one["slab"]
    assert 4 * 200 <= more <= 8 * 200
    assert other["user"] - one["user"] == 0


def test_two_programs_have_their_own_lines(restorer: Restorer) -> None:
    found = recorded(restorer, "two", 300)
    assert 600 <= found["user"] <= 600 + LINES


def test_a_recording_repeats(restorer: Restorer) -> None:
    files = set()
    for _ in range(2):
        _, folder = restorer.run([PROGRAM, "unmap", "4"])
        files.add((folder / "lines.txt").read_bytes())
    assert len(files) == 1


@NIGHTLY
@pytest.mark.network
@pytest.mark.parametrize("suite", [QEMU_10, QEMU_11])
def test_a_newer_qemu_finds_the_same(newest_kernel: Path, tmp_path: Path, suite: str) -> None:
    qemu = another_qemu(suite, X86_64)
    image = newest_kernel / "bzImage"
    restorer = Restorer(qemu, image, tmp_path, collector="lines", vmlinux=True)
    assert recorded(restorer, "user", 4)["all"] == 4000
    assert recorded(restorer, "spin", 3_000_000)["all"] == 1
    found = recorded(restorer, "unmap", 8)
    assert 8 * LINES < found["page-tables"] <= 8 * LINES + 8
