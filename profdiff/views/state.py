"""Whether kernels did the same work in the same state, in lines: above the results, not below."""

import re
from collections.abc import Iterable
from typing import Literal

from profdiff.session.state import State
from profdiff.views.record import Record

_LONGEST = 60
_WORDS = {
    "anon_huge_kib": "AnonHugePages of the workload (KiB)",
    "resident_kib": "resident memory of the workload (KiB)",
}


class StateLine(Record, frozen=True):
    """``kind``: whether something differs, all that is the same, or all that is unknown."""

    kind: Literal["differs", "same", "unknown"]
    text: str


def lines(state: State) -> list[StateLine]:
    """One line for each difference, then what is equal, and what is not known; none where no run
    told anything."""
    if not state.differences and not state.equal:
        return []
    found = [
        StateLine(kind="differs", text=f"STATE DIFFERS: {name(what)}: {_values(values)}")
        for what, values in state.differences.items()
    ]
    if same := _equal(state):
        found.append(StateLine(kind="same", text=f"same state: {', '.join(same)}"))
    if state.unknown:
        text = f"state not known: {', '.join(state.unknown)}"
        found.append(StateLine(kind="unknown", text=text))
    return found


def name(what: str) -> str:
    """What differs, as people call it."""
    return _WORDS.get(what, what.replace("_", " "))


def _equal(state: State) -> list[str]:
    """What a reader asks for first, with its value; the rest is counted."""
    calls = {
        name.removeprefix("system call "): int(value)
        for name, value in state.equal.items()
        if name.startswith("system call ")
    }
    told = []
    if calls:
        most = max(calls, key=lambda name: calls[name])
        told.append(f"{sum(calls.values()):,} system calls ({most} {calls[most]:,})")
    for known, words in (
        ("minor_faults", "{:,} minor faults"),
        ("anon_huge_kib", "{:,} KiB AnonHugePages"),
        ("exit status", "exit status {}"),
    ):
        if known in state.equal:
            told.append(words.format(int(state.equal[known])))
    if "mm/transparent_hugepage/enabled" in state.equal:
        told.append(f"THP {state.equal['mm/transparent_hugepage/enabled']}")
    if "output" in state.equal:
        told.append("output apart from numbers")
    return told


def _values(values: dict[str, str | None]) -> str:
    start = _alike(value for value in values.values() if value is not None)
    return ", ".join(f"{label} {_short(value, start)}" for label, value in values.items())


def _alike(values: Iterable[str]) -> int:
    """How many characters at the beginning of long texts are the same."""
    known = list(values)
    if len(known) < 2 or max(map(len, known)) <= _LONGEST:
        return 0
    first, last = min(known), max(known)
    pairs = enumerate(zip(first, last, strict=False))
    start = next((i for i, (one, other) in pairs if one != other), len(first))
    return start - len(re.split(r"\s", first[:start])[-1])


def _short(value: str | None, start: int = 0) -> str:
    """``value`` on one line from ``start`` on, cut where it is long."""
    if value is None:
        return "none"
    text = (".." if start else "") + " ".join(value[start:].split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 2]}.."
