"""Runs that deterministic guests would only fail at again are left out, and said to be."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic import manifest

from profdiff.recording.alike import Alike
from profdiff.recording.schedule import PendingRun
from profdiff.session import manifest as m

BOOT = m.Failure("boot", "the kernel panicked while booting: no memory")
WORK = m.Failure("workload", "the workload ended with exit status 1")


@dataclass(frozen=True)
class Named:
    """Stands for a collector or a kernel's files."""

    name: str = "exact"
    label: str = ""


@dataclass(frozen=True)
class Guests:
    """Stands for a recorder."""

    emulated: bool = True
    collector: Named = Named()


def pending(label: str, point: int, repetition: int = 1, *, emulated: bool = True) -> PendingRun:
    kernel, recorder = Named(label=label), Guests(emulated)
    name = f"{label}-p{point}-{repetition}"
    return PendingRun(name, kernel, recorder, point, repetition, "")  # type: ignore[arg-type]


def planned(points: int, *, vary: bool = False, cpus: Sequence[int] = (1,)) -> m.Manifest:
    made = [m.Point({"n": str(n)}, cpus[n % len(cpus)]) for n in range(points)]
    return m.replace(manifest(["a", "b"], runs=0), points=made, order=m.Order(vary=vary))


def names(waiting: Sequence[PendingRun]) -> list[str]:
    return [one.id for one in waiting]


def test_a_cell_that_failed_is_not_repeated() -> None:
    alike = Alike(planned(2))
    alike.ended(pending("a", 0), WORK)
    waiting = [pending("a", 0, 2), pending("a", 0, 3), pending("a", 1), pending("b", 0)]
    assert names(alike.without(waiting)) == ["a-p1-1", "b-p0-1"]
    assert alike.lines() == [
        "a: left out 2 runs that would fail as others did; the same command tries again"
    ]


def test_a_kernel_that_does_not_boot_is_tried_once() -> None:
    """With this number of vCPUs, and this kernel."""
    alike = Alike(planned(6, cpus=(1, 2)))
    alike.ended(pending("a", 0), BOOT)
    waiting = [pending(label, point) for label in "ab" for point in range(1, 6)]
    kept = names(alike.without(waiting))
    assert kept == ["a-p1-1", "a-p3-1", "a-p5-1", *(f"b-p{point}-1" for point in range(1, 6))]
    assert [line.partition(" runs")[0] for line in alike.lines()] == ["a: left out 2"]


def test_a_workload_may_fail_at_some_points_only() -> None:
    alike = Alike(planned(9))
    for point in (0, 1):
        alike.ended(pending("a", point), WORK)
    alike.ended(pending("a", 2), m.Failure("workload", "something else"))
    assert len(alike.without([pending("a", 3)])) == 1
    alike.ended(pending("a", 3), WORK)
    assert alike.without([pending("a", 4)]) == []


def test_a_command_that_fails_alike_on_two_kernels_stops_all() -> None:
    alike = Alike(planned(4))
    alike.ended(pending("a", 2), WORK)
    alike.ended(pending("b", 1), m.Failure("workload", "something else"))
    assert len(alike.without([pending("a", 3), pending("b", 3)])) == 2
    alike.ended(pending("b", 0), WORK)
    assert alike.without([pending("a", 3), pending("b", 3)]) == []


def test_what_finished_once_is_not_hopeless() -> None:
    alike = Alike(planned(9))
    alike.ended(pending("a", 8), None)
    for point in range(5):
        alike.ended(pending("a", point), WORK)
    assert names(alike.without([pending("a", 6)])) == ["a-p6-1"]


@pytest.mark.parametrize(("vary", "emulated"), [(True, True), (False, False)])
def test_what_is_not_deterministic_is_tried_again(vary: bool, emulated: bool) -> None:
    alike = Alike(planned(9, vary=vary))
    waiting = [pending("a", 0, number, emulated=emulated) for number in range(2, 9)]
    for point in range(5):
        alike.ended(pending("a", point, emulated=emulated), BOOT)
    assert alike.without(waiting) == alike.ordered(waiting) == waiting
    assert not alike.lines()


def test_the_next_recording_begins_with_what_was_left_out() -> None:
    """In the order of before it would fail at the same points first, for ever."""
    before = planned(5)
    failed = [
        m.replace(run, id=f"a-p{n}-1", point=n, failure=WORK)
        for n in range(3)
        for run in manifest(["a"]).runs
    ]
    alike = Alike(m.replace(before, runs=failed))
    waiting = [pending("a", point, 2 if point < 3 else 1) for point in range(5)]
    assert names(alike.ordered(waiting)) == ["a-p3-1", "a-p4-1", "a-p0-2", "a-p1-2", "a-p2-2"]
    assert len(alike.without(waiting)) == 5


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 5), st.booleans()), max_size=30))
def test_every_cell_without_a_failure_of_its_own_kernel_is_kept(
    ended: list[tuple[str, int, bool]],
) -> None:
    alike = Alike(planned(6))
    for label, point, well in ended:
        alike.ended(pending(label, point), None if well else WORK)
    waiting = [pending(label, point) for label in "ab" for point in range(6)]
    kept = {(one.kernel.label, one.point) for one in alike.without(waiting)}
    for label in "ab":
        failed = {point for who, point, well in ended if who == label and not well}
        finished = any(well for who, _, well in ended if who == label)
        free = set(range(6)) - failed
        expected = free if finished or len(failed) < 3 else set()
        # Both failed with one message and nothing finished: the command is wrong.
        if {who for who, _, _ in ended} == {"a", "b"} and not any(well for _, _, well in ended):
            expected = set()
        # Where it finished only after it failed at three points, the verdict stood already.
        mine = {point for who, point in kept if who == label}
        assert mine == expected or (finished and not mine and len(failed) >= 3)
