"""Which instructions of two codes belong together: laws that hold whatever the code is."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from profdiff.profile.code.alignment import paired_places
from profdiff.profile.code.kernel_functions import Place
from profdiff.symbolization._native import align

SAME, CHANGED, MOVED = range(3)

# Few keys, so that they recur; an operation has several.
_INSTRUCTION = st.tuples(st.integers(0, 12), st.integers(0, 3), st.booleans(), st.booleans())
_CODE = st.lists(_INSTRUCTION, max_size=40)


def columns(code: list[tuple[int, int, bool, bool]]) -> NDArray[np.uint32]:
    rows = [(key, key // 3, line, block, ran) for key, line, block, ran in code]
    return np.array(rows, np.uint32).reshape(-1, 5)


def pairs(old: NDArray[np.uint32], new: NDArray[np.uint32]) -> list[tuple[int, int, int]]:
    return list(zip(*(column.tolist() for column in align(old, new)), strict=True))


@given(_CODE, _CODE)
def test_each_instruction_is_in_one_pair_at_most_and_pairs_say_what_they_are(
    first: list[tuple[int, int, bool, bool]], second: list[tuple[int, int, bool, bool]]
) -> None:
    old, new = columns(first), columns(second)
    found = pairs(old, new)
    assert len({a for a, _, _ in found}) == len({b for _, b, _ in found}) == len(found)
    for a, b, kind in found:
        assert (old[a, 0] == new[b, 0]) == (kind != CHANGED)
        assert old[a, 1] == new[b, 1]
    in_order = [(a, b) for a, b, kind in found if kind != MOVED]
    assert in_order == sorted(in_order)
    assert [b for _, b in in_order] == sorted(b for _, b in in_order)


@given(_CODE, _CODE)
def test_swapped_codes_have_the_same_pairs(
    first: list[tuple[int, int, bool, bool]], second: list[tuple[int, int, bool, bool]]
) -> None:
    old, new = columns(first), columns(second)
    swapped = sorted((a, b, kind) for b, a, kind in pairs(new, old))
    assert sorted(pairs(old, new)) == swapped


@given(_CODE)
def test_a_code_is_the_same_as_itself(code: list[tuple[int, int, bool, bool]]) -> None:
    own = columns(code)
    assert pairs(own, own) == [(at, at, SAME) for at in range(len(code))]


def test_a_block_that_was_moved_to_the_end_is_the_same_code() -> None:
    # The compiler moved a branch that is seldom taken behind the function.
    body = [(key, 0, key in (0, 30, 60), True) for key in range(90)]
    old = columns(body)
    new = columns(body[:30] + body[60:] + body[30:60])
    found = pairs(old, new)
    assert [kind for *_, kind in found].count(MOVED) == 30
    assert all(old[a, 0] == new[b, 0] for a, b, _ in found)
    assert len(found) == 90


def test_places_with_other_callers_are_paired_where_they_are_inlined_into_one_function() -> None:
    outer: Place = ("change_protection", "change_pte_range", "flush")
    deeper: Place = ("change_protection", "change_pte_range", "commit", "flush")
    other: Place = ("unmap_page_range", "flush")
    renamed: Place = ("zap_range", "flush")
    base = {outer: 500, other: 40}
    new = {deeper: 900, renamed: 30}
    assert paired_places([base, new]) == [[outer, deeper], [other, renamed]]


_PLACES = st.dictionaries(
    st.lists(st.sampled_from("abcd"), min_size=1, max_size=3).map(tuple), st.integers(-9, 9)
)


@given(st.lists(_PLACES, min_size=1, max_size=3))
def test_each_place_of_each_kernel_is_in_one_pair(kernels: list[dict[Place, int]]) -> None:
    groups = paired_places(kernels)
    for kernel, places in enumerate(kernels):
        members = [group[kernel] for group in groups if group[kernel] is not None]
        assert sorted(members) == sorted(places)
    for group in groups:
        names = [name for name in group if name is not None]
        # Equal chains of names are one place, whatever else could be paired.
        for name in set(names):
            there = [name in places for places in kernels]
            assert [one == name for one in group] == there


def test_what_nothing_executed_is_no_other_place() -> None:
    outer, inlined, other = ("a", "f"), ("b", "f"), ("c", "f")
    assert paired_places([{outer: 0}, {inlined: 5}]) == [[None, inlined], [outer, None]]
    assert paired_places([{outer: 0, other: 3}, {inlined: 5}]) == [[other, inlined], [outer, None]]


def test_a_function_that_is_inlined_in_a_thousand_places_is_paired_at_once() -> None:
    """The largest with the largest, in time in proportion to their number."""
    base: dict[Place, int] = {("old", f"in_{n}", "f"): n + 1 for n in range(5_000)}
    new: dict[Place, int] = {("new", f"of_{n}", "f"): n + 1 for n in range(4_000)}
    groups = paired_places([base, new])
    assert len(groups) == 5_000
    assert groups[0] == [("old", "in_4999", "f"), ("new", "of_3999", "f")]
    assert groups[4_000] == [("old", "in_999", "f"), None]
