"""What differs in the state of the kernels, in words: above the results, not below."""

import re
from collections.abc import Sequence

from profdiff.session.state import State

_LONGEST = 60
_WORDS = {
    "anon_huge_kib": "AnonHugePages of the workload (KiB)",
    "resident_kib": "resident memory of the workload (KiB)",
}


def lines(state: State) -> list[str]:
    """One line for each difference, then what is equal, and what is not known; none where no run
    told anything."""
    if not state.differences and not state.equal:
        return []
    found = [
        f"STATE DIFFERS: {name(one.what)}: "
        + ", ".join(
            f"{label} {_short(value, _alike(list(one.values.values())))}"
            for label, value in one.values.items()
        )
        for one in state.differences
    ]
    same = _equal(state)
    if same:
        found.append(f"same state: {', '.join(same)}")
    if state.unknown:
        found.append(f"state not known: {', '.join(state.unknown)}")
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
    for name, words in (
        ("minor_faults", "minor faults"),
        ("anon_huge_kib", "KiB AnonHugePages"),
        ("exit status", "as exit status"),
    ):
        if name in state.equal:
            told.append(f"{int(state.equal[name]):,} {words}")
    if "mm/transparent_hugepage/enabled" in state.equal:
        told.append(f"THP {state.equal['mm/transparent_hugepage/enabled']}")
    if "output" in state.equal:
        told.append("output but for numbers")
    return told


def _alike(values: Sequence[str | None]) -> int:
    """How many characters at the beginning of long texts are the same."""
    known = [value for value in values if value is not None]
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
