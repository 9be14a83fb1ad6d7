"""Which accesses of two kernels are of one field."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_accesses import LOAD, STORE, Site, accesses, cells, row_of, table
from synthetic import KERNEL_BASE

from profdiff.profile.data.cells import By, rows
from profdiff.profile.data.table import Names
from profdiff.symbolization import data_accesses as known

BOTH = frozenset({LOAD, STORE})
UNION = int(known.AMBIGUOUS)


def paths(base: list[Site], new: list[Site]) -> dict[tuple[str, ...], list[int]]:
    """The rows of two kernels: the names of each, and its counts."""
    found = table({"base": base, "new": new}).rows()
    return {tuple(row.paths): row.counts for row in found if row.group == "data"}


def test_one_path_is_one_field() -> None:
    found = paths([Site("a", 3), Site("b", 5)], [Site("a", 4), Site("c", 7)])
    assert found == {("a",): [3, 4], ("b",): [5, 0], ("c",): [0, 7]}


def test_a_field_that_became_a_struct_is_the_same() -> None:
    assert paths([Site("flags", 3)], [Site("flags.f", 8)]) == {("flags", "flags.f"): [3, 8]}
    assert paths([Site("x.y[]", 3)], [Site("x", 8)]) == {("x", "x.y[]"): [3, 8]}
    # Not a longer name.
    assert len(paths([Site("flag", 3)], [Site("flags", 8)])) == 2


def test_a_struct_and_its_field_on_one_kernel_are_two() -> None:
    base, new = [Site("lock", 3), Site("lock.a", 4)], [Site("lock.a", 8)]
    assert paths(base, new) == {("lock",): [3, 0], ("lock.a",): [4, 8]}


def test_names_of_one_place_in_a_union_are_one() -> None:
    either = Site("pp_magic", 9, alternatives=["mapping", "other"], flags=UNION)
    assert paths([Site("mapping", 3)], [either]) == {("mapping", "pp_magic"): [3, 9]}
    # Both may be "other", which nobody names.
    rest = Site("third", 2, alternatives=["other"], flags=UNION)
    assert paths([rest], [either]) == {("third", "pp_magic"): [2, 9]}
    # Of the other kernel's it cannot be told which they are.
    both = [Site("mapping", 3), Site("pp_magic", 1)]
    assert paths(both, [either]) == {("mapping", "pp_magic"): [4, 9]}
    # Without it they are two fields.
    assert len(paths(both, [Site("mapping", 9)])) == 2


def test_loads_and_stores_are_two_rows_and_an_instruction_can_be_both() -> None:
    found = table({"base": [Site("a", 3, does=BOTH)], "new": [Site("a", 5)]}).rows()
    assert {row.store: row.counts for row in found} == {True: [3, 0], False: [3, 5]}


def test_variables_compare_by_their_names() -> None:
    def one(symbol: str, kind: str, count: int) -> Site:
        return Site("", count, kind=kind, type="int", symbol=symbol)

    base = [one("ratelimit.12", "global", 3), one("hits", "global", 4)]
    new = [one("ratelimit.7", "global", 5), one("hits", "per-cpu", 6)]
    found = {row.symbol: row.counts for row in table({"base": base, "new": new}).rows()}
    assert found == {"ratelimit": [3, 5], "hits": [4, 6]}


def test_folios_can_be_pages() -> None:
    layouts = {
        "page": (64, {"flags": (0, 8), "mapping": (24, 8)}),
        "folio": (64, {"flags": (0, 8), "mapping": (16, 8), "_large": (32, 8)}),
    }
    base = [Site("flags", 3, type="page"), Site("mapping", 1, type="page")]
    new = [Site(path, 5, type="folio") for path in ("flags", "mapping", "_large", "page.flags")]
    kernels = {"base": base, "new": new}
    found = {
        (row.types[0], *row.paths): row.counts
        for row in table(kernels, layouts, fold_folios=True).rows()
    }
    assert found == {
        ("page", "flags"): [3, 10],
        # Elsewhere in a folio.
        ("folio", "mapping"): [0, 5],
        ("page", "mapping"): [1, 0],
        ("folio", "_large"): [0, 5],
    }
    assert ("folio", "flags") in {
        (row.types[0], *row.paths) for row in table(kernels, layouts).rows()
    }


NAMES = ["a", "a.x", "a.x.y", "a.z", "b", "b[]", "b[].c", "d", ""]
SITE = st.fixed_dictionaries(
    {
        "path": st.sampled_from(NAMES),
        "count": st.lists(st.integers(-5, 9), min_size=1, max_size=1),
        "function": st.sampled_from(["f", "g", "h"]),
        "inlined": st.sampled_from(["", "", "f", "outer"]),
        "does": st.sampled_from([frozenset({LOAD}), frozenset({STORE}), BOTH]),
        "kind": st.sampled_from(
            ["field", "global", "per-cpu", "stack-variable", "pointed", "spill"]
        ),
        "type": st.sampled_from(["thing", "other"]),
        "symbol": st.sampled_from(["v", "w.3"]),
        "offset": st.integers(-8, 200),
        "flags": st.sampled_from([0, 0, UNION, int(known.WIDER), int(known.COMPUTED)]),
        "alternatives": st.lists(st.sampled_from(NAMES[:-1]), max_size=2),
    }
).map(lambda fields: Site(**fields))
KERNELS = st.lists(st.lists(SITE, min_size=1, max_size=12), min_size=2, max_size=3)


@given(KERNELS, st.sampled_from(["field", "type", "line"]))
def test_pairing_is_symmetric_and_loses_nothing(kernels: list[list[Site]], by: By) -> None:
    there = {f"k{number}": sites for number, sites in enumerate(kernels)}
    back = dict(reversed(there.items()))
    groups = []
    for order in (there, back):
        of = cells(order)
        found = rows(of, by)
        assert sorted(cell for row in found for cell in row) == list(range(len(of.cells)))
        sums = [0] * len(order)
        for row in found:
            for cell in row:
                sums = [a + b for a, b in zip(sums, of.counts(cell), strict=True)]
        wanted = [
            sum(site.count[0] * len(site.does) for site in sites)  # type: ignore[index]
            for sites in order.values()
        ]
        assert sums == wanted
        functions = of.functions.known
        told = Counter[object]()
        for row in found:
            members = []
            for number in row:
                cell = of.cells[number]
                names = functions[cell.inner].name, functions[cell.outer].name
                members.append((cell.store, of.keys[cell.key], cell.offset, *names))
            told[frozenset(members)] += 1
        groups.append(told)
    assert groups[0] == groups[1]


@pytest.mark.parametrize("by", ["field", "type", "line"])
def test_views_of_rows_add_up(by: By) -> None:
    base = [Site("a", 3, offset=8), Site("a", 4, "g", offset=72), Site("b", 5, kind="spill")]
    new = [Site("a", 4, offset=72), Site("b", 1, type="other")]
    found = table({"base": base, "new": new}).rows(by)
    assert [sum(row.counts[k] for row in found) for k in (0, 1)] == [12, 5]
    for row in found:
        for kernel in (0, 1):
            assert sum(part.counts[kernel] for part in row.parts) == row.counts[kernel]


def test_lines_are_those_of_each_kernel() -> None:
    found = table({"base": [Site("a", 3, offset=8)], "new": [Site("a", 4, offset=72)]})
    assert [(row.lines, row.counts) for row in found.rows("line")] == [
        ([None, 1], [0, 4]),
        ([0, None], [3, 0]),
    ]
    row = row_of(found.rows(), "a")
    assert (row.offsets, row.lines, row.counts) == ([8, 72], [0, 1], [3, 4])


def test_an_address_has_the_names_of_what_it_accesses() -> None:
    sites = [Site("a", 1, does=BOTH, size=4), Site("x", 1).hidden("void-pointer")]
    address = np.array([KERNEL_BASE + 4, KERNEL_BASE + 1, KERNEL_BASE], np.uint64)
    hidden, nothing, field = Names(accesses(sites, {})).of(address)
    assert nothing == []
    assert [(one.key.type, one.key.path, one.load, one.store, one.size) for one in field] == [
        ("thing", "a", True, True, 4)
    ]
    assert [one.key.reason for one in hidden] == ["void-pointer"]
