"""A value that was taken over and does not hold: the whole bisection but for builds and guests."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import synthetic
from extent import examples
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from made_repository import Made, MadeRepository, make

from profdiff.base.git import Git
from profdiff.bisection import bisecting
from profdiff.bisection.evidence import Evidence
from profdiff.bisection.git_bisect import GitBisect
from profdiff.bisection.kept import Kept, Question
from profdiff.bisection.kernels import label_of
from profdiff.bisection.verdict import Verdict
from profdiff.evidence.conditions.condition import Condition
from profdiff.session.bisection import Bisection
from profdiff.session.session import Session
from profdiff.sources.repository import Repository


class Fake:
    """Measures commits by their numbers: those of ``slow`` cost 100 more, those from ``slower`` on
    30. What ``lies`` has the
    value of another commit as long as values are taken over."""

    def __init__(
        self,
        kept: Kept,
        commits: list[str],
        slow: set[int],
        lies: dict[int, int],
        slower: int,
    ) -> None:
        self.slower = slower
        self.kept, self.commits, self.slow, self.lies = kept, commits, slow, lies
        self.kernels, self.recorders, self.judge, self.session = None, [], self, None
        self.condition = Condition.parse("instructions:total > +50")
        self.what = "instructions:total"
        self.good, self.bad = label_of(commits[0]), label_of(commits[-1])
        self.booted: set[int] = set()

    def real(self, commit: str) -> float:
        number = self.commits.index(commit)
        return (200.0 if number in self.slow else 100.0) + 30.0 * (number >= self.slower)

    def verdict(self, commit: str, likely: Sequence[str] = ()) -> Verdict:
        number = self.commits.index(commit)
        if self.kept.content.taking_over and number in self.lies:
            commit = self.commits[self.lies[number]]
            self.kept.take_over(self.commits[number], commit)
        else:
            self.booted.add(number)
        value = self.real(commit)
        return Verdict("bad" if value > 150 else "good", value)

    def holds(self, commit: str, value: float | None) -> bool:
        other = self.kept.content.taken_over.get(commit)
        if other is not None and value is None:
            self.booted.add(self.commits.index(commit))
        return other is None or self.real(commit) == self.real(other)

    def mark(self, commit: str, likely: Sequence[str]) -> str:
        return self.verdict(commit, likely).mark

    def number(self, commit: str, likely: Sequence[str] = ()) -> float | None:
        if len(commit) == len(self.good):
            commit = next(one for one in self.commits if one.startswith(commit))
        return self.verdict(commit, likely).number

    def lengths(self) -> tuple[int | None, int | None]:
        return None, None

    def tested(self) -> list[str]:
        return [self.commits[number][:12] for number in sorted(self.booted)]


def line(count: int) -> dict[str, Made]:
    return {f"c{i}": Made({"n": f"{i}\n"}, [f"c{i - 1}"] if i else []) for i in range(count)}


def found(folder: Path, count: int, culprit: int, lies: dict[int, int]) -> tuple[Bisection, Kept]:
    made = make(folder / "linux", line(count))
    return searched(folder, made, culprit, set(range(culprit, count)), lies)


def searched(
    folder: Path,
    made: MadeRepository,
    culprit: int,
    slow: set[int],
    lies: dict[int, int],
    *,
    slower: int = 10**9,
    **options: Any,
) -> tuple[Bisection, Kept]:
    hashes = list(made.commits.values())
    good, bad = hashes[0], hashes[-1]
    kept = Kept.of(folder / "b", Question(repository="x", good=good, bad=bad))
    fake = Fake(kept, hashes, slow, lies, slower)

    def gather(_asked: Any, folder: Path, *rest: Any, candidates: list[str]) -> Evidence:
        ends = dict(zip(("parent", "culprit", "bad"), rest[1], strict=True))
        session = Session(folder, synthetic.manifest(["parent", "culprit"]))
        session.save = lambda manifest: setattr(session, "manifest", manifest)  # type: ignore[method-assign]
        return Evidence(session, {k: fake.real(v) for k, v in ends.items()}, "confirmed", 1.0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bisecting, "gather", gather)
        asked = bisecting.Asking(
            None,
            "c0",
            "last",
            None,
            folder / "b",
            None,
            suspects=False,
            **options,  # type: ignore[arg-type]
        )
        git = GitBisect.make(Git.open(made.folder), folder / "git", good)
        repository = Repository.open(made.folder)
        whole = bisecting._Bisecting(asked, repository, git, fake, None, good, bad)  # type: ignore[arg-type]
        session = whole.run()
    assert session.manifest.bisection
    assert session.manifest.bisection.culprit.commit == hashes[culprit]
    return session.manifest.bisection, kept


@pytest.mark.slow
@settings(max_examples=examples(5), phases=[Phase.explicit, Phase.generate])
@given(st.data())
def test_the_culprit_is_found_whatever_is_taken_over_wrongly(data: st.DataObject) -> None:
    import tempfile

    count = data.draw(st.integers(3, 9))
    culprit = data.draw(st.integers(1, count - 1))
    between = st.integers(1, count - 2)
    lies = data.draw(st.dictionaries(between, st.sampled_from([0, count - 1]), max_size=4))
    with tempfile.TemporaryDirectory() as folder:
        found(Path(folder), count, culprit, lies)


def test_a_lie_at_the_end_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bisection, kept = found(tmp_path, 5, 3, {3: 0})
    assert not kept.content.taking_over
    assert (bisection.taken_over, bisection.explained) == (0, 1.0)
    assert (
        "but is not measured alike: values are not taken over any more" in capsys.readouterr().err
    )


def test_what_holds_is_trusted(tmp_path: Path) -> None:
    bisection, kept = found(tmp_path, 5, 3, {2: 0, 3: 4})
    assert kept.content.taking_over
    assert bisection.taken_over == 0, "the evidence booted both"
    bisection, _ = found(tmp_path / "more", 9, 5, {4: 0, 5: 8, 2: 0, 6: 8})
    assert bisection.taken_over <= 2
    assert bisection.parent.commit[:12] not in ("", bisection.good.commit[:12])


@pytest.mark.parametrize("step", ["begin", "distrust"])
def test_killed_between_git_and_what_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Wherever it is killed as a lie comes out, no mark that came of the lie stays."""
    made = make(tmp_path / "linux", line(5))
    killed = []

    def kill(*_: object, **__: object) -> None:
        # The search begins before.
        killed.append(step)
        if step == "distrust" or len(killed) > 1:
            raise KeyboardInterrupt
        real_begin(*_, **__)  # type: ignore[arg-type]

    real_begin = GitBisect.begin
    with monkeypatch.context() as patch:
        patch.setattr(*((GitBisect, step) if step == "begin" else (Kept, step)), kill)
        with pytest.raises(KeyboardInterrupt):
            searched(tmp_path, made, 3, {3, 4}, {3: 0})
    bisection, _ = searched(tmp_path, made, 3, {3, 4}, {3: 0})
    assert bisection.culprit.commit == made.commits["c3"]


@pytest.mark.parametrize("lies", [{1: 0, 2: 0}, {1: 0}, {2: 0}])
def test_each_parent_of_a_merge_is_measured(tmp_path: Path, lies: dict[int, int]) -> None:
    """c3 merges c1 and c2. One of these is bad, whatever its code says; both lie."""
    commits = line(1) | {
        "c1": Made({"n": "1\n"}, ["c0"]),
        "c2": Made({"m": "2\n"}, ["c0"]),
        "c3": Made({"n": "1\n", "m": "2\n"}, ["c1", "c2"]),
        "c4": Made({"n": "4\n"}, ["c3"]),
    }
    made = make(tmp_path / "linux", commits)
    bisection, kept = searched(tmp_path, made, 2, {2, 3, 4}, lies)
    assert bisection.parent.commit == made.commits["c0"]
    assert kept.content.taking_over is (2 not in lies)


@pytest.mark.slow
@pytest.mark.parametrize("lies", [{}, {6: 5}, {5: 7}, {5: 7, 6: 0}])
def test_the_ends_of_further_steps_are_measured(tmp_path: Path, lies: dict[int, int]) -> None:
    """c2 is the culprit, c6 a further step, which lies would move."""
    made = make(tmp_path / "linux", line(8))
    bisection, _ = searched(tmp_path, made, 2, set(range(2, 8)), lies, slower=6, all_above=0.01)
    (other,) = bisection.others
    assert other.culprit.commit == made.commits["c6"]
    assert (other.parent.value, other.culprit.value) == (200.0, 230.0)


def test_nothing_taken_over_is_used_without_same_code(tmp_path: Path) -> None:
    """What is booted the second time is what the first time took over."""
    made = make(tmp_path / "linux", line(9))
    lies = {number: 0 if number < 4 else 8 for number in range(1, 8)}
    _, kept = searched(tmp_path, made, 4, set(range(4, 9)), lies)
    assert kept.content.taken_over
    bisection, kept = searched(tmp_path, made, 4, set(range(4, 9)), lies, same_code=False)
    assert (kept.content.taking_over, bisection.taken_over) == (False, 0)
    assert bisection.tested >= 3
