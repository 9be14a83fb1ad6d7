"""Varied states of a recording: whether it can have them, and in how many what changed is recorded
until its verdict stands."""

from collections.abc import Callable, Collection, Iterator

from profdiff.collectors import registry
from profdiff.collectors.architecture import Architecture
from profdiff.recording.schedule import States, has_states
from profdiff.session import manifest as m
from profdiff.session.points import Cells, Setting, cells, settings
from profdiff.session.states import StateChange, holds, settled

BY_DEFAULT = 4
"""In how many varied states a changed cell is seen at most, where nobody says it."""


def is_exact(collector: str) -> bool:
    """Whether it counts exactly: of those that have states, others are repeated in suites alone."""
    return registry.collector(collector).kind.exact


def refusal(
    order: m.Order, collectors: Collection[str], architecture: Architecture | None
) -> str | None:
    """Why what is recorded cannot be repeated in varied states; None if it can."""
    if architecture is None or not any(map(has_states, collectors)):
        return "--vary-state repeats exact counts of guests: add --collector exact"
    if order.vary:
        return "--vary-state and --vary-boots: a state has all that boots vary: leave one out"
    return None


def wanted(
    manifest: m.Manifest,
    most: int,
    threshold: float,
    is_wanted: Callable[[str], bool] = has_states,
) -> States:
    """By row of the points, in how many varied states what there is of a session wants to be seen:
    none where no kernel changed by at least ``threshold`` of the base, else so many that no such
    change holds or all that hold are settled, and at most ``most``. It grows as runs are made.
    ``is_wanted``: of which collectors."""
    found: dict[int, int] = {}
    for collector in filter(is_wanted, manifest.collectors):
        known = cells(manifest)
        for setting in settings(manifest):
            number = _wanted(manifest, _Seen(known, collector, setting), most, threshold)
            for point in setting.points if number else ():
                found[point] = max(number, found.get(point, 0))
    return found


def unseen(manifest: m.Manifest, threshold: float) -> int:
    """How many cells of a suite's session changed by at least ``threshold``, and were seen in the
    plain state alone."""
    number = 0
    for collector in filter(has_states, manifest.collectors):
        known = cells(manifest)
        for setting in settings(manifest):
            seen = _Seen(known, collector, setting)
            varied = any(seen.is_made(kernel.label, 1) for kernel in manifest.compared)
            number += bool(_wanted(manifest, seen, 1, threshold)) and not varied
    return number


class _Seen:
    """What the kernels count at a setting."""

    def __init__(self, known: Cells, collector: str, setting: Setting) -> None:
        self._known, self._collector, self._setting = known, collector, setting

    def is_made(self, label: str, state: int) -> bool:
        """Whether all runs of a kernel in a state are there, failed or not."""
        return all(list(self._runs(label, point, state)) for point in self._setting.points)

    def value(self, label: str, state: int) -> float | None:
        """What a kernel counts in a state, the shorter length subtracted; None without a result."""
        counts = []
        for point in self._setting.points:
            runs = self._runs(label, point, state)
            done = next((run for run in runs if run.failure is None and run.measured), None)
            if done is None:
                return None
            counts.append(done.measured[0].values[0])
        return counts[-1] - (counts[0] if self._setting.short is not None else 0.0)

    def change(self, base: str, label: str, state: int) -> StateChange | None:
        """The change from ``base``; None without both values."""
        before, after = self.value(base, state), self.value(label, state)
        return None if before is None or after is None else StateChange(before, after)

    def _runs(self, label: str, point: int, state: int) -> Iterator[m.Run]:
        made = self._known.get((label, self._collector, point), ())
        return (run for run in made if run.state == state)


def _wanted(manifest: m.Manifest, seen: _Seen, most: int, threshold: float) -> int:
    base, *others = (kernel.label for kernel in manifest.compared)
    plain = {label: seen.change(base, label, 0) for label in others}
    changes = {
        label: [change]
        for label, change in plain.items()
        if change and change.delta and not abs(change.relative) < threshold
    }
    if not changes:
        return 0
    compared = [base, *(label for label, change in plain.items() if change)]
    for state in range(1, most + 1):
        if not all(seen.is_made(label, state) for label in compared):
            return state
        for label, told in changes.items():
            if change := seen.change(base, label, state):
                told.append(change)
        if all(map(_stands, changes.values())):
            return state
    return most


def _stands(changes: list[StateChange]) -> bool:
    return len(changes) > 1 and (settled(changes) or not holds(changes))
