"""Never a false difference: what is not resolved, or ambiguous, and could explain a change."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pytest
from extent import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from made_accesses import LOAD, STORE, Site, row_of, table

from profdiff.profile.data.guard import Interval
from profdiff.profile.data.table import DataRow
from profdiff.symbolization import data_accesses as known
from profdiff.symbolization.data_accesses import REASONS

UNION, WIDER, COMPUTED = (int(flag) for flag in (known.AMBIGUOUS, known.WIDER, known.COMPUTED))
# a to d are a union's members; "in" is a struct inner.
LAYOUTS = {
    "thing": (40, {"a": (0, 8), "b": (8, 8), "c": (16, 8), "d": (24, 8), "in": (32, 8)}),
    "inner": (8, {"e": (0, 8)}),
}


def only(base: Sequence[Site], new: Sequence[Site], path: str = "a") -> Interval:
    """Of the difference of one field's loads."""
    (found,) = row_of(table({"base": base, "new": new}, LAYOUTS).rows(), path).intervals
    return found


def test_without_what_is_unresolved_a_difference_is_one_number() -> None:
    found = only([Site("a", 100)], [Site("a", 160)])
    assert found == (60, 60, frozenset()) and found.sure


def test_an_unresolved_access_of_the_function_can_be_the_difference() -> None:
    base, new = [Site("a", 100), Site("b", 50).hidden()], [Site("a", 140)]
    found = only(base, new)
    assert found == (-10, 40, {"unresolved"}) and not found.sure
    # Too few to explain it.
    assert only([*base[:1], Site("b", 5).hidden()], new) == (35, 40, {"unresolved"})
    # It stores, and this one loads.
    stores = Site("b", 50, does=frozenset({STORE})).hidden()
    assert only([base[0], stores], new).sure
    # User memory is no field of the kernel.
    assert only([base[0], Site("b", 50).hidden("user-memory")], new).sure


def test_functions_that_do_not_access_the_field_do_not_matter() -> None:
    both = [Site("b", 500, "other", inlined=where).hidden() for where in ("", "third")]
    assert only([Site("a", 100), *both], [Site("a", 140), *both]).sure
    # What is inlined where the field is accessed matters.
    inlined = Site("b", 500, "other", inlined="work").hidden()
    assert only([Site("a", 100)], [Site("a", 140), inlined]) == (40, 540, {"unresolved"})
    # The function accesses it on the other kernel.
    moved = only([Site("a", 100, "f"), Site("a", 7, "g").hidden()], [Site("a", 140, "g")])
    assert moved == (33, 40, {"unresolved"})


def test_a_function_that_only_one_kernel_has_may_be_a_part_of_another() -> None:
    part = Site("a", 100, "part")
    assert only([Site("a", 100)], [Site("b", 1), part.hidden()]) == (-100, 0, {"split"})
    far = part.hidden()._replace(file="drivers/y.c")
    assert only([Site("a", 100)], [Site("b", 1), far]) == (-100, -100, frozenset())


def test_names_of_a_union_that_cannot_be_told_apart_are_one_field() -> None:
    either = Site("a", 190, alternatives=["b"], flags=UNION)
    base = [Site("a", 50), Site("b", 100)]
    for path in ("a", "b"):
        assert only(base, [either], path) == (40, 40, frozenset())
    either = either._replace(count=150)
    # Where nothing else has the name, it is the place that counts.
    assert only([Site("a", 50)], [either]) == (100, 100, frozenset())


def test_an_access_that_is_wider_reaches_its_neighbour() -> None:
    wide = Site("a", 100, size=16, flags=WIDER)
    base = [Site("a", 100), Site("b", 100, offset=8)]
    assert only(base, [wide], "b") == (-100, 0, {"wider"})
    assert only(base, [wide], "a") == (0, 0, frozenset())


def test_a_computed_offset_may_be_any_field() -> None:
    anything = Site("", 100, flags=COMPUTED)
    assert only([Site("a", 60)], [anything]) == (-60, 40, {"computed"})
    other = only([Site("a", 60)], [anything], "*")
    assert other == (0, 100, {"computed"}) and not other.sure


def test_the_struct_around_may_be_known_on_one_kernel_only() -> None:
    inside, alone = Site("in.e", 100), Site("e", 100, type="inner")
    assert only([inside], [alone], "in.e") == (-100, 0, {"container"})
    assert only([inside], [alone], "e") == (0, 100, {"container"})
    # It is of another size than what is there.
    other = Site("e", 100, type="thing")
    assert only([inside], [other], "in.e").sure
    # Another function.
    assert only([inside], [alone._replace(function="far"), Site("b", 1)], "in.e").sure
    # A variable, and a pointer to it.
    named = Site("e", 100, kind="global", type="inner", symbol="the_inner")
    (found,) = row_of(table({"base": [named], "new": [alone]}).rows()[:1], "e").intervals
    assert not found.sure
    pointed = Site("", 100, kind="pointed", type="long")
    assert only([inside], [pointed], "in.e") == (-100, 0, {"container"})
    assert only([inside], [pointed._replace(size=1)], "in.e").sure


def test_what_two_lengths_differ_by_can_be_negative() -> None:
    base, new = [Site("a", 100)], [Site("a", 140), Site("b", -60).hidden()]
    assert only(base, new) == (-20, 40, {"unresolved"})


def test_types_are_sure_where_fields_are_not() -> None:
    anything = Site("", 250, flags=COMPUTED)
    shown = table({"base": [Site("a", 50), Site("b", 100)], "new": [anything]})
    assert [row.intervals for row in shown.rows("type")] == [[(100, 100, frozenset())]]
    assert not any(one.sure for row in shown.rows() for one in row.intervals)


class Real(NamedTuple):
    """What an access really is, and how it is seen."""

    path: str
    count: int
    function: str
    inlined: str
    seen: str
    reason: str
    other: str


NAMES = ["a", "b", "c", "d", "in.e"]
REAL = st.builds(
    Real,
    path=st.sampled_from(NAMES),
    count=st.integers(-3, 30),
    function=st.sampled_from(["f", "g", "h"]),
    inlined=st.sampled_from(["", "f", "outer"]),
    seen=st.sampled_from(["", "", "", "hidden", "union", "wider", "computed", "container"]),
    reason=st.sampled_from([one for one in REASONS if one not in ("", "user-memory")]),
    other=st.sampled_from(NAMES[:4]),
)


def seen(real: Real) -> Site:
    """As the kernel's accesses tell it."""
    inlined = "" if real.inlined == real.function else real.inlined
    offset = LAYOUTS["thing"][1]["in" if "." in real.path else real.path][0]
    site = Site(real.path, real.count, real.function, inlined, offset=offset)
    if real.seen == "hidden":
        return site.hidden(real.reason)
    if real.seen == "union" and "." not in real.path and real.other != real.path:
        return site._replace(path=real.other, alternatives=[real.path], flags=UNION)
    if real.seen == "wider" and real.path in ("a", "b", "c"):
        return site._replace(size=16, flags=WIDER)
    if real.seen == "computed":
        return site._replace(path="", flags=COMPUTED)
    if real.seen == "container" and "." in real.path:
        return site._replace(type="inner", path="e", offset=0)
    return site


def reaches(real: Real) -> set[str]:
    """The fields that it really accesses."""
    wide = real.seen == "wider" and real.path in ("a", "b", "c")
    return {real.path, *([NAMES[NAMES.index(real.path) + 1]] if wide else [])}


def truth(
    row: DataRow,
    paths: set[str],
    kernels: Sequence[Sequence[Real]],
    ran: list[set[str]],
    shown: Mapping[int, str],
) -> int:
    """How the loads of some fields really differ, in the functions that the guard is about."""
    inner = {shown[part.function] for part in row.parts}
    outer = {
        one.inlined or one.function
        for reals in kernels
        for one in reals
        if seen(one).path in row.paths and seen(one).type == "thing" and one.count
    } | inner
    sums = [0, 0]
    for kernel, reals in enumerate(kernels):
        for one in reals:
            site = seen(one)
            local = site.kind == "unresolved" or site.type == "inner"
            near = one.function in inner or (site.inlined or one.function) in outer
            apart = site.kind == "unresolved" and (one.function in ran[0]) != (
                one.function in ran[1]
            )
            if reaches(one) & paths and (near or apart or not local):
                sums[kernel] += one.count
    return sums[1] - sums[0]


@settings(max_examples=examples(400), deadline=None)
@given(st.lists(REAL, min_size=1, max_size=9), st.lists(REAL, min_size=1, max_size=9))
def test_a_difference_that_is_shown_is_true(base: list[Real], new: list[Real]) -> None:
    """Whatever of two kernels is hidden, renamed or widened."""
    kernels = [base, new]
    sites = [[seen(one) for one in reals] for reals in kernels]
    shown = table(dict(zip(("base", "new"), sites, strict=True)), LAYOUTS)
    found = shown.rows()
    names = {n: one.name for n, one in enumerate(shown.functions.known)}
    ran = [
        {name for one in reals if one.count for name in (one.function, one.inlined) if name}
        for reals in kernels
    ]
    taken = {path for row in found if row.types == ["thing"] for path in row.paths}
    for row in found:
        if row.types != ["thing"] or row.paths == ["*"]:
            continue
        # Names of the place that no row has are this row's.
        paths = {*row.paths} | {one for one in row.alternatives if one not in taken}
        real = truth(row, paths, kernels, ran, names)
        (interval,) = row.intervals
        assert interval.low <= real <= interval.high, (row, real)
        delta = row.counts[1] - row.counts[0]
        assert interval.low <= delta <= interval.high
        if interval.sure:
            assert (delta > 0) == (real > 0) and (delta < 0) == (real < 0)


@pytest.mark.parametrize("seen_as", ["hidden", "wider", "computed", "container"])
def test_the_property_would_find_a_guard_that_lets_through(seen_as: str) -> None:
    """Each way to hide makes some difference false that is not shown."""
    real = Real("in.e" if seen_as == "container" else "b", 90, "f", "", seen_as, "loaded", "a")
    if seen_as == "wider":
        real = real._replace(path="a")
    base = [Site("b", 70, "f"), Site("in.e", 70, "f"), Site("a", 7, "f")]
    new = [Site("a", 7, "f"), seen(real)]
    path = "in.e" if seen_as == "container" else "b"
    row = row_of(table({"base": base, "new": new}, LAYOUTS).rows(), path)
    assert row.counts[1] < row.counts[0]
    assert not row.intervals[0].sure
    assert LOAD in seen(real).does
