"""Which of the readings of a format a user means, and what to type where several could be meant.

A name that stands several times is told apart by the headings above it (``PROT_NONE/Avg``), or is
counted (``Avg[2]``).
"""

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from profdiff.base.errors import InputError
from profdiff.collectors.workload.metrics.formats import PATTERN
from profdiff.collectors.workload.metrics.reading import Reading
from profdiff.collectors.workload.metrics.sections import DEPTH
from profdiff.collectors.workload.metrics.wanted import Wanted

_SHOWN = 6
_LONGEST = 200
_NUMBERED = re.compile(r"(?P<name>.*)\[(?P<number>[1-9]\d{0,5})\]", re.ASCII | re.DOTALL)


def chosen(want: Wanted, there: Sequence[Reading]) -> list[Reading]:
    """The readings that ``want`` means, of those that its format found: at least one, each of a
    name of its own. Raises InputError."""
    if not there:
        what = f"pattern {want.key!r}" if want.format == PATTERN else want.format
        raise InputError(f"the workload's output has no metric for {what}")
    if want.format == PATTERN:
        return _matched(want, there)
    if want.key is not None:
        return [_of_key(want.format, want.key, there)]
    named = _told_apart(there)
    if several := _several(named):
        raise InputError(_which(want.format, several, [r for r in there if r.name == several]))
    return named


def _of_key(format_name: str, key: str, there: Sequence[Reading]) -> Reading:
    """The one that is called ``key``: NAME, HEADING/NAME, or one of these and [N]."""
    found = _called(key, there)
    counted = _NUMBERED.fullmatch(key)
    if not found and counted:
        alike = _called(counted["name"], there)
        if alike and int(counted["number"]) > len(alike):
            raise InputError(
                f"the workload's output has {counted['name']!r} {_times(len(alike))}: "
                f"there is no {key!r}"
            )
        found = alike[int(counted["number"]) - 1 :][:1]
    if not found:
        names = (reading.name for reading in _told_apart(there))
        raise InputError(f"the workload's output has no {key!r}{_others(key, names)}")
    if len(found) > 1:
        raise InputError(_which(format_name, key, found))
    return found[0]._replace(name=key)


def _called(key: str, there: Sequence[Reading]) -> list[Reading]:
    """Those that are called ``key``, which may begin with a heading."""
    found = [reading for reading in there if reading.name == key]
    return found or [
        reading
        for reading in there
        if key.endswith(f"/{reading.name}") and reading.is_below(key[: -len(reading.name) - 1])
    ]


def _matched(want: Wanted, there: Sequence[Reading]) -> list[Reading]:
    """The values that a pattern's groups matched, below its heading or with its number."""
    if want.heading is not None:
        below = [reading for reading in there if reading.is_below(want.heading)]
        if not below:
            known = (reading.headings[-1] for reading in there if reading.headings)
            raise InputError(
                f"pattern finds nothing below a heading {want.heading!r} in the workload's output"
                f"{_others(want.heading, known)}"
            )
        if several := _several(below):
            alike = [reading for reading in below if reading.name == several]
            raise InputError(_which_match(several, alike, below=want.heading))
        return [reading._replace(name=f"{want.heading}/{reading.name}") for reading in below]
    if want.number is not None:
        seen: Counter[str] = Counter()
        taken = []
        for reading in there:
            seen[reading.name] += 1
            if seen[reading.name] == want.number:
                taken.append(reading._replace(name=f"{reading.name}[{want.number}]"))
        if not taken:
            raise InputError(
                f"pattern {want.key!r} matches {_times(max(seen.values()))} in the workload's "
                f"output: there is no number {want.number}"
            )
        return taken
    if several := _several(there):
        alike = [reading for reading in there if reading.name == several]
        raise InputError(_which_match(several, alike))
    return list(there)


def _told_apart(there: Sequence[Reading]) -> list[Reading]:
    """The readings; those that share a name are called by as many headings as tell them apart, if
    these do."""
    alike: dict[str, list[Reading]] = {}
    for reading in there:
        alike.setdefault(reading.name, []).append(reading)
    names: dict[str, list[str]] = {}
    for name, readings in alike.items():
        deepest = max(len(reading.headings) for reading in readings)
        for depth in range(1, deepest + 1) if len(readings) > 1 else ():
            paths = [reading.path(depth) for reading in readings]
            if len(set(paths)) == len(paths):
                names[name] = paths
                break
    told = []
    for reading in there:
        of_name = names.get(reading.name)
        told.append(reading._replace(name=of_name.pop(0)) if of_name else reading)
    return told


def _several(there: Iterable[Reading]) -> str | None:
    """The first name that stands among them more than once."""
    seen: set[str] = set()
    for reading in there:
        if reading.name in seen:
            return reading.name
        seen.add(reading.name)
    return None


def _which(format_name: str, name: str, alike: Sequence[Reading]) -> str:
    """What to type for one of the readings that a format calls ``name``."""
    apart = [reading.name for reading in _told_apart(alike)]
    if len(set(apart)) < len(alike):
        apart = [f"{name}[{number}]" for number in range(1, len(alike) + 1)]
    told = _list([shlex.quote(f"{format_name}:{one}"[:_LONGEST]) for one in apart])
    times = _times(len(alike))
    return f"{format_name} finds {name[:_LONGEST]!r} {times} in the workload's output: take {told}"


def _which_match(name: str, alike: Sequence[Reading], *, below: str = "") -> str:
    """What to type for one of the places where a pattern's group ``name`` matched, all of them
    ``below`` a heading if one was named."""
    headings = ["/".join(reading.headings) for reading in alike]
    distinct = len(set(headings))
    for depth in range(1, DEPTH):
        headings = ["/".join(reading.headings[-depth:]) for reading in alike]
        if len(set(headings)) == distinct:
            break
    counts = Counter(headings)
    apart = [one for one, times in counts.items() if one and times == 1 and ":" not in one]
    told = [f"{PATTERN}@{one[:_LONGEST]}:..." for one in apart]
    if not below:
        told.append(f"{PATTERN}[1]:... to {PATTERN}[{len(alike)}]:...")
    where = f"below {below!r}" if below else "in the workload's output"
    what = f"take {_list(told)}" if told else "let the expression match one of them"
    return f"pattern finds {name!r} {_times(len(alike))} {where}: {what}"


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number:,} times")


def _others(key: str, names: Iterable[str]) -> str:
    known = list(dict.fromkeys(names))
    if near := get_close_matches(key, known[:1000], 1):
        return f": did you mean {near[0][:_LONGEST]!r}?"
    if not known:
        return ""
    more = f" and {len(known) - _SHOWN:,} more" if len(known) > _SHOWN else ""
    return f"; it has {', '.join(repr(one[:_LONGEST]) for one in known[:_SHOWN])}{more}"


def _list(told: Sequence[str]) -> str:
    if len(told) > _SHOWN:
        return f"{', '.join(told[:_SHOWN])} and {len(told) - _SHOWN:,} more"
    *first, last = told
    return f"{', '.join(first)} or {last}" if first else last
