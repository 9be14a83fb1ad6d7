"""Varied states: which runs they add to a plan, and when a suite's cell needs no more of them."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import EXAMPLE, error_line, profdiff
from synthetic import manifest

from profdiff.collectors.guest.boot import Variation, VariedState
from profdiff.collectors.guest.delivery import Delivery
from profdiff.collectors.records import Measured
from profdiff.recording import plan, schedule, states
from profdiff.recording.alike import Alike
from profdiff.recording.shard import Shard
from profdiff.session import manifest as m
from profdiff.session.points import settings
from profdiff.views.results import recording


@dataclass(frozen=True)
class Named:
    """Stands for a collector or a kernel's files."""

    name: str = "exact"
    label: str = ""


@dataclass(frozen=True)
class Guests:
    """Stands for a recorder."""

    emulated: bool = True
    alone: bool = False
    collector: Named = Named()


WORK = m.Failure("workload", "the workload ended with exit status 1")
Count = Callable[[str, int, int], float | None]


def planned(points: int = 1, labels: str = "ab", **order: int) -> m.Manifest:
    made = [m.Point({"n": str(n)}, 1, ops=10) for n in range(points)]
    return m.replace(manifest(list(labels), runs=0), points=made, repeat=1, order=m.Order(**order))


def missing(
    session: m.Manifest,
    wanted: schedule.States | None = None,
    chosen: schedule.Chosen | None = None,
    collectors: str = "exact",
) -> list[schedule.PendingRun]:
    kernels = [Named(label=one.label) for one in session.kernels]
    recorders = [Guests(collector=Named(name)) for name in collectors.split()]
    return schedule.missing_runs(
        session,
        kernels,  # type: ignore[arg-type]
        recorders,  # type: ignore[arg-type]
        chosen,
        wanted,
    )


def made(session: m.Manifest, runs: list[schedule.PendingRun], count: Count) -> m.Manifest:
    """With ``runs``, which count what ``count`` says of a kernel, a point and a state; None: they
    fail."""
    done = []
    for one in runs:
        value = count(one.kernel.label, one.point, one.state)
        told = [Measured("instructions", "", "lower", True, [value])] if value is not None else []
        done.append(
            m.Run(
                id=one.id,
                kernel=one.kernel.label,
                collector=one.recorder.collector.name,
                point=one.point,
                repetition=one.repetition,
                state=one.state,
                started="",
                wall_seconds=1,
                files={},
                failure=None if told else WORK,
                measured=told,
            )
        )
    return m.replace(session, runs=[*session.runs, *done])


def recorded(
    session: m.Manifest, count: Count, most: int = 4, at_once: int | None = None
) -> m.Manifest:
    """As a suite records it; killed after ``at_once`` runs, again and again."""
    for _ in range(1000):
        runs = missing(session, {})
        if not runs:
            wanted = states.wanted(session, most, 0.05)
            runs = missing(session, wanted, lambda place: place.state > 0)
        if not runs:
            return session
        session = made(session, runs[:at_once], count)
    raise AssertionError("it never ends")


def seen(session: m.Manifest) -> dict[int, set[tuple[str, int]]]:
    """By point, the kernels and states of its runs."""
    found: dict[int, set[tuple[str, int]]] = {}
    for run in session.runs:
        found.setdefault(run.point, set()).add((run.kernel, run.state))
    return found


def in_all(last: int, labels: str = "ab") -> set[tuple[str, int]]:
    return {(label, state) for label in labels for state in range(last + 1)}


def of_four(label: str, point: int, state: int) -> float:
    """Cells that change by 3%, by 20 to 40%, by 210% in the plain state alone, and by 20 to 40% but
    in the third state."""
    scattered = [1.3, 1.4, 1.2][state % 3]
    change = [1.03, scattered, 3.1 if not state else 1.02, 1.0 if state == 3 else scattered][point]
    return (1000 + state) * (change if label == "b" else 1)


@pytest.mark.parametrize("at_once", [None, 1, 3])
def test_a_suite_repeats_what_changed_until_its_verdict_stands(at_once: int | None) -> None:
    """Also when it is interrupted after every run."""
    session = recorded(planned(4), of_four, at_once=at_once)
    assert seen(session) == {0: in_all(0), 1: in_all(4), 2: in_all(1), 3: in_all(3)}
    ids = Counter(run.id for run in session.runs)
    assert set(ids.values()) == {1}
    assert not missing(session, states.wanted(session, 4, 0.05))


def test_a_change_of_one_size_is_settled_in_two_varied_states() -> None:
    def count(label: str, _: int, state: int) -> float:
        return (1000 + state) * ([1.3, 1.35, 1.27][state % 3] if label == "b" else 1)

    assert seen(recorded(planned(), count)) == {0: in_all(2)}


def test_a_suite_repeats_as_often_as_it_is_told() -> None:
    assert seen(recorded(planned(4), of_four, most=0)) == dict.fromkeys(range(4), in_all(0))
    session = recorded(planned(4), of_four, most=1)
    assert seen(session) == {0: in_all(0), **dict.fromkeys((1, 2, 3), in_all(1))}
    assert seen(recorded(session, of_four, most=6))[1] == in_all(6)
    assert states.unseen(session, 0.05) == 0
    assert states.unseen(recorded(planned(4), of_four, most=0), 0.05) == 3


def test_each_kernel_has_a_verdict_of_its_own() -> None:
    """One change of two holds; and a kernel that comes later is seen in all states, too."""

    def count(label: str, _: int, state: int) -> float:
        third = 1300.0 if state % 2 else 1500.0
        return {"a": 1000.0, "b": 2000.0 if state else 500.0, "c": third}[label]

    session = recorded(planned(), count)
    assert seen(session)[0] == in_all(1)
    later = m.replace(session, kernels=planned(labels="abc").kernels)
    assert seen(recorded(later, count))[0] == in_all(4, "abc")


def test_two_lengths_are_repeated_both() -> None:
    """Their difference is what changes."""
    plain = planned()
    points = [m.Point({"n": "1"}, 1, ops=10), m.Point({"n": "2"}, 1, ops=20, shorter=0)]
    session = m.replace(plain, points=points)

    def count(label: str, point: int, state: int) -> float:
        return 1e6 + 100 * point * (1 if label == "a" or state > 1 else 2)

    assert seen(recorded(session, count)) == {0: in_all(2), 1: in_all(2)}


def test_a_state_that_fails_is_not_tried_for_ever() -> None:
    def count(label: str, _: int, state: int) -> float | None:
        dear = 1600 if state % 2 else 2000
        return None if state == 2 and label == "b" else (dear if label == "b" else 1000)

    session = planned()
    for _ in range(6):
        runs = missing(session, {}) or missing(
            session, states.wanted(session, 4, 0.05), lambda place: place.state > 0
        )
        session = made(session, runs, count)
    assert {run.state for run in session.runs if run.failure is None} == {0, 1, 2, 3, 4}
    failed = schedule.still_failed(session)
    assert {(run.kernel, run.state) for run in failed} == {("b", 2)}
    assert [run.id for run in failed][:2] == ["b-s2", "b-s2-2"]


def test_a_state_that_failed_keeps_no_other_from_being_tried() -> None:
    alike = Alike(planned(2, states=2))
    plain, first, second = (run for run in missing(planned(states=2)) if run.kernel.label == "a")
    alike.ended(first, WORK)
    assert alike.without([plain, first, second]) == [plain, second]
    alike.ended(plain, WORK)
    assert alike.without([plain, second]) == []


def test_a_recording_is_in_as_many_states_as_it_is_told(tmp_path: Path) -> None:
    """More can be asked for later, and more repetitions."""

    def count(*_: object) -> float:
        return 1.0

    session = planned(2, states=2)
    runs = missing(session, collectors="exact timed")
    assert Counter(run.recorder.collector.name for run in runs) == {"exact": 12, "timed": 4}
    assert [run.state for run in runs] == [0] * 4 + [1] * 4 + [2] * 4 + [0] * 4
    assert {(run.id, run.repetition, run.title) for run in runs if run.state == 2} >= {
        ("a-p1-s2", 3, "n 0, state 2")
    }
    session = made(session, [run for run in runs if run.recorder.collector.name == "exact"], count)
    assert schedule.in_no_shard(session) == 0
    assert schedule.in_no_shard(m.replace(session, runs=session.runs[:-1])) == 1

    m_new = m.replace(session, runs=[], order=m.Order(states=3), repeat=2)
    assert plan.difference(session, m_new) is None
    assert plan.difference(session, m.replace(m_new, order=m.Order())) is None
    assert plan.difference(session, m.replace(m_new, order=m.Order(seed=1))) == "--seed 0"
    more = plan.updated(session, m_new)
    assert plan.updated(more, planned(2)).order.states == 3
    assert sorted(run.id for run in missing(more)) == [
        f"{label}-p{point}-{number}" for label in "ab" for point in (1, 2) for number in (4, "s3")
    ]
    numbers = Counter(
        (run.kernel, run.point, run.repetition) for run in made(more, missing(more), count).runs
    )
    assert set(numbers.values()) == {1}


def test_the_bases_twin_would_count_what_the_base_does() -> None:
    session = m.replace(planned(states=2), twin_repeat=2)
    base, other = session.kernels
    session = m.replace(session, kernels=[base, m.replace(base, label="a.aa", twin_of="a"), other])
    assert Counter((run.kernel.label, run.state > 0) for run in missing(session)) == {
        ("a", False): 1,
        ("a", True): 2,
        ("a.aa", False): 2,
        ("b", False): 1,
        ("b", True): 2,
    }


def test_what_a_kernel_lacks_it_lacks_in_every_state() -> None:
    session = planned(states=2)
    session = made(session, missing(session), lambda *_: 1.0)
    absent = m.Failure("absent", "not there: x (ENOSYS)")
    lacking = m.replace(session.runs[0], failure=absent, measured=[])
    assert missing(m.replace(session, runs=[lacking, *session.runs[1:2]])) != []
    assert {run.kernel.label for run in missing(m.replace(session, runs=[lacking]))} == {
        {"a": "b", "b": "a"}[lacking.kernel]
    }
    assert states.wanted(m.replace(session, runs=[lacking, *session.runs[1:]]), 4, 0.05) == {}


def test_a_window_is_that_of_the_plain_state() -> None:
    """In the others, the one of a whole command is two."""
    session = planned(states=1)
    session = made(session, missing(session), lambda *_: 1.0)
    runs = [
        m.replace(run, window=m.Window(kind="command", count=1 + run.state)) for run in session.runs
    ]
    told = recording.workload(m.replace(session, runs=runs), settings(session)[0])
    assert told.description.endswith("whole command)")
    assert "whole command or" not in told.description


@given(st.integers(1, 5), st.integers(0, 3), st.integers(1, 3))
def test_shards_divide_states_too(number: int, most: int, repeat: int) -> None:
    session = m.replace(planned(3, states=most), repeat=repeat)
    parts = [
        Shard(one, number).runs({"": session}, {"": {0, 1, 2}})[""] for one in range(1, number + 1)
    ]
    every = [run.id for part in parts for run in missing(session, None, part.__contains__)]
    assert sorted(every) == sorted(run.id for run in missing(session))


def test_a_state_is_the_same_for_all_kernels_and_unlike_others() -> None:
    found = [VariedState.drawn(7, number) for number in range(1, 9)]
    assert found == [VariedState.drawn(7, number) for number in range(1, 9)]
    assert len(set(found)) == 8
    assert found[0] != VariedState.drawn(8, 1)
    # Few states are enough to see nodes of 10 and of 16, and a table of 64, filled otherwise.
    for four in (found[:4], found[4:]):
        assert {one.mappings // 8 for one in four} == {0, 1, 2, 3}
        assert len({one.files >= 44 for one in four}) == 2


def test_a_guest_is_told_of_its_state_and_of_nothing_in_the_plain_one() -> None:
    delivery = Delivery([], {})
    varied = Variation.of_state(0, 1, 0.5)
    assert varied.state is not None
    assert varied.state.content() in delivery.content(varied, 0.5)
    assert f"mappings {varied.state.mappings}\n".encode() in delivery.content(varied, 0.5)
    assert b"varied-state" not in delivery.content(Variation.drawn(0, "a", 1, 0.5), 0.5)
    assert b"varied-state" not in delivery.content(Variation(), 0.5)
    assert "norandmaps" not in varied.words("quiet norandmaps")


_REFUSED: Mapping[str, str] = {
    "--collector=timed": "--vary-state repeats exact counts of guests: add --collector exact",
    "--vary-boots": "--vary-state and --vary-boots: a state has all that boots vary: leave one out",
}


@pytest.mark.parametrize("option", _REFUSED)
def test_what_makes_no_sense_is_refused(option: str, tmp_path: Path, old_kernel: Path) -> None:
    words = [f"--kernel=a={old_kernel}", f"--kernel=b={old_kernel}", "--vary-state", "2", option]
    refused = profdiff("plan", *words, "--", EXAMPLE, "4", "20", cwd=tmp_path, status=2)
    assert error_line(refused).removeprefix("profdiff: ") == _REFUSED[option]


def test_plan_shows_states(tmp_path: Path, old_kernel: Path, new_kernel: Path) -> None:
    words = [f"--kernel=a={old_kernel}", f"--kernel=b={new_kernel}"]
    shown = profdiff("plan", *words, "--vary-state", "2", "--", EXAMPLE, "4", "20", cwd=tmp_path)
    assert "6 to do" in shown.stdout
    assert shown.stdout.count("state 2") == 2
    (tmp_path / "s.toml").write_text(
        f'vary-state = 3\n[[workload]]\nname = "w"\ncommand = ["{EXAMPLE}", "4", "20"]\n'
    )
    suite = profdiff("plan", "--suite", "s.toml", *words, cwd=tmp_path)
    assert "2 to do" in suite.stdout
    assert suite.stdout.endswith("until its verdict stands, at most 3\n")
    without = profdiff("plan", "--suite", "s.toml", "--vary-state", "0", *words, cwd=tmp_path)
    assert "varied states" not in without.stdout


def test_a_time_that_no_run_of_a_point_tells_is_a_lower_bound() -> None:
    """A point that has not ended once may take any time; nothing is told before a run has ended."""
    session = planned(2)
    every = missing(session)
    assert not re.search(r"\d m?s\b|min", schedule.runs_left(session, every, 1))
    one = made(session, [run for run in every if run.point == 0], lambda *_: 1.0)
    assert schedule.runs_left(one, missing(one), 1).endswith("or more")
    both = made(session, every, lambda _, point, __: 1.0)
    again = m.replace(both, repeat=2)
    told = schedule.runs_left(again, missing(again), 1)
    assert re.search(r"\d", told)
    assert "or more" not in told
