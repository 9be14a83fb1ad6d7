"""Searches over real git repositories with random histories, against brute force."""

import itertools
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import made_repository
import pytest
from extent import examples
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from made_repository import Made, MadeRepository

from profdiff.base.errors import InputError
from profdiff.base.git import Git
from profdiff.bisection.git_bisect import Found, GitBisect, Mark, Next, Stuck, estimated_steps
from profdiff.bisection.search import FixedError, Jump, besides, jumps, search


@dataclass(frozen=True)
class History:
    """``parents``: by commit, numbers of commits before it; the first has none."""

    parents: Sequence[Sequence[int]]

    def ancestors(self, of: int) -> set[int]:
        """With ``of`` itself."""
        found, waiting = {of}, [of]
        while waiting:
            new = set(self.parents[waiting.pop()]) - found
            found |= new
            waiting += new
        return found

    @property
    def last(self) -> int:
        """The bad end; the good one is 0."""
        return len(self.parents) - 1

    @property
    def behind(self) -> list[int]:
        """The commits that may have made it bad, ``last`` among them."""
        return sorted(self.ancestors(self.last) - {0})

    def make(self, folder: Path) -> MadeRepository:
        commits = {
            f"c{i}": Made({"number": f"{i}\n"}, [f"c{p}" for p in parents])
            for i, parents in enumerate(self.parents)
        }
        return made_repository.make(folder, commits)


@st.composite
def histories(draw: st.DrawFn, *, linear: bool = False, longest: int = 14) -> History:
    """From the first commit to the last, with merges unless ``linear``."""
    count = draw(st.integers(2, longest))
    parents: list[list[int]] = [[]]
    for i in range(1, count):
        first = i - 1 if linear else draw(st.integers(max(0, i - 3), i - 1))
        merged = [] if linear else draw(st.lists(st.integers(0, i - 1), max_size=1))
        parents.append(list(dict.fromkeys([first, *merged])))
    return History(parents)


def bisection(made: MadeRepository, folder: Path) -> GitBisect:
    return GitBisect.make(Git.open(made.folder), folder / "git", made.commits["c0"])


class Oracle:
    """Says of each commit what ``marks`` has, by its number, and counts how often it is asked."""

    def __init__(self, made: MadeRepository, marks: dict[int, Mark], stop: int = 10**9) -> None:
        self._numbers = {name: int(key[1:]) for key, name in made.commits.items()}
        self._marks, self.stop = marks, stop
        self.asked: list[int] = []
        self.likely: list[set[str]] = []

    def __call__(self, commit: str, likely: Sequence[str]) -> Mark:
        if len(self.asked) == self.stop:
            raise KeyboardInterrupt
        self.asked.append(self._numbers[commit])
        self.likely.append(set(likely))
        return self._marks[self.asked[-1]]


class Searched(NamedTuple):
    """``steps``: about how many git says that it needs."""

    commits: list[str]
    oracle: Oracle
    found: Found | Stuck
    steps: int


def searched(history: History, marks: dict[int, Mark], suspects: Sequence[int]) -> Searched:
    """What a search from the first to the last commit of a history finds."""
    with tempfile.TemporaryDirectory() as folder:
        made = history.make(Path(folder) / "repo")
        commits = [made.commits[f"c{i}"] for i in range(history.last + 1)]
        oracle, bisect = Oracle(made, marks), bisection(made, Path(folder))
        steps = estimated_steps(bisect.git, commits[-1], f"^{commits[0]}")
        named = [commits[i] for i in suspects]
        found = search(bisect, commits[0], commits[-1], oracle, named)
        return Searched(commits, oracle, found, steps)


# Without shrinking: a failing history is small as it is, and each try is twenty processes of git.
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
EXAMPLES = settings(max_examples=examples(10), phases=PHASES)


@pytest.mark.slow
@EXAMPLES
@given(st.data())
def test_one_culprit_is_found_whatever_does_not_build(data: st.DataObject) -> None:
    """Of a culprit, commits are bad that have it in their history. What is skipped can hide it, and
    then it is among what is left."""
    history = data.draw(histories())
    last, behind = history.last, history.behind
    culprit = data.draw(st.sampled_from(behind))
    broken = data.draw(st.sets(st.sampled_from(behind), max_size=4)) - {last}
    suspects = data.draw(st.lists(st.sampled_from(behind), max_size=3))
    marks: dict[int, Mark] = {
        i: "skip" if i in broken else "bad" if culprit in history.ancestors(i) else "good"
        for i in range(last + 1)
    }
    commits, oracle, found, steps = searched(history, marks, suspects)
    assert len(set(oracle.asked)) == len(oracle.asked)
    if isinstance(found, Found):
        assert found.commit == commits[culprit]
    else:
        assert broken
        assert commits[culprit] in found.candidates
        testable = {c for c in found.candidates if marks[commits.index(c)] != "skip"}
        assert len(testable) <= 1, "of what can be tested, only the bad end is left"
    if not broken and not suspects:
        assert len(oracle.asked) <= steps + 1
        for now, following in zip(oracle.likely, oracle.asked[1:], strict=False):
            assert commits[following] in now, "what git asks for next was foreseen"


@pytest.mark.slow
@EXAMPLES
@given(st.data())
def test_of_several_culprits_a_first_bad_commit_is_found(data: st.DataObject) -> None:
    """Brute force: what is found is bad, and none of its parents is."""
    history = data.draw(histories())
    last, behind = history.last, history.behind
    culprits = data.draw(st.sets(st.sampled_from(behind), min_size=1, max_size=3))
    suspects = data.draw(st.lists(st.sampled_from(behind), max_size=3))
    marks: dict[int, Mark] = {
        i: "bad" if culprits & history.ancestors(i) else "good" for i in range(last + 1)
    }
    commits, _, found, _ = searched(history, marks, suspects)
    assert isinstance(found, Found)
    number = commits.index(found.commit)
    assert marks[number] == "bad"
    assert all(marks[parent] == "good" for parent in history.parents[number])


@pytest.mark.slow
@EXAMPLES
@given(st.data())
def test_an_interrupted_search_goes_on(data: st.DataObject) -> None:
    """Wherever it stops, what was marked is not asked again, and the end is the same."""
    history = data.draw(histories())
    last, behind = history.last, history.behind
    culprit = data.draw(st.sampled_from(behind))
    suspects = data.draw(st.lists(st.sampled_from(behind), max_size=2))
    marks: dict[int, Mark] = {
        i: "bad" if culprit in history.ancestors(i) else "good" for i in range(last + 1)
    }
    with tempfile.TemporaryDirectory() as folder:
        made = history.make(Path(folder) / "repo")
        commits = [made.commits[f"c{i}"] for i in range(last + 1)]
        named = [commits[i] for i in suspects]
        oracle = Oracle(made, marks, stop=0)
        found: Found | Stuck | None = None
        while found is None:
            try:
                found = search(
                    bisection(made, Path(folder)), commits[0], commits[last], oracle, named
                )
            except KeyboardInterrupt:
                oracle.stop += 1
        assert found == Found(commits[culprit])
        assert len(set(oracle.asked)) == len(oracle.asked)


def test_a_right_suspect_needs_two_tests(tmp_path: Path) -> None:
    history = History([[], *([i] for i in range(40))])
    made = history.make(tmp_path / "repo")
    commits = [made.commits[f"c{i}"] for i in range(41)]
    marks: dict[int, Mark] = {i: "bad" if i >= 33 else "good" for i in range(41)}
    oracle = Oracle(made, marks)
    found = search(bisection(made, tmp_path), commits[0], commits[40], oracle, [commits[33]])
    assert found == Found(commits[33])
    assert oracle.asked == [33, 32]
    assert commits[32] in oracle.likely[0]


def test_the_parents_of_a_suspect_are_asked_only_while_they_tell(tmp_path: Path) -> None:
    """The suspect c5 merges c3, which is bad, and c4: no step is lost to c4."""
    made = History([[], [0], [1], [2], [0], [3, 4], [5]]).make(tmp_path / "repo")
    commits = list(made.commits.values())
    marks: dict[int, Mark] = {i: "bad" if i in (2, 3, 5, 6) else "good" for i in range(7)}
    oracle = Oracle(made, marks)
    found = search(bisection(made, tmp_path), commits[0], commits[6], oracle, [commits[5]])
    assert found == Found(commits[2])
    assert oracle.asked[:2] == [5, 3] and 4 not in oracle.asked


@pytest.mark.slow
def test_a_killed_git_is_gone_on_with(tmp_path: Path) -> None:
    """git writes refs, log and BISECT_HEAD one after the other: each may lack."""
    history = History([[], *([i] for i in range(12))])
    made = history.make(tmp_path / "repo")
    commits = [made.commits[f"c{i}"] for i in range(13)]
    marks: dict[int, Mark] = {i: "bad" if i >= 5 else "good" for i in range(13)}
    state = made.folder / ".git/worktrees/git"
    for damage in ("BISECT_LOG", "BISECT_HEAD", "BISECT_START", "refs/bisect/bad", "BISECT_TERMS"):
        oracle = Oracle(made, marks, stop=2)
        bisect = bisection(made, tmp_path)
        bisect.begin(commits[0], commits[12])
        with pytest.raises(KeyboardInterrupt):
            search(bisect, commits[0], commits[12], oracle)
        (state / damage).unlink()
        oracle.stop = 10**9
        found = search(bisection(made, tmp_path), commits[0], commits[12], oracle)
        assert found == Found(commits[5]), damage
        assert [one.name for one in (tmp_path / "git").iterdir()] == [".git"], "no file is there"


def test_what_can_be_tested_is_the_last_candidate(tmp_path: Path) -> None:
    made = History([[], *([i] for i in range(6))]).make(tmp_path / "repo")
    commits = [made.commits[f"c{i}"] for i in range(7)]
    marks: dict[int, Mark] = {0: "good", 1: "good", 2: "skip", 3: "skip", 4: "bad", 5: "bad"}
    found = search(bisection(made, tmp_path), commits[0], commits[6], Oracle(made, marks))
    assert isinstance(found, Stuck)
    assert found.candidates == commits[2:5]


def test_what_is_skipped_can_be_forgotten(tmp_path: Path) -> None:
    """c3 gave no result once, c5 never does, and a person skipped c4."""
    made = History([[], *([i] for i in range(8))]).make(tmp_path / "repo")
    commits = [made.commits[f"c{i}"] for i in range(9)]
    bisect = bisection(made, tmp_path)
    marks: dict[int, Mark] = {i: "bad" if i >= 4 else "good" for i in range(9)}
    oracle = Oracle(made, {**marks, 3: "skip", 4: "skip", 5: "skip"})
    stuck = search(bisect, commits[0], commits[8], oracle)
    assert isinstance(stuck, Stuck) and set(stuck.candidates) == set(commits[3:7])
    bisect.begin_without(commits[0], commits[8], {commits[3]})
    assert bisect.marked("skip") == {commits[4], commits[5]}
    oracle = Oracle(made, {**marks, 4: "skip", 5: "skip"})
    stuck = search(bisect, commits[0], commits[8], oracle)
    assert isinstance(stuck, Stuck) and set(stuck.candidates) == set(commits[4:7])
    assert not {4, 5} & set(oracle.asked)


def test_a_worktree_half_made_is_made_anew(tmp_path: Path) -> None:
    made = History([[], [0], [1]]).make(tmp_path / "repo")
    folder = tmp_path / "git"
    folder.mkdir()
    (folder / ".git").write_text("gitdir: /nowhere\n")
    assert GitBisect.make(Git.open(made.folder), folder, made.commits["c0"]).log() == []
    (folder / ".git").unlink()
    (folder / "mine").write_text("")
    with pytest.raises(InputError, match="in the way"):
        GitBisect.make(Git.open(made.folder), folder, made.commits["c0"])


def test_good_beside_bad_is_found_from_where_both_come(tmp_path: Path) -> None:
    """c1 is where good (c2) and bad (c4) come from; git asks for it first."""
    made = History([[], [0], [1], [1], [3]]).make(tmp_path / "repo")
    commits = [made.commits[f"c{i}"] for i in range(5)]
    oracle = Oracle(made, {1: "good", 2: "good", 3: "bad", 4: "bad"})
    found = search(bisection(made, tmp_path), commits[2], commits[4], oracle)
    assert found == Found(commits[3])
    assert oracle.asked == [1, 3]
    oracle = Oracle(made, {1: "bad", 2: "good", 3: "bad", 4: "bad"})
    with pytest.raises(FixedError, match="undone on the way to good"):
        search(bisection(made, tmp_path / "2"), commits[2], commits[4], oracle)


def test_the_users_checkout_stays(tmp_path: Path) -> None:
    made = History([[], [0], [1], [2]]).make(tmp_path / "repo")
    made.git("checkout", "-q", "c1")
    (made.folder / "number").write_text("changed\n")
    before = [made.git(*words) for words in (["status", "-b", "--porcelain"], ["branch", "-v"])]
    oracle = Oracle(made, {1: "good", 2: "bad", 3: "bad"})
    bisect = bisection(made, tmp_path)
    search(bisect, made.commits["c0"], made.commits["c3"], oracle)
    after = [made.git(*words) for words in (["status", "-b", "--porcelain"], ["branch", "-v"])]
    assert before == after
    assert (made.folder / "number").read_text() == "changed\n"
    assert [one.name for one in (tmp_path / "git").iterdir()] == [".git"]
    assert isinstance(bisect.state(), Found)
    assert not isinstance(bisect.state(), Next)
    assert any("first bad commit" in line for line in bisect.log())


@pytest.mark.slow
@EXAMPLES
@given(st.data())
def test_every_step_of_a_line_is_found(data: st.DataObject) -> None:
    """Brute force: the values of neighbours. Steps that all go one way cannot hide each other."""
    history = data.draw(histories(linear=True, longest=12))
    last = history.last
    steps = data.draw(st.lists(st.sampled_from([0, 0, 0, 1, 5, 20]), min_size=last, max_size=last))
    values = [100.0]
    for step in steps:
        values.append(values[-1] + step)
    broken = data.draw(st.sets(st.integers(1, max(last - 1, 1)), max_size=3)) - {last}
    threshold = data.draw(st.sampled_from([0.5, 3.0, 10.0]))
    with tempfile.TemporaryDirectory() as folder:
        made = history.make(Path(folder) / "repo")
        commits = [made.commits[f"c{i}"] for i in range(last + 1)]
        known = {c: None if i in broken else values[i] for i, c in enumerate(commits)}
        found = jumps(
            bisection(made, Path(folder)), commits[0], commits[-1], lambda c, _: known[c], threshold
        )
    # Between neighbours that can be measured.
    rows = [i for i in range(last + 1) if i not in broken]
    expected = [
        (commits[a], commits[b], values[b] - values[a])
        for a, b in itertools.pairwise(rows)
        if values[b] - values[a] > threshold
    ]
    assert [(one.parent, one.culprit, one.size) for one in found] == expected
    for one in found:
        between = commits.index(one.culprit) - commits.index(one.parent)
        assert len(one.candidates) == (between if between > 1 else 0)


@pytest.mark.slow
@EXAMPLES
@given(st.data())
def test_steps_up_and_down_are_real(data: st.DataObject) -> None:
    """Ups and downs can hide each other, but what is found is there, and explains the ends."""
    history = data.draw(histories(linear=True, longest=9))
    last = history.last
    values = data.draw(
        st.lists(st.integers(80, 120).map(float), min_size=last + 1, max_size=last + 1)
    )
    with tempfile.TemporaryDirectory() as folder:
        made = history.make(Path(folder) / "repo")
        commits = [made.commits[f"c{i}"] for i in range(last + 1)]
        known = dict(zip(commits, values, strict=True))
        found = jumps(
            bisection(made, Path(folder)), commits[0], commits[-1], lambda c, _: known[c], 0.0
        )
    for one in found:
        assert commits.index(one.culprit) == commits.index(one.parent) + 1
        assert one.size == known[one.culprit] - known[one.parent] != 0
    assert sum(one.size for one in found) == values[-1] - values[0]


def test_a_step_of_a_merge_is_followed_into_its_branch(tmp_path: Path) -> None:
    """c0 - c1 - c5(merge of c4) - c6; c2, c3, c4 branch off c0; c3 and c6 are slower."""
    made = History([[], [0], [0], [2], [3], [1, 4], [5]]).make(tmp_path / "repo")
    commits = [made.commits[f"c{i}"] for i in range(7)]
    values = dict(zip(commits, [100.0, 100, 100, 110, 110, 110, 130], strict=True))
    found = jumps(bisection(made, tmp_path), commits[0], commits[6], lambda c, _: values[c], 1.0)
    assert [one.culprit for one in found] == [commits[3], commits[6]]
    # Of a merge whose branches are both as fast as before, the merge is the step.
    values = dict(zip(commits, [100.0, 100, 100, 100, 100, 110, 110], strict=True))
    found = jumps(bisection(made, tmp_path), commits[0], commits[6], lambda c, _: values[c], 1.0)
    assert [one.culprit for one in found] == [commits[5]]


@pytest.mark.parametrize(
    ("size", "left"), [(10.0, ["c1"]), (10.5, ["c1"]), (30.0, ["c1", "c3"]), (-10.0, ["c1", "c3"])]
)
def test_a_merge_that_brought_the_culprit_is_no_further_step(
    tmp_path: Path, size: float, left: list[str]
) -> None:
    """c3 merges the culprit c2, whose step is 10, into c1; the threshold is 1."""
    made = History([[], [0], [0], [1, 2], [3]]).make(tmp_path / "repo")
    c0, c1, c2, c3, _ = made.commits.values()
    found = [Jump(c0, c1, 100, 150), Jump(c1, c3, 150, 150 + size)]
    others = besides(bisection(made, tmp_path), found, c2, 10.0, 1.0)
    assert [one.culprit for one in others] == [made.commits[name] for name in left]
    assert besides(bisection(made, tmp_path), [Jump(c0, c2, 1, 11)], c2, 10.0, 1.0) == []
