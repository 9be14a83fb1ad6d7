"""Programs that call themselves tens of thousands of times: right, and in time that grows with the
depth, not with its square."""

import gzip
import json
import re
import time
from collections.abc import Callable

import numpy as np
import pytest
from synthetic import Row, build, chains, findings, frame, manifest

from profdiff.base.metric import INSTRUCTIONS
from profdiff.collectors.recorded import CallTree, Recorded
from profdiff.profile.comparison import Comparison
from profdiff.profile.exact_profile import exact_profile
from profdiff.profile.kernel_profile import Profile
from profdiff.profile.sampled_profile import folded_profile
from profdiff.reports import documents
from profdiff.reports.exports import firefox, pprof, speedscope, svg
from profdiff.reports.exports.stacks import KEPT_FRAMES, LEFT_OUT, MOST_FRAMES, folded_difference
from profdiff.reports.page import html
from profdiff.reports.text import session
from profdiff.symbolization.places import Places
from profdiff.topics.functions.selection import Selection

DEEP, SHALLOWER = 60_000, 2_000


def exact(depth: int, cost: int) -> Profile:
    """``enter`` calls ``walk``, which calls itself ``depth`` times and ``leaf`` each time."""
    rows: list[Row] = [
        ([frame("enter")], "enter", True, [1]),
        ([frame("walk")], "walk", True, [depth]),
        ([frame("leaf")], "leaf", True, [depth]),
    ]
    walks = np.arange(1, depth + 1)
    # Node 0 is enter, then the nested calls of walk, then a leaf in each.
    target = np.repeat([0, 1, 2], [1, depth, depth])
    tree = CallTree(
        parent=np.concatenate([[-1], walks - 1, walks]),
        site=np.repeat([-1, 0, 1], [1, 1, 2 * depth - 1]),
        target=target,
        calls=np.ones(2 * depth + 1, np.int64),
        node=np.arange(2 * depth + 1),
        place=target,
        count=np.where(target == 2, cost, 1),
        refused=0,
    )
    known = chains(rows)
    code = np.zeros((3, 16), np.uint8)
    places = Places.of_code(known.address, code)
    counts = np.array([1, depth, cost * depth])[:, None]
    run = Recorded((INSTRUCTIONS,), places, code, lambda: counts, tree)
    made = exact_profile([run], lambda _: known)
    assert not made.remarks
    return made


def recursive(depth: int) -> Comparison:
    """Two kernels, of which the second's ``leaf`` costs twice as much."""
    return build(manifest(["base", "new"]), {"base": exact(depth, 1), "new": exact(depth, 2)})


@pytest.fixture(scope="module")
def deep() -> Comparison:
    return recursive(DEEP)


def test_self_total_and_calls_are_right(deep: Comparison) -> None:
    rows = {function.name: row for row, function in enumerate(deep.functions)}
    assert deep.self_[rows["enter"]].tolist() == [1, 1]
    assert deep.self_[rows["walk"]].tolist() == [DEEP, DEEP]
    assert deep.self_[rows["leaf"]].tolist() == [DEEP, 2 * DEEP]
    assert deep.total[rows["enter"]].tolist() == [2 * DEEP + 1, 3 * DEEP + 1]
    # Once, though walk stands in most stacks many times.
    assert deep.total[rows["walk"]].tolist() == [2 * DEEP, 3 * DEEP]
    assert deep.total[rows["leaf"]].tolist() == [DEEP, 2 * DEEP]
    assert int(deep.stacks.depth.max()) == DEEP + 1
    outer = deep.stacks.outer()
    assert int((outer >= 0).sum()) == DEEP - 1


def lines_of(folded: bytes, counts: int) -> dict[tuple[str, ...], list[int]]:
    found: dict[tuple[str, ...], list[int]] = {}
    for line in folded.decode().splitlines():
        stack, *numbers = line.rsplit(" ", counts)
        found.setdefault(tuple(stack.split(";")), []).append(int(numbers[-1]))
    return found


def check_shortened(stacks: set[tuple[str, ...]]) -> None:
    whole = {stack for stack in stacks if LEFT_OUT not in stack}
    cut = stacks - whole
    assert max(map(len, whole)) == MOST_FRAMES
    walks = ("walk",)
    assert cut == {
        ("enter", *walks * (KEPT_FRAMES - 1), LEFT_OUT, *walks * (KEPT_FRAMES - 1), last)
        for last in ("walk", "leaf")
    }


@pytest.mark.slow
def test_formats_that_repeat_a_stack_shorten_it() -> None:
    deep = recursive(SHALLOWER)
    ((_, difference),) = folded_difference(deep)
    lines = lines_of(difference, 2)
    check_shortened(set(lines))
    assert sum(map(sum, lines.values())) == 3 * SHALLOWER + 1
    profiles = json.loads(speedscope.render([deep]))
    names = [one["name"] for one in profiles["shared"]["frames"]]
    samples = profiles["profiles"][1]["samples"]
    check_shortened({tuple(names[frame] for frame in sample) for sample in samples})
    assert sum(profiles["profiles"][1]["weights"]) == 3 * SHALLOWER + 1
    assert LEFT_OUT.encode() in gzip.decompress(pprof.render([deep]))
    check_shortened(set(lines_of(folded_profile(exact(SHALLOWER, 1), INSTRUCTIONS.name), 1)))


def test_a_picture_has_so_many_rows() -> None:
    deeper = recursive(2_000)
    for picture in (svg.difference([deeper], []), svg.side_by_side([deeper], [])):
        assert b"frames below the 1,000 rows that are drawn hold " in picture
        assert max(map(int, re.findall(rb'<svg [^>]* height="([0-9]+)"', picture))) < 18_000


def everything(comparison: Comparison) -> None:
    found = findings([comparison])
    session.render(found, Selection(top=20), width=100)
    html.render(found)
    documents.encode(documents.session_document(found))
    svg.difference([comparison], [])
    list(folded_difference(comparison))
    speedscope.render([comparison])
    firefox.render([comparison])
    pprof.render([comparison])


def seconds(do: Callable[[], object]) -> float:
    start = time.process_time()
    do()
    return time.process_time() - start


@pytest.mark.slow
def test_time_grows_with_the_depth() -> None:
    """Of reports as well, and of a comparison; where it grew with the square, 16 times."""
    everything(recursive(1_000))
    short = seconds(lambda: everything(recursive(5_000)))
    long = seconds(lambda: everything(recursive(20_000)))
    assert long < 8 * short
