"""What blame says of a known history, against what each commit was measured to cost."""

from collections import defaultdict
from pathlib import Path

import pytest
import whole_run
from blame import truth
from blame.versions import version
from extent import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import RESTORED, profdiff
from synthetic import build, manifest

from profdiff.collectors.guest.qemu import Qemu
from profdiff.profile.comparison import Comparison
from profdiff.profile.kernel_profile import Profile
from profdiff.profile.recordings import Recordings
from profdiff.session.session import Session
from profdiff.sources.repository import Repository
from profdiff.views.annotation.making import Annotations
from profdiff.views.blame import Blame, blame

pytestmark = pytest.mark.guest
NUMBERS = range(len(truth.STEPS))


@pytest.fixture(scope="session")
def recorded_history(old_kernel: Path, qemu: Qemu) -> Path:
    """A folder with the repository (``repo``) and one session in which every commit's program ran,
    all of them in one guest."""

    def make(folder: Path) -> None:
        repo, programs = folder / "repo", folder / "programs"
        repo.mkdir()
        programs.mkdir()
        built = [
            truth.build(repo, commit, number, programs)
            for number, commit in enumerate(truth.make(repo))
        ]
        truth.git(repo, "checkout", "-q", "main")
        script = folder / "all.sh"
        script.write_text("#!/bin/sh\nset -e\nfor one in /work/work-??; do $one; done\n")
        script.chmod(0o755)
        kernels = [f"--kernel={label}={old_kernel}" for label in ("one", "two")]
        files = [f"--file={program}" for program in built]
        profdiff("record", *RESTORED, *kernels, *files, "-o", folder / "s.profdiff", "--", script)

    return whole_run.once("blame-history", make)


@pytest.fixture(scope="session")
def profiles(recorded_history: Path) -> list[Profile]:
    """What each commit's program executed."""
    (whole,) = Recordings(Session.open(recorded_history / "s.profdiff")).comparisons()
    return [version(whole, f"work-{number:02}") for number in NUMBERS]


@pytest.fixture(scope="session")
def hashes(recorded_history: Path) -> list[str]:
    return truth.git(recorded_history / "repo", "rev-list", "--reverse", "main").split()


def compared(profiles: list[Profile], base: int, new: int) -> Comparison:
    return build(manifest(["base", "new"]), {"base": profiles[base], "new": profiles[new]})


@pytest.fixture(scope="session")
def blamed(recorded_history: Path, profiles: list[Profile], hashes: list[str]) -> Blame:
    """The first commit against the last one."""
    repository = Repository.open(recorded_history / "repo")
    return blame(compared(profiles, 0, -1), 1, repository, (hashes[0], hashes[-1]))


def by_commit(blamed: Blame, commit: str) -> dict[str, int]:
    """What the rows of a commit have, and those that suspect it first, by kind."""
    found: dict[str, int] = defaultdict(int)
    for row in blamed.rows:
        if row.commit == commit or row.suspects[:1] == [commit]:
            found[row.kind] += row.effect
    return found


def test_it_adds_up(blamed: Blame, profiles: list[Profile]) -> None:
    first, last = (int(profiles[number].totals[0, 0]) for number in (0, -1))
    assert last - first == blamed.delta == sum(row.instructions for row in blamed.rows)
    assert blamed.delta == sum(row.effect for row in blamed.rows)
    assert blamed.delta > 50_000
    for row in blamed.rows:
        assert row.instructions == row.added + row.removed
        assert row.instructions == sum(share.instructions for share in row.functions)
        assert row.effect == sum(share.effect for share in row.functions)


@pytest.mark.parametrize("number", [n for n in NUMBERS[1:] if truth.STEPS[n].by != "together"])
def test_each_commit_has_what_it_cost(
    number: int, blamed: Blame, profiles: list[Profile], hashes: list[str]
) -> None:
    """Its own lines; a caller made longer also has those that are executed more often for it, in
    rows that name it as the suspect."""
    step = truth.STEPS[number]
    cost = int(profiles[number].totals[0, 0] - profiles[number - 1].totals[0, 0])
    said = by_commit(blamed, hashes[number])
    # The compiler may lay out the lines beside otherwise; they are its suspects too.
    assert sum(said.values()) == pytest.approx(cost, abs=100), (step.subject, said)
    if step.by == "more-often":
        assert said["commit"] > 0
        assert said["more-often"] > 0
    else:
        assert said["commit"] == pytest.approx(cost, abs=100), step.subject


@pytest.mark.parametrize("number", [n for n in NUMBERS if truth.STEPS[n].by == "calls"])
def test_a_commit_that_changes_a_call_has_what_ran_below_it(
    number: int, blamed: Blame, profiles: list[Profile], hashes: list[str]
) -> None:
    """One line: little of what vanishes, or comes, with it. Its caller's other lines are compiled
    otherwise without a call, which nobody can tell from the line's own."""
    cost = int(profiles[number].totals[0, 0] - profiles[number - 1].totals[0, 0])
    (own,) = [row for row in blamed.rows if row.commit == hashes[number]]
    assert abs(own.instructions) < abs(cost) / 3
    assert own.effect == pytest.approx(cost, abs=100)
    assert {share.function for share in own.functions} >= {"audited (work)", "digest (work)"}
    # Seen by lines, what called functions executed more or less often is explained by it.
    for row in blamed.rows:
        if row.kind == "more-often" and "audited (work)" in {one.function for one in row.functions}:
            assert hashes[number] in row.suspects
            assert not row.effect


def test_code_that_moved_into_a_helper_is_not_its_commits_effect(
    blamed: Blame, profiles: list[Profile], hashes: list[str]
) -> None:
    """The commit adds the call of the helper; what runs there ran before."""
    (number,) = [n for n in NUMBERS if truth.STEPS[n].by == "moved"]
    cost = int(profiles[number].totals[0, 0] - profiles[number - 1].totals[0, 0])
    (row,) = [row for row in blamed.rows if row.commit == hashes[number]]
    assert abs(cost) < 1000
    assert row.effect == pytest.approx(cost, abs=100)
    assert "audited (work)" not in {share.function for share in row.functions}


def test_two_commits_in_one_line_are_told_together(
    blamed: Blame, profiles: list[Profile], hashes: list[str]
) -> None:
    numbers = [n for n in NUMBERS if truth.STEPS[n].by == "together"]
    first, second = numbers
    cost = int(profiles[second].totals[0, 0] - profiles[first - 1].totals[0, 0])
    pair = {hashes[first], hashes[second]}
    rows = [row for row in blamed.rows if row.commit in pair or pair & {*row.suspects}]
    assert sum(row.instructions for row in rows) == cost
    for row in rows:
        if row.commit:
            assert {row.commit, *row.together} == pair
    # The base's line went with the first, and the last one's is there now.
    assert (
        by_commit(blamed, hashes[first])["commit"] < 0 < by_commit(blamed, hashes[second])["commit"]
    )
    others = [row for row in blamed.rows if row.commit and row.commit not in pair]
    assert not [row for row in others if row.together]


def test_moved_code_and_new_names_cost_nothing(blamed: Blame, hashes: list[str]) -> None:
    for number, step in enumerate(truth.STEPS):
        if step.subject.startswith(("sums: move", "all: a better", "sums: another", "calls: tidy")):
            assert not any(by_commit(blamed, hashes[number]).values()), step.subject
    (pair,) = blamed.renamed
    assert (pair.vanished, pair.new) == ("old_name (work)", "new_name (work)")
    assert pair.alike > 0.9


def test_an_annotation_says_what_its_function_may_be_renamed_to(profiles: list[Profile]) -> None:
    """By the code alone; of what both executed nothing is said."""
    made = Annotations(compared(profiles, 0, -1))
    for name, other in (("old_name", "new_name"), ("new_name", "old_name")):
        told = made.annotation(f"{name} (work)").notes
        assert f"perhaps renamed: the code of {other} (work) is like it" in told
    assert "renamed" not in str(made.annotation("kept (work)").notes)
    assert "renamed" not in str(made.annotation("removed (work)").notes)


def test_nothing_is_unexplained(blamed: Blame) -> None:
    """The C library executes the same, and every line of the program is known."""
    kinds = {row.kind for row in blamed.rows}
    assert kinds <= {"commit", "more-often", "other-code"}
    assert not blamed.notes


def test_another_version_is_told(
    recorded_history: Path, profiles: list[Profile], hashes: list[str]
) -> None:
    """The last program is said to be of the second commit, in which functions stood elsewhere and
    a file had another name."""
    repository = Repository.open(recorded_history / "repo")
    found = blame(compared(profiles, 0, -1), 1, repository, (hashes[0], hashes[1]))
    assert found.delta == sum(row.instructions for row in found.rows)
    kinds = {row.kind: row for row in found.rows}
    assert {"unmatched", "generated"} <= kinds.keys()
    assert {share.function for share in kinds["unmatched"].functions} >= {"caller (work)"}
    assert "totals.c" not in str(found.notes)
    (note,) = found.notes
    assert "calls.c" in note
    assert "of new" in note


@settings(
    max_examples=examples(20),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.tuples(*[st.sampled_from(NUMBERS)] * 2))
def test_any_two_commits_add_up(
    recorded_history: Path, profiles: list[Profile], hashes: list[str], pair: tuple[int, int]
) -> None:
    """Backwards too: what the newer one has and the older one has not was removed then."""
    base, new = min(pair), max(pair)
    repository = Repository.open(recorded_history / "repo")
    found = blame(compared(profiles, base, new), 1, repository, (hashes[base], hashes[new]))
    cost = int(profiles[new].totals[0, 0] - profiles[base].totals[0, 0])
    assert found.delta == cost == sum(row.instructions for row in found.rows)
    assert cost == sum(row.effect for row in found.rows)
    assert {row.commit for row in found.rows if row.commit} <= {*hashes[base + 1 : new + 1]}
    if new == base:
        assert not found.rows
