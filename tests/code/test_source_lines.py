"""Source lines of several kernels: the sources alone pair them, where they are known."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from profdiff.sources.sources import Sources
from profdiff.views.annotation.lines import paired_lines
from profdiff.views.annotation.source_lines import SourceLine, SourceLines

# Few, so that many are the same; white space is no difference.
TEXTS = ("{", "  {", "}", "a = b;", "a  =  b;", "return 0;", "x++;", "")
FILES = ("mm/x.c", "include/y.h")
Tree = dict[str, tuple[str, ...]]


class Held(Sources, frozen=True):
    """Sources in memory."""

    @staticmethod
    def of(held: Tree) -> "Held":
        return Held("held", "memory", None, None, dict(held))  # type: ignore[arg-type]

    def lines(self, file: str) -> Sequence[str] | None:
        return self._known.get(file)


@st.composite
def kernels(
    draw: st.DrawFn,
) -> tuple[list[Tree | None], list[list[SourceLine]], list[np.ndarray]]:
    """The sources of two or three kernels, None where unknown; the line of each of their
    instructions; which instructions belong together."""
    text = st.lists(st.sampled_from(TEXTS), min_size=1, max_size=8).map(tuple)
    number = draw(st.integers(2, 3))
    trees = [draw(st.none() | st.dictionaries(st.sampled_from(FILES), text)) for _ in range(number)]
    lines: list[list[SourceLine]] = []
    for tree in trees:
        known = [
            SourceLine(file, line)
            for file in FILES
            for line in range(1, len((tree or {}).get(file, TEXTS)) + 1)
        ]
        lines.append(draw(st.lists(st.sampled_from([SourceLine("", 0), *known]), max_size=12)))
    length = max(map(len, lines))
    rows = np.full((length, number), -1, np.int64)
    for kernel, own in enumerate(lines):
        at = draw(st.permutations(range(length)))[: len(own)]
        rows[at, kernel] = np.arange(len(own))
    return trees, lines, [rows]


def bare(text: str) -> str:
    return "".join(text.split())


@given(kernels())
def test_each_line_is_in_one_record_of_its_own_text(
    drawn: tuple[list[Tree | None], list[list[SourceLine]], list[np.ndarray]],
) -> None:
    trees, lines, rows = drawn
    labels = [str(number) for number in range(len(trees))]
    sources = {
        label: Held.of(tree) for label, tree in zip(labels, trees, strict=True) if tree is not None
    }
    known = SourceLines(labels, [1] * len(trees), sources)
    records = paired_lines(rows, lines, known)
    for kernel, own in enumerate(lines):
        found = [record[kernel] for record in records if kernel in record]
        assert sorted(found) == sorted(set(own))
    for record in records:
        assert len({line.file for line in record.values()}) == 1
        texts = set()
        for kernel, line in record.items():
            file = (trees[kernel] or {}).get(line.file)
            wanted = file[line.line - 1] if file else None
            assert known.text(kernel, line) == wanted
            if wanted is not None:
                texts.add(bare(wanted))
        assert len(texts) <= 1
    # Numbers that guide the alignment hold to the same.
    told: dict[int, set[str]] = {}
    for kernel, own in enumerate(lines):
        for line, number in zip(own, known.hints(kernel, own).tolist(), strict=True):
            assert (number == 0) == (line.line == 0)
            text = known.text(kernel, line)
            if text is not None and all(line.file in (tree or {}) for tree in trees):
                told.setdefault(number, set()).add(bare(text))
    assert all(len(texts) == 1 for texts in told.values())


def both(old: Sequence[str], new: Sequence[str] | None) -> SourceLines:
    held = {"base": Held.of({"mm/x.c": tuple(old)})}
    if new is not None:
        held["new"] = Held.of({"mm/x.c": tuple(new)})
    return SourceLines(["base", "new"], [1, 1], held)


def at(*lines: int, file: str = "mm/x.c") -> list[SourceLine]:
    return [SourceLine(file, line) for line in lines]


ONE_TO_ONE = [np.array([[0, 0], [1, 1], [2, 2]])]


def test_code_does_not_pair_what_the_sources_tell_apart() -> None:
    """As in mincore_pte_range: the test of one line has become that of the line before it."""
    old = ["if (none(pte))", "else if (present(pte))", "*vec = 1;"]
    new = ["", "if (none(pte) || marker(pte))", "else if (present(pte)) {", " *vec = 1;"]
    mine, theirs = at(1, 2, 3), at(2, 3, 4)
    records = paired_lines(ONE_TO_ONE, [mine, theirs], both(old, new))
    # The last one is the same but for white space; the others are not, whatever their code is.
    assert [{k: line.line for k, line in one.items()} for one in records if len(one) == 2] == [
        {0: 3, 1: 4}
    ]
    assert len(records) == 5
    # Where the sources of one kernel are unknown, code pairs them.
    known = both(old, None)
    records = paired_lines(ONE_TO_ONE, [mine, theirs], known)
    assert [[one[0].line, one[1].line] for one in records] == [[1, 2], [2, 3], [3, 4]]
    assert [known.text(1, one[1]) for one in records] == [None] * 3


def test_lines_of_different_files_are_never_one() -> None:
    known = SourceLines(["base", "new"], [1, 1], {})
    other = at(1, 2, 3, file="include/x.h")
    records = paired_lines(ONE_TO_ONE, [at(1, 2, 3), other], known)
    assert all(len(one) == 1 for one in records) and len(records) == 6


def test_a_third_kernel_is_paired_with_the_second_where_the_first_has_no_sources() -> None:
    text = ("a();", "b();", "c();")
    trees = {"one": Held.of({"mm/x.c": text}), "two": Held.of({"mm/x.c": ("", *text)})}
    known = SourceLines(["base", "one", "two"], [9, 9, 9], trees)
    nothing = np.array([[0, -1, -1], [-1, 0, -1], [-1, 1, -1], [-1, -1, 0], [-1, -1, 1]])
    records = paired_lines([nothing], [at(7), at(1, 2), at(2, 4)], known)
    shown = [{k: line.line for k, line in one.items()} for one in records]
    assert {1: 1, 2: 2} in shown and {1: 2} in shown and {2: 4} in shown and {0: 7} in shown
