"""What a user asks of a workload's output: one ``--metric``, or one entry of an experiment file.

Which of the readings of a format a user means, and what to type where several could be meant.

A name that stands several times is told apart by the headings above it (``PROT_NONE/Avg``), or is
counted (``Avg[2]``).
"""

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import get_args

from profdiff.base.errors import InputError
from profdiff.base.metric import Better
from profdiff.collectors.workload.metrics import pattern
from profdiff.collectors.workload.metrics.formats import FORMATS, PATTERN
from profdiff.collectors.workload.metrics.reading import DEPTH, Reading

_SOURCE = re.compile(
    r"(?P<format>[\w-]+)(?:@(?P<heading>[^:]*)|\[(?P<number>[1-9]\d{0,5})\])?(?::(?P<key>.*))?",
    re.ASCII | re.DOTALL,
)
_PLAIN = re.compile(r"\w+", re.ASCII)
_MAX_NAME, _MAX_UNIT = 200, 40


@dataclass(frozen=True)
class Wanted:
    """``key`` is a name that ``format`` gives, or the pattern; None: all that it gives. ``name``,
    ``unit`` and ``better`` stand in for what the format says of the one metric. For what a pattern
    matches, only what stands below ``heading``, or only the match of that ``number``, from 1.

    Raises InputError: these do not go together.
    """

    name: str | None
    unit: str | None
    better: Better | None
    format: str
    key: str | None
    heading: str | None = None
    number: int | None = None

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise InputError(f"there is no metric format {self.format!r}: {_near(self.format)}")
        _check_text("a metric's name", self.name, _MAX_NAME)
        _check_text("a unit", self.unit, _MAX_UNIT)
        if self.better not in (None, *get_args(Better)):
            raise InputError(f"a metric's direction is lower or higher, not {self.better!r}")
        if self.name in FORMATS:
            raise InputError(f"a metric cannot be called {self.name!r}: that names a format")
        if self.name is None and (self.unit is not None or self.better is not None):
            raise InputError(
                "a metric with a unit or a direction needs a name: NAME:UNIT=FORMAT:KEY"
            )
        if self.key == "" or (self.key and not self.key.isprintable()):
            raise InputError(
                f"{self.key!r} is not a valid metric of {self.format}: it is empty or unprintable"
            )
        if self.name is not None and self.key is None:
            raise InputError(f"{self.name!r} names one metric: {self.name}={self.format}:KEY")
        if (self.heading, self.number) != (None, None) and self.format != PATTERN:
            there = f"{self.heading}/NAME" if self.heading else f"NAME[{self.number}]"
            raise InputError(
                f"only {PATTERN} takes @HEADING or [N]: write {self.format}:{there} with the NAME "
                "of a metric"
            )
        _check_heading(self.heading)
        if self.format == PATTERN:
            if self.key is None:
                raise InputError(f"{PATTERN} needs a regular expression: {PATTERN}:EXPRESSION")
            groups = len(pattern.compiled(self.key).groupindex)
            if self.name is not None and groups > 1:
                raise InputError(
                    f"{self.name!r} cannot name the {groups} groups of pattern {self.key!r}:"
                    " omit the name: the groups have their own"
                )

    @staticmethod
    def parse(text: str) -> "Wanted":
        """From ``[NAME[:UNIT[:lower|higher]]=]FORMAT[:KEY]``; UNIT may be empty. A pattern has the
        form ``pattern[@HEADING|[N]]:EXPRESSION``. A text that begins with a format's name has no
        NAME, so KEY may hold what it likes."""
        name: str | None = None
        unit: str | None = None
        better: str | None = None
        rest = text
        whole = _SOURCE.fullmatch(text)
        is_format = whole is not None and whole["format"] in FORMATS
        if not is_format and "=" in text:
            named, _, rest = text.partition("=")
            name, *more = named.split(":")
            if len(more) > 2:
                raise InputError(f"{named!r} before the = is more than NAME:UNIT:lower|higher")
            unit = (more[0] or None) if more else None
            better = more[1] if len(more) > 1 else None
        source = _SOURCE.fullmatch(rest)
        if source is None:
            raise InputError(f"there is no metric format {rest[:_MAX_NAME]!r}: {_near(rest)}")
        number = int(source["number"]) if source["number"] else None
        key, heading = source["key"], source["heading"]
        # __post_init__ refuses a direction that is none.
        return Wanted(name, unit, better, source["format"], key, heading, number)  # type: ignore[arg-type]

    def __str__(self) -> str:
        parts = [self.name or "", self.unit or "", self.better or ""]
        named = ":".join(parts).rstrip(":") + "=" if self.name is not None else ""
        which = f"[{self.number}]" if self.number is not None else ""
        which = f"@{self.heading}" if self.heading is not None else which
        return named + self.format + which + (f":{self.key}" if self.key is not None else "")


def _check_text(what: str, text: str | None, longest: int) -> None:
    if text is None:
        return
    if not text or text != text.strip() or not text.isprintable() or set(":=") & set(text):
        raise InputError(f"{text!r} is not {what}: it is printable, without : and =, not empty")
    if len(text) > longest:
        raise InputError(f"{what} has at most {longest} characters")


def _check_heading(text: str | None) -> None:
    if text is not None and not (text.strip() and text == text.strip() and text.isprintable()):
        raise InputError(f"{text!r} is not a heading: it is printable, without :, not empty")


def _near(name: str) -> str:
    near = get_close_matches(name, FORMATS, 1)
    if near:
        return f"did you mean {near[0]}?"
    there = f"there are {', '.join(FORMATS)}"
    return f"{there}; a name in the output is values:{name}" if _PLAIN.fullmatch(name) else there


_SHOWN = 6
_MAX_SHOWN = 200
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
    told = _list([shlex.quote(f"{format_name}:{one}"[:_MAX_SHOWN]) for one in apart])
    times = _times(len(alike))
    return (
        f"{format_name} finds {name[:_MAX_SHOWN]!r} {times} in the workload's output: take {told}"
    )


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
    told = [f"{PATTERN}@{one[:_MAX_SHOWN]}:..." for one in apart]
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
        return f": did you mean {near[0][:_MAX_SHOWN]!r}?"
    if not known:
        return ""
    more = f" and {len(known) - _SHOWN:,} more" if len(known) > _SHOWN else ""
    return f"; it has {', '.join(repr(one[:_MAX_SHOWN]) for one in known[:_SHOWN])}{more}"


def _list(told: Sequence[str]) -> str:
    if len(told) > _SHOWN:
        return f"{', '.join(told[:_SHOWN])} and {len(told) - _SHOWN:,} more"
    *first, last = told
    return f"{', '.join(first)} or {last}" if first else last
