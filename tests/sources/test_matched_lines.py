"""Which lines of two files are the same one: laws, and git's own patience diff."""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from made_repository import ENV, numbered
from support import need_program

from profdiff.sources.matched_lines import matched_lines, moved_lines

LINES = st.lists(st.sampled_from(["}", "", "\treturn 0;", "a();", "b();", "c();"]), max_size=30)
# Each line once, in any order.
UNIQUE = st.lists(st.integers(0, 25).map("f({});".format), unique=True, max_size=25)


@given(LINES, LINES)
@settings(deadline=None)
def test_pairs_are_equal_and_rise(old: list[str], new: list[str]) -> None:
    found = matched_lines(old, new)
    assert found.shape == (len(old),)
    pairs = [(i, int(j)) for i, j in enumerate(found) if j >= 0]
    assert all(old[i] == new[j] for i, j in pairs)
    assert [j for _, j in pairs] == sorted({j for _, j in pairs})
    assert (len(pairs) == len(old)) if old == new else True
    assert bool(pairs) or not set(old) & set(new)


@given(LINES)
@settings(deadline=None)
def test_white_space_is_no_difference(lines: list[str]) -> None:
    indented = [f"  {line.replace('(', ' ( ')}\t" for line in lines]
    assert matched_lines(lines, indented).tolist() == list(range(len(lines)))


@given(UNIQUE, UNIQUE)
@settings(deadline=None)
def test_as_many_as_can_be(old: list[str], new: list[str]) -> None:
    """Where each line stands once, patience finds a longest common subsequence."""
    assert (matched_lines(old, new) >= 0).sum() == _longest(old, new)


@given(LINES, LINES)
@settings(deadline=None)
def test_moved_lines_are_equal_and_each_once(old: list[str], new: list[str]) -> None:
    risen, found = matched_lines(old, new).tolist(), moved_lines(old, new).tolist()
    assert all(a == b for a, b in zip(risen, found, strict=True) if a >= 0)
    pairs = [(i, j) for i, j in enumerate(found) if j >= 0]
    assert all(old[i] == new[j] for i, j in pairs) and len({j for _, j in pairs}) == len(pairs)


@given(UNIQUE, UNIQUE)
@settings(deadline=None)
def test_every_line_that_stands_once_is_found_where_it_was_moved(
    old: list[str], new: list[str]
) -> None:
    assert (moved_lines(old, new) >= 0).sum() == len(set(old) & set(new))


def test_a_function_that_was_put_before_another_one() -> None:
    first = ["int f()", "{", "\ta();", "}"]
    second = ["int g()", "{", "\tb();", "\tc();", "}"]
    assert moved_lines([*first, *second], [*second, *first]).tolist()[:4] == [5, 6, 7, 8]


def _longest(old: Sequence[str], new: Sequence[str]) -> int:
    row = [0] * (len(new) + 1)
    for one in old:
        before = row
        row = [0]
        for j, other in enumerate(new):
            row.append(before[j] + 1 if one == other else max(row[j], before[j + 1]))
    return row[-1]


def test_as_git_does(tmp_path: Path) -> None:
    """Two functions changed places, one was renamed, one is longer."""
    need_program("git")
    functions = [
        [f"int {name}(int n)", "{", *numbered(1, 5, name), "\treturn n;", "}", ""]
        for name in ("one", "two", "three", "four")
    ]
    old = [line for function in functions for line in function]
    longer = [*functions[3][:4], "\tmore();", *functions[3][4:]]
    renamed = ["int zwei(int n)", *functions[1][1:]]
    new = [line for part in (functions[2], functions[0], renamed, longer) for line in part]
    paths = [tmp_path / "old", tmp_path / "new"]
    for path, lines in zip(paths, (old, new), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines))
    command = ["git", "diff", "--no-index", "-U0", "-w", "--patience", *map(str, paths)]
    said = subprocess.run(command, capture_output=True, check=False, env=ENV).stdout.decode()
    removed = {
        int(first) + i
        for first, count in re.findall(r"^@@ -(\d+)(?:,(\d+))?", said, re.MULTILINE)
        for i in range(int(count or 1))
    }
    found = {i + 1 for i, j in enumerate(matched_lines(old, new)) if j < 0}
    assert removed and found == removed
