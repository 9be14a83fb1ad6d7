"""Known changes, which somebody acknowledged in a TOML file: conditions that hold for them do not
fail. An entry names what changes, within which bounds, and why that is accepted::

    [[known]]
    change = "instructions:kernel"
    cell = "mprotect/*"
    bounds = ["+1%", "+3%"]
    reason = "accounting by folio; see the cover letter"
    until = 2027-01-31

Bounds and an end keep it from hiding the next change, which Bencher's ignored benchmarks do
(https://bencher.dev/docs/explanation/thresholds/, *Suppressing Alerts*).
"""

import datetime
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from profdiff.base import bounded, units
from profdiff.base.errors import InputError, told
from profdiff.base.names import did_you_mean
from profdiff.checks.names import INLINED, LAYOUT
from profdiff.evidence.conditions.condition import WITHOUT_BOUND, Condition, Judgement

_KEY = "known"
_MAX_BYTES, _MAX_ENTRIES = 2**20, 1_000
_EXAMPLE = 'bounds = ["+1%", "+3%"]'


class KnownChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An entry. ``change``: ``METRIC[:WHAT]``; ``kernel``, ``cell``, ``at``: "" for all. ``cell``:
    of a suite, or the part; may have ``*``. ``bounds``: none for what changes or does not.
    ``until``: the last day on which it holds, by UTC."""

    change: str
    reason: str
    bounds: tuple[str, str] | None = None
    kernel: str = ""
    cell: str = ""
    at: str = ""
    until: datetime.date | None = None


class KnownEntry(NamedTuple):
    """``where``: file and number; ``ends``: the conditions that a change within the bounds
    satisfies; of one without bounds, a condition on the same."""

    where: str
    known: KnownChange
    ends: Sequence[Condition]

    @property
    def why(self) -> str:
        """The reason in one line, which may be several in the file."""
        return " ".join(self.known.reason.split())

    @property
    def told(self) -> str:
        """What it acknowledges, in one line."""
        known = self.known
        bounds = f" from {known.bounds[0]} to {known.bounds[1]}" if known.bounds else ""
        until = f" until {known.until}" if known.until else ""
        return f"{bounds}{until}".strip()

    def is_about(self, condition: Condition) -> bool:
        bounded_alike = (condition.operator in WITHOUT_BOUND) == (self.known.bounds is None)
        return bounded_alike and condition.subject == self.ends[0].subject

    def mistaken(
        self, judgements: Sequence[Judgement], cells: Mapping[tuple[str, str], str]
    ) -> tuple[Sequence[Judgement], str]:
        """The judgements that it is about; where there are none, why."""
        known = self.known

        def called(one: Judgement) -> set[str]:
            part = one.change.part
            return {part, cells.get((part, one.change.at), part)}

        mine = [one for one in judgements if self.is_about(one.condition)]
        if not mine:
            every = {one.condition.about for one in judgements}
            return mine, _none("no condition is about", self.ends[0].about, every)
        kernels = {one.change.kernel for one in mine}
        every = {name for one in mine for name in called(one)}
        for what, wanted, names in (("kernel", known.kernel, kernels), ("cell", known.cell, every)):
            if wanted and not any(fnmatchcase(name, wanted) for name in names):
                return [], _none(f"no {what} is checked that is called", wanted, names)
        mine = [
            one
            for one in mine
            if fnmatchcase(one.change.kernel, known.kernel or "*")
            and any(fnmatchcase(name, known.cell or "*") for name in called(one))
        ]
        if not mine:
            return mine, f"kernel {known.kernel} is not checked in cell {known.cell}"
        points = {one.change.at for one in mine}
        wanted_point = {part.strip().replace("=", " ", 1) for part in known.at.split(",") if part}
        mine = [one for one in mine if wanted_point <= set(one.change.at.split(", "))]
        return mine, "" if mine else _none("no point is checked at", known.at, points)

    def holds(self, judgement: Judgement, today: datetime.date) -> bool:
        """Whether the change that fails is within its bounds, and it has not ended."""
        if self.known.until and today > self.known.until:
            return False
        ends = self.ends if self.known.bounds else ()
        return all(end.judge(judgement.change) == "holds" for end in ends)


def read_known(file: Path, conditions: Sequence[Condition]) -> Sequence[KnownEntry]:
    """The entries of a file. Raises InputError for a file that cannot be read or has a mistake, and
    for bounds in another unit than that of the ``conditions`` on the same."""
    try:
        content = tomllib.loads(bounded.read(file, _MAX_BYTES).decode())
    except OSError as error:
        raise InputError(f"cannot read {told(error)}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file} is not valid TOML: {error}") from error
    for key in content.keys() - {_KEY}:
        raise InputError(f"{file}: unknown key {key!r}: write each change as [[{_KEY}]]")
    entries = content.get(_KEY, [])
    if not isinstance(entries, list) or len(entries) > _MAX_ENTRIES:
        raise InputError(f"{file}: write each change as [[{_KEY}]], at most {_MAX_ENTRIES:,}")
    made = [_entry(f"{file}: entry {number}", one) for number, one in enumerate(entries, 1)]
    for entry in made:
        for condition in conditions:
            unit = entry.ends[0].unit
            if entry.is_about(condition) and unit not in ("%", condition.unit):
                raise InputError(
                    f"{entry.where}: its bounds and condition '{condition}' have different units: "
                    "write the bounds in % or in the condition's unit"
                )
    return made


def _entry(where: str, content: object) -> KnownEntry:
    try:
        known = msgspec.convert(content, KnownChange)
    except msgspec.ValidationError as error:
        keys = KnownChange.__struct_fields__
        unknown = set(content if isinstance(content, dict) else ()) - {*keys}
        meant = [did_you_mean(key, keys) for key in sorted(unknown)]
        raise InputError("; ".join([f"{where}: {error}", *filter(None, meant)])) from error
    if not known.reason.strip():
        raise InputError(f"{where}: the reason is empty: say why the change is accepted")
    try:
        about = Condition.parse(f"{known.change} > +0")
    except InputError:
        raise InputError(
            f"{where}: change = {known.change!r}: write METRIC or METRIC:WHAT, as in a condition, "
            "and no bound"
        ) from None
    if known.bounds is None:
        if about.metric not in (INLINED, LAYOUT):
            raise InputError(f"{where}: it has no bounds: write {_EXAMPLE}")
        return KnownEntry(where, known, [about])
    try:
        low, high = (
            Condition.parse(f"{known.change} {operator} {bound}", historic=True)
            for operator, bound in zip((">=", "<="), known.bounds, strict=True)
        )
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    if low.historic or high.historic or low.unit != high.unit or low.bound > high.bound:
        raise InputError(f"{where}: write the lower bound first, both in one unit: {_EXAMPLE}")
    return KnownEntry(where, known, [low, high])


def acknowledged(
    judgements: Sequence[Judgement],
    entries: Sequence[KnownEntry],
    today: datetime.date,
    cells: Mapping[tuple[str, str], str],
) -> tuple[list[Judgement], list[str]]:
    """The judgements, with the reason at those that fail and are known; those that are known, but
    not so, say it. And a line for each entry that met no change, with what may be the mistake.
    ``cells``: by part and point, what a session that is one cell of a suite is called there."""
    remarks, known = list[str](), dict[int, list[KnownEntry]]()
    for entry in entries:
        mine, mistake = entry.mistaken(judgements, cells)
        for one in mine:
            known.setdefault(id(one), []).append(entry)
        head = f"{entry.known.change}{f' in {entry.known.cell}' if entry.known.cell else ''}"
        about = f"{head} ({entry.where}: {entry.why})"
        if mistake:
            remarks.append(units.printable(f"matches nothing: {about}: {mistake}"))
        elif all(one.outcome == "does not hold" for one in mine):
            remarks.append(units.printable(f"no longer needed: {about}"))
    return [_told(one, known.get(id(one), ()), today) for one in judgements], remarks


def _told(judgement: Judgement, entries: Iterable[KnownEntry], today: datetime.date) -> Judgement:
    if judgement.outcome != "holds" or not entries:
        return judgement
    for entry in entries:
        if entry.holds(judgement, today):
            return replace(judgement, acknowledged=entry.why)
    only = "; ".join(f"acknowledged only {one.told}: {one.why}" for one in entries)
    change = judgement.change
    note = "; ".join(filter(None, [change.note, only]))
    return replace(judgement, change=replace(change, note=note))


def _none(what: str, wanted: str, names: Iterable[str]) -> str:
    return ": ".join(filter(None, [f"{what} {wanted}", did_you_mean(wanted, filter(None, names))]))
