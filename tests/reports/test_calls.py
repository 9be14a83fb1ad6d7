"""Calls and what one costs: a reader who multiplies gets what the table of functions says."""

import re

import numpy as np
from extent import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from synthetic import compare, findings, frame

from profdiff.profile.comparison import Comparison
from profdiff.reports.text import session
from profdiff.topics.functions.measure import calls, functions
from profdiff.topics.functions.selection import Selection

CALLER, OTHER = frame("caller"), frame("other")
SEEN = st.integers(0, 1000)


def counted(called: list[int], inlined: list[int], entries: list[int]) -> Comparison:
    """helper on two kernels: called by ``caller``, and inlined into ``other``."""
    rows = {
        label: [
            ([CALLER], "caller", True, [5]),
            ([CALLER, frame("helper")], "caller", True, [called[k]]),
            ([OTHER, frame("helper", inlined=True)], "other", True, [inlined[k]]),
        ]
        for k, label in enumerate(("base", "new"))
    }
    made = compare(rows, ops=10)
    names = [made.functions[number].name for number in made.stacks.function]
    found = np.zeros_like(made.counts)
    for stack, name in enumerate(names):
        below = made.stacks.parent[stack]
        if name == "helper" and names[below] == "caller":
            found[stack] = entries
    return replace(made, calls=found)


@settings(max_examples=examples(60))
@given(*(st.lists(SEEN, min_size=2, max_size=2) for _ in range(3)))
def test_calls_and_the_rest_are_the_whole(
    called: list[int], inlined: list[int], entries: list[int]
) -> None:
    comparison = counted(called, inlined, entries)
    rows = comparison.rows()
    told = calls(comparison, rows)
    assert told is not None
    for function, one in zip(functions(comparison, rows), told, strict=True):
        for label in comparison.labels:
            own = one.self[label]
            assert own is not None
            assert own + one.no_call[label] == function.self[label]


def test_inlined_copies_stand_beside() -> None:
    shown = session.render(
        findings([counted([150, 0], [90, 330], [10, 0])]), Selection(), width=100
    )
    _, _, table = shown.partition("calls per op (10 ops) and instructions per call\n")
    header, row, *_ = table.splitlines()
    assert "no call base  no call new" in header
    # 1 call of 15 instructions for each op, and 9 in other: 24, of which the other table tells.
    assert row.split() == ["1.00", "0.00", "15.00", "-", "9.00", "33.00", "helper"]
    assert re.search(r"^ *24\.00 +33\.00 .* helper$", shown, re.MULTILINE)
    assert "no call: instructions per op of inlined copies, which self and total leave out" in table


def test_a_caller_that_does_both_is_not_divided() -> None:
    comparison = counted([150, 30], [0, 0], [10, 2])
    both = replace(comparison, inlined=comparison.calls > 0)  # type: ignore[operator]
    helper = [function.name for function in both.functions].index("helper")
    (told,) = calls(both, np.array([helper])) or []
    assert set(told.self.values()) == {None}
    assert told.no_call == {"base": 150, "new": 30}
    shown = session.render(findings([both]), Selection(), width=100)
    assert re.search(r"^ *1\.00 +0\.20 +- +- .* helper$", shown, re.MULTILINE)


def test_without_inlined_copies_there_is_no_such_column() -> None:
    shown = session.render(findings([counted([150, 30], [0, 0], [10, 2])]), Selection(), width=100)
    assert "no call" not in shown
    assert "total: includes callees" in shown
