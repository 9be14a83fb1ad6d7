"""The call paths that carry most of a change: nothing is counted twice, and nothing is lost."""

from collections.abc import Sequence
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from support import error_line, profdiff
from synthetic import Row, compare, findings, frame
from synthetic_joint import part

from profdiff.topics import paths

_TREE = st.lists(
    st.tuples(
        st.lists(st.sampled_from("abcd"), min_size=1, max_size=5), *[st.integers(0, 999)] * 2
    ),
    min_size=1,
    max_size=12,
)


def _row(names: Sequence[str], *counts: int) -> Row:
    return [frame(name) for name in names], names[0], True, counts


@given(_TREE)
def test_paths_and_the_rest_are_the_change(tree: list[tuple[list[str], int, int]]) -> None:
    rows = [(("main", *names), base, other) for names, base, other in tree]
    comparison = compare(
        {
            "base": [_row(names, base + 1) for names, base, _ in rows],
            "new": [_row(names, other + 1) for names, _, other in rows],
        }
    )
    found = paths.paths_of(comparison, 1)
    whole = sum(other - base for _, base, other in rows)
    assert found.whole.delta == whole
    assert sum(path.delta for path in found.paths) + found.rest.delta == whole
    for path in found.paths:
        assert abs(path.delta) >= found.part * abs(whole)
        # Against the tree: its own stacks, without those that deeper paths have.
        inner = [
            other.functions
            for other in found.paths
            if len(other.functions) > len(path.functions)
            and other.functions[: len(path.functions)] == path.functions
        ]
        under = (
            other - base
            for names, base, other in rows
            if list(names[: len(path.functions)]) == path.functions
            and not any(list(names[: len(one)]) == one for one in inner)
        )
        if len(found.paths) < 8:
            assert path.delta == sum(under)
    if whole and len(found.paths) < 8:
        assert abs(found.rest.delta) < found.part * abs(whole)


def test_lines_of_functions(tmp_path: Path) -> None:
    start = ("main", "sys", "walk")
    kernels = {
        "base": [
            _row((*start, "copy"), 100),
            _row((*start, "free"), 50),
            _row(start, 1000),
            _row(("main",), 7),
        ],
        "new": [
            _row((*start, "copy"), 900),
            _row((*start, "free", "flush"), 250),
            _row((*start, "free"), 50),
            _row(start, 1010),
            _row(("main",), 7),
        ],
    }
    section = paths.section(findings([compare(kernels)]))
    assert section.sentences == ["new: 2 call paths have 99% of the change in instructions."]
    (table,) = section.tables
    at = table.index("path")
    assert [row[at] for row in table.rows] == [["...", "copy"], ["...", "free", "flush"]]
    delta = table.index("delta", "new")
    assert [row[delta] for row in (*table.rows, *table.sums)] == [800, 250, 10, 1060]
    assert table.notes[0] == "... is main > sys > walk."


def test_paths_that_cancel_add_up_and_leave_out_what_they_share(tmp_path: Path) -> None:
    """Code moved from one callee to another, and the caller executes less itself."""
    start = ("main", "sys", "walk")
    kernels = {
        "base": [_row((*start, "old"), 900), _row(start, 500), _row(("main",), 5)],
        "new": [_row((*start, "new"), 1200), _row(start, 300), _row(("main",), 6)],
    }
    section = paths.section(findings([compare(kernels)]))
    assert section.sentences == [
        "new: of the change of +101 instructions, 1 call path has +1,200, 2 have -1,100, and +1 is "
        "elsewhere."
    ]
    (table,) = section.tables
    at = table.index("path")
    assert [row[at] for row in table.rows] == [["...", "new"], ["...", "old"], ["walk"]]
    assert table.notes[0] == "... is main > sys > walk."
    full = table.index("functions")
    assert [row[full] for row in table.rows][2] == list(start)


def test_without_callers_there_are_none(tmp_path: Path) -> None:
    session = part(tmp_path / "S", {one: [_row(("f",), 9, 9)] for one in ("base", "new")})
    assert "only exact counts with callers have paths" in error_line(
        profdiff("report", session.folder, "paths", status=2)
    )
