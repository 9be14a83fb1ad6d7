"""Which commits a bisection tries first."""

from pathlib import Path

import pytest
from blame import truth
from hypothesis import given
from hypothesis import strategies as st

from profdiff.base.errors import InputError
from profdiff.evidence.blame.attribution import BlamedPart
from profdiff.evidence.blame.delta import Blamed, ranked, suspects
from profdiff.session.session import Session


def test_the_commit_with_most_of_the_delta(session: Path, repo: Path) -> None:
    old, new = (truth.git(repo, "rev-parse", tag).strip() for tag in ("v6.12.107", "v6.18.15"))
    found = suspects(Session.open(session), "base", "new", repo, (old, new))
    assert found == [new]
    with pytest.raises(InputError, match="base, new"):
        suspects(Session.open(session), "new", "base", repo, (old, new))


def blamed(
    parts: list[BlamedPart], named: dict[tuple[str, int], tuple[str, ...]], delta: int | None = None
) -> Blamed:
    total = sum(part.delta for part in parts) if delta is None else delta
    return Blamed(total, [], parts, [], {}, named, [], {}, {"a": frozenset({"z"})})  # type: ignore[arg-type]


def test_by_size_in_the_direction_of_the_delta() -> None:
    parts = [
        BlamedPart("commit", "a", 0, 50, 0),
        BlamedPart("commit", "b", 0, 70, -10),
        BlamedPart("commit", "c", 0, 0, -90),
        BlamedPart("commit", "d", 1, 20, 0),
    ]
    assert ranked(blamed(parts, {}, 40)) == ["b", "a", "d", "z", "c"]
    assert ranked(blamed(parts, {}, -40))[0] == "c"


def test_lines_that_nobody_changed_count_for_their_suspects() -> None:
    parts = [BlamedPart("commit", "d", 0, 5, 0), BlamedPart("more-often", "", 1, 100, 0)]
    assert ranked(blamed(parts, {("more-often", 1): ("x", "y")})) == ["x", "y", "d"]


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(-99, 99)), max_size=12))
def test_each_commit_once(told: list[tuple[str, int]]) -> None:
    parts = [
        BlamedPart("commit", commit, number, max(size, 0), min(size, 0))
        for number, (commit, size) in enumerate(told)
    ]
    found = ranked(blamed(parts, {}))
    assert len(found) == len(set(found))
    assert set(found) - {"z"} == {commit for commit, _ in told}
