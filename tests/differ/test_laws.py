"""Laws that hold for arbitrary profiles."""

from collections import Counter

import numpy as np
from extent import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic import REASONS, Row, compare, frame, profile

from profdiff.profile.function_identity import Function, fold
from profdiff.profile.kernel_profile import Profile
from profdiff.profile.stack_table import StackTable

NAMES = st.sampled_from(["a", "b", "c", "c.isra.0", "d.constprop.0.cold", "e"])
FRAMES = st.builds(
    frame,
    NAMES,
    inlined=st.booleans(),
    file=st.sampled_from(["mm/x.c", "fs/y.c", ""]),
    owner=st.sampled_from(["vmlinux", "mod"]),
)


def rows(runs: int) -> st.SearchStrategy[list[Row]]:
    """Rows of one kernel, with that many runs."""
    described = st.one_of(st.lists(FRAMES, min_size=1, max_size=5), st.sampled_from(REASONS[1:]))
    counts = st.lists(st.integers(0, 2**40), min_size=runs, max_size=runs)
    return st.lists(st.tuples(described, NAMES, st.booleans(), counts), min_size=1, max_size=12)


KERNELS = st.integers(1, 3).flatmap(
    lambda runs: st.dictionaries(
        st.sampled_from(["base", "b", "c", "d"]), rows(runs), min_size=1, max_size=4
    )
)


@settings(max_examples=examples(300))
@given(KERNELS)
def test_deltas_of_all_rows_sum_to_the_total_delta(kernels: dict[str, list[Row]]) -> None:
    comparison = compare(kernels)
    totals = comparison.totals()
    deltas = comparison.deltas().sum(axis=0)
    unresolved = comparison.unresolved_total()
    assert (deltas + unresolved - unresolved[0] == totals - totals[0]).all()
    by_side = comparison.totals("kernel") + comparison.totals("user")
    assert (by_side == totals).all()
    assert (comparison.total >= comparison.self_).all()
    for index, (label, kernel_rows) in enumerate(kernels.items()):
        assert comparison.labels[index] == label
        run_totals = np.array([row[3] for row in kernel_rows]).sum(axis=0)
        assert totals[index] == sorted(run_totals)[(len(run_totals) - 1) // 2]


@settings(max_examples=examples(200))
@given(rows(2))
def test_a_kernel_does_not_differ_from_itself(kernel_rows: list[Row]) -> None:
    comparison = compare({"a": kernel_rows, "b": kernel_rows})
    assert not comparison.deltas().any()
    assert not (comparison.total[:, 0] - comparison.total[:, 1]).any()


@settings(max_examples=examples(200))
@given(rows(1), rows(1))
def test_swapping_the_kernels_negates_the_deltas(left: list[Row], right: list[Row]) -> None:
    one, other = compare({"l": left, "r": right}), compare({"r": right, "l": left})

    def table(comparison: object, column: int) -> Counter[tuple[object, ...]]:
        return Counter(
            (f.name, f.object, f.in_kernel, int(delta))
            for f, delta in zip(
                comparison.functions, comparison.deltas()[:, 1] * column, strict=True
            )  # type: ignore[attr-defined]
        )

    assert table(one, 1) == table(other, -1)


STACKS = st.lists(st.lists(st.integers(0, 4), max_size=6), max_size=20)


def interned(stacks: list[list[int]]) -> tuple[StackTable, np.ndarray]:
    offsets = np.cumsum([0, *map(len, stacks)]).astype(np.int64)
    return StackTable.intern(offsets, np.array([f for stack in stacks for f in stack], np.int64))


def spelled(table: StackTable, index: int) -> list[int]:
    names: list[int] = []
    while index >= 0:
        names.insert(0, int(table.function[index]))
        index = int(table.parent[index])
    return names


@settings(max_examples=examples(200))
@given(STACKS, STACKS)
def test_stack_tables_keep_every_stack(left: list[list[int]], right: list[list[int]]) -> None:
    one, leaves = interned(left)
    other, _ = interned(right)
    assert [spelled(one, leaf) for leaf in leaves] == left
    assert (one.parent < np.arange(len(one))).all()
    merged, from_one, from_other = one.merged_with(other)
    assert [spelled(merged, i) for i in from_one] == [spelled(one, i) for i in range(len(one))]
    assert [spelled(merged, i) for i in from_other] == [
        spelled(other, i) for i in range(len(other))
    ]
    every = [tuple(spelled(merged, i)) for i in range(len(merged))]
    order = list(zip(merged.depth, merged.parent, merged.function, strict=True))
    assert order == sorted(order)
    assert [len(stack) - 1 for stack in every] == merged.depth.tolist()
    assert len(set(every)) == len(every)


@settings(max_examples=examples(200))
@given(STACKS)
def test_self_and_total_equal_a_plain_sum(stacks: list[list[int]]) -> None:
    table, leaves = interned(stacks)
    counts = np.zeros((len(table), 1), np.int64)
    own, total = Counter[int](), Counter[int]()
    for number, (stack, leaf) in enumerate(zip(stacks, leaves, strict=True)):
        if stack:
            counts[leaf] += number + 1
            own[stack[-1]] += number + 1
            total.update(dict.fromkeys(set(stack), number + 1))
    for stack, outer in enumerate(table.outer().tolist()):
        below = int(table.parent[stack])
        while below >= 0 and table.function[below] != table.function[stack]:
            below = int(table.parent[below])
        assert outer == below
    assert table.self_by_function(counts, 5)[:, 0].tolist() == [own[f] for f in range(5)]
    assert table.total_by_function(counts, 5)[:, 0].tolist() == [total[f] for f in range(5)]


@given(st.text(alphabet="ab.israconstpld0123456789_", max_size=30))
def test_folding_is_reversible(symbol: str) -> None:
    name, suffix = fold(symbol)
    assert name + suffix == symbol
    assert fold(name) == (name, "")
    assert name or not symbol


@given(rows(2))
def test_profiles_keep_every_count(kernel_rows: list[Row]) -> None:
    assert profile(kernel_rows).totals[:, 0].tolist() == [
        sum(row[3][run] for row in kernel_rows) for run in range(2)
    ]


def few(runs: int) -> st.SearchStrategy[list[Row]]:
    """Rows whose counts often cancel out."""
    counts = st.lists(st.integers(0, 2), min_size=runs, max_size=runs)
    described = st.one_of(st.lists(FRAMES, min_size=1, max_size=5), st.sampled_from(REASONS[1:]))
    return st.lists(st.tuples(described, NAMES, st.booleans(), counts), min_size=1, max_size=12)


@settings(max_examples=examples(300))
@given(few(4))
def test_a_difference_of_runs_is_that_of_each_function(kernel_rows: list[Row]) -> None:
    """What cancels out is gone, and nothing else is."""
    whole = profile(kernel_rows)
    left = whole.subtracted(2)

    def sums(one: Profile) -> dict[Function, tuple[list[int], list[int]]]:
        counts = one.counts[:, :, 0]
        self_ = one.stacks.self_by_function(counts, len(one.functions)).tolist()
        total = one.stacks.total_by_function(counts, len(one.functions)).tolist()
        return dict(zip(one.functions, zip(self_, total, strict=True), strict=True))

    def less(row: list[int]) -> list[int]:
        return [row[0] - row[2], row[1] - row[3]]

    found = sums(left)
    for function, (self_, total) in sums(whole).items():
        assert found.get(function, ([0, 0], [0, 0])) == (less(self_), less(total))
    assert left.stacks.inclusive(np.abs(left.counts[:, :, 0])).any(axis=1).all()
    assert (left.stacks.parent < np.arange(len(left.stacks))).all()
