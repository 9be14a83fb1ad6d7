"""The whole bisection but for builds and guests."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import synthetic
from made_repository import Made, make

from profdiff.base.git import Git
from profdiff.bisection import bisecting
from profdiff.bisection.evidence import Evidence
from profdiff.bisection.git_bisect import GitBisect
from profdiff.bisection.kept import Kept, Question
from profdiff.bisection.measuring import label_of
from profdiff.bisection.verdict import Verdict
from profdiff.evidence.conditions.condition import Condition
from profdiff.session.bisection import Bisection
from profdiff.session.session import Session
from profdiff.sources.repository import Repository


class Measured:
    """``values``: what is counted of each commit, bad above 150."""

    def __init__(self, kept: Kept, values: dict[str, float]) -> None:
        self.kept, self.values, self.booted = kept, values, dict[str, None]()
        self.kernels, self.recorders, self.judge, self.session = None, [], self, None
        self.condition, self.what = Condition.parse("instructions:total > +50"), "instructions"
        self.good, self.bad = map(label_of, (kept.content.question.good, kept.content.question.bad))

    def verdict(self, commit: str, likely: Sequence[str] = ()) -> Verdict:
        self.booted[label_of(commit)] = None
        value = self.values[commit]
        return Verdict("bad" if value > 150 else "good", value)

    def mark(self, commit: str, likely: Sequence[str]) -> str:
        return self.verdict(commit).mark

    def number(self, commit: str, likely: Sequence[str] = ()) -> float | None:
        return next(own for one, own in self.values.items() if one.startswith(commit))

    def lengths(self) -> tuple[int | None, int | None]:
        return None, None

    def tested(self) -> list[str]:
        return list(self.booted)


def line(count: int) -> dict[str, Made]:
    return {f"c{i}": Made({"n": f"{i}\n"}, [f"c{i - 1}"] if i else []) for i in range(count)}


def bisected(
    folder: Path, commits: dict[str, Made], values: Sequence[float], all_above: float | None = None
) -> tuple[Bisection, dict[str, str]]:
    """What is found, and the names of commits by their hashes."""
    made = make(folder / "linux", commits)
    hashes = list(made.commits.values())
    good, bad = hashes[0], hashes[-1]
    kept = Kept.of(folder / "b", Question(repository="x", good=good, bad=bad))
    measured = Measured(kept, dict(zip(hashes, values, strict=True)))

    def gather(_asked: Any, folder: Path, *rest: Any) -> Evidence:
        ends = dict(zip(("parent", "culprit", "bad"), rest[1], strict=True))
        session = Session(folder, synthetic.manifest(["parent", "culprit"]))
        session.save = lambda manifest: setattr(session, "manifest", manifest)  # type: ignore[method-assign]
        own = {label: measured.values[commit] for label, commit in ends.items()}
        return Evidence(session, own, "confirmed", 1.0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bisecting, "gather", gather)
        asked: Any = (None, "c0", "last", None, folder / "b", None)
        asking = bisecting.Asking(*asked, all_above=all_above, suspects=False)
        git = GitBisect.make(Git.open(made.folder), folder / "git", good)
        repository, equipment = Repository.open(made.folder), None
        parts: Any = (asking, repository, git, measured, equipment, good, bad)
        found = bisecting._Bisecting(*parts).run().manifest.bisection
    assert found
    return found, {commit: name for name, commit in made.commits.items()}


def test_the_culprit_of_a_line(tmp_path: Path) -> None:
    found, names = bisected(tmp_path, line(9), [100.0] * 5 + [200.0] * 4)
    assert (names[found.parent.commit], names[found.culprit.commit]) == ("c4", "c5")
    assert (found.parent.value, found.culprit.value, found.explained) == (100.0, 200.0, 1.0)
    assert found.tested == 3, "and good and bad"


def test_a_bad_parent_of_a_merge_is_the_culprit(tmp_path: Path) -> None:
    """c3 merges c1 and c2, of which c2 is bad."""
    commits = line(1) | {
        "c1": Made({"n": "1\n"}, ["c0"]),
        "c2": Made({"m": "2\n"}, ["c0"]),
        "c3": Made({"n": "1\n", "m": "2\n"}, ["c1", "c2"]),
        "c4": Made({"n": "4\n"}, ["c3"]),
    }
    found, names = bisected(tmp_path, commits, [100.0, 100.0, 200.0, 200.0, 200.0])
    assert (names[found.parent.commit], names[found.culprit.commit]) == ("c0", "c2")


def test_further_steps_have_their_values(tmp_path: Path) -> None:
    """c2 is the culprit, c6 a further step."""
    values = [100.0, 100.0, 200.0, 200.0, 200.0, 200.0, 230.0, 230.0]
    found, names = bisected(tmp_path, line(8), values, all_above=0.01)
    (other,) = found.others
    assert (names[found.culprit.commit], names[other.culprit.commit]) == ("c2", "c6")
    assert (other.parent.value, other.culprit.value) == (200.0, 230.0)
