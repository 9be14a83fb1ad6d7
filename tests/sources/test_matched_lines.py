"""Which lines of two files are the same one: laws, and what blame says of a repository."""

import itertools
import random
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from made_repository import Made, make, numbered

from profdiff.sources.moves import matched_lines, moved_lines
from profdiff.sources.repository import Repository

LINES = st.lists(st.sampled_from(["}", "", "\treturn 0;", "a();", "b();", "c();"]), max_size=30)
# Each line once, in any order, and long enough for git to see that it was moved.
UNIQUE = st.lists(
    st.integers(0, 25).map("called_with_so_many_words({});".format), unique=True, max_size=25
)


@given(LINES, LINES)
def test_pairs_are_equal_and_rise(old: list[str], new: list[str]) -> None:
    found = matched_lines(old, new)
    assert found.shape == (len(old),)
    pairs = [(i, int(j)) for i, j in enumerate(found) if j >= 0]
    assert all(old[i] == new[j] for i, j in pairs)
    assert [j for _, j in pairs] == sorted({j for _, j in pairs})
    assert (len(pairs) == len(old)) if old == new else True
    assert bool(pairs) or not set(old) & set(new)


@given(LINES)
def test_white_space_is_no_difference(lines: list[str]) -> None:
    indented = [f"  {line.replace('(', ' ( ')}\t" for line in lines]
    assert matched_lines(lines, indented).tolist() == list(range(len(lines)))


@given(LINES, LINES)
def test_moved_lines_are_equal_and_each_once(old: list[str], new: list[str]) -> None:
    risen, found = matched_lines(old, new).tolist(), moved_lines(old, new).tolist()
    assert all(a == b for a, b in zip(risen, found, strict=True) if a >= 0)
    pairs = [(i, j) for i, j in enumerate(found) if j >= 0]
    assert all(old[i] == new[j] for i, j in pairs) and len({j for _, j in pairs}) == len(pairs)


@given(UNIQUE, UNIQUE)
def test_every_line_that_stands_once_is_found_where_it_was_moved(
    old: list[str], new: list[str]
) -> None:
    assert (moved_lines(old, new) >= 0).sum() == len(set(old) & set(new))


def test_a_function_that_was_put_before_another_one() -> None:
    first = ["int f(struct page *page)", "{", "\tput_the_page(page);", "}"]
    second = ["int g(void)", "{", "\tthe_other_function();", "\tc();", "}"]
    assert moved_lines([*first, *second], [*second, *first]).tolist()[:4] == [5, 6, 7, 8]


def test_a_few_letters_elsewhere_are_chance() -> None:
    old, new = ["a();", *numbered(1, 5)], [*numbered(1, 5), "a();"]
    assert moved_lines(old, new).tolist() == matched_lines(old, new).tolist()
    assert moved_lines(old, new).tolist() == [-1, 0, 1, 2, 3, 4]


def test_blame_has_the_same_notion(tmp_path: Path) -> None:
    """Of a file in a repository, for edits of every kind."""
    chance, commits = random.Random(5), {}
    versions = [[*numbered(1, 40), *["}", ""] * 20]]
    chance.shuffle(versions[0])
    for _ in range(25):
        lines = list(versions[-1])
        for _ in range(chance.randint(1, 6)):
            at = chance.randrange(len(lines))
            part = lines[at : at + chance.randint(1, 9)]
            edit = chance.choice(["insert", "delete", "move", "indent", "copy"])
            if edit in ("delete", "move"):
                del lines[at : at + len(part)]
            if edit in ("move", "copy"):
                to = chance.randrange(len(lines))
                lines[to:to] = part
            if edit == "insert":
                lines.insert(at, f"\tadded_{chance.random()}();")
            if edit == "indent":
                lines[at : at + len(part)] = [f"\t{line}" for line in part]
        versions.append(lines)
    for number, lines in enumerate(versions):
        text = "".join(f"{line}\n" for line in lines)
        commits[f"v{number}"] = Made({"a.c": text}, [f"v{number - 1}"] if number else [])
    made = make(tmp_path / "tree", commits)
    repository = Repository.open(made.folder)
    left = 0
    for number, (old, new) in enumerate(itertools.pairwise(versions)):
        base, now = (repository.commit(f"v{at}") for at in (number, number + 1))
        same = repository.same_lines(base, now, ["a.c"])
        told = [same.in_new("a.c", line) for line in range(1, len(old) + 1)]
        found = matched_lines(old, new).tolist()
        assert [line[1] - 1 if line else -1 for line in told] == found
        left += found.count(-1)
    assert left > 50
