"""Memory that the kernel gives out in guests, where it is known how much (known.c): by hand, and by
what the kernel's own tracepoints saw in the same window."""

from collections import Counter
from pathlib import Path

import pytest
from qemus import QEMU_10, another_qemu
from restored import GUEST, Restorer, replace_guest

from profdiff.collectors.architecture import X86_64
from profdiff.collectors.exact.allocations import Allocations, Tally

pytestmark = [pytest.mark.guest, pytest.mark.network]

PROGRAM = Path(__file__).with_name("known.c")
# Caches of one size are merged without it, and have the first one's name.
APART = replace_guest(GUEST, append="slab_nomerge")
# Pages of a kernel stack, and bytes of the largest object of a slab.
STACK, LARGEST = 4, 8192
# Which the kernel allocates many at a time, without a tracepoint.
IN_BULK = "maple_node"


@pytest.fixture(scope="module", params=["old_kernel", "new_kernel", "newest_kernel"])
def restorer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Restorer:
    """Runs on a kernel, before sheaves, and with them."""
    kernel: Path = request.getfixturevalue(request.param)
    folder = tmp_path_factory.mktemp("known")
    qemu, options = another_qemu(QEMU_10, X86_64), {"allocations": True}
    image = kernel / "bzImage"
    return Restorer(qemu, image, folder, guest=APART, options=options, vmlinux=True)


def recorded(restorer: Restorer, *words: object) -> tuple[Allocations, str]:
    """What a run allocated, and what it printed."""
    result, folder = restorer.run([PROGRAM, *map(str, words)])
    assert result.failure is None
    return Allocations.load(folder / "counts.memory"), (folder / "stdout").read_text()


def by_name(found: Allocations) -> dict[str, Tally]:
    return {name: tally for (name, _), tally in found.objects.items()}


@pytest.mark.parametrize("count", [500, 1000])
def test_each_open_file_is_an_object(restorer: Restorer, count: int) -> None:
    found, _ = recorded(restorer, "files", count)
    names = by_name(found)
    assert names["filp"] == Tally(count, 0, count)
    # The path is copied, and given back.
    assert names.get("names_cache", Tally(count, count)) == Tally(count, count)
    (size,) = [size for name, size in found.objects if name == "filp"]
    # Slabs are as many pages as hold the objects, give or take some that are not full.
    kept = sum(tally.kept << order for order, tally in found.pages.items())
    assert count * size / 4096 - 2 <= kept <= 1.1 * count * size / 4096 + 4


def test_files_that_were_open_are_taken_back(restorer: Restorer) -> None:
    found, _ = recorded(restorer, "closed", 600)
    files = by_name(found)["filp"]
    assert (files.allocated, files.kept) == (0, 0)
    # Files are freed after a grace period, which the last of them may not see end.
    assert 300 <= files.freed <= 600


@pytest.mark.parametrize("count", [512, 2048])
def test_each_touched_page_is_a_block(restorer: Restorer, count: int) -> None:
    found, _ = recorded(restorer, "pages", count)
    tables = count // 512
    pages = found.pages[0]
    assert count + tables <= pages.kept <= pages.allocated <= count + tables + 6
    assert pages.freed <= 8


def test_tracepoints_see_the_same(restorer: Restorer) -> None:
    """In one window: each block of pages, but for those of stacks, which the kernel allocates in
    bulk without a tracepoint; of objects, each one that is allocated by itself."""
    found, text = recorded(restorer, "traced")
    assert "lost" not in text
    lines = [line.split() for line in text.splitlines()]
    orders = {int(words[1]): [*map(int, words[2:])] for words in lines if words[0] == "order"}
    mine = {order: [tally.allocated, tally.freed] for order, tally in found.pages.items()}
    stacks = mine[0][0] - orders[0][0]
    mine[0][0] -= stacks
    assert mine == orders
    assert stacks % STACK == 0 and 0 <= stacks <= 5 * STACK
    assert orders[0][0] > 5 * 300
    given = Counter(int(words[2]) for words in lines if words[0] == "given")
    ours = Counter[int]()
    for (name, size), tally in found.objects.items():
        if name != IN_BULK:
            ours[size] += tally.allocated
    (bulk,) = [size for name, size in found.objects if name == IN_BULK]
    sizes = {size for size in given if size <= LARGEST} - {bulk}
    assert {size: given[size] for size in sizes} == {size: ours[size] for size in sizes}
    assert sum(given[size] for size in sizes) > 500
    names = by_name(found)
    assert names["task_struct"].allocated == 5
    freed = Counter(words[1] for words in lines if words[0] == "freed")
    assert {name: names[name].freed for name in freed if name != IN_BULK} == {
        name: count for name, count in freed.items() if name != IN_BULK
    }
