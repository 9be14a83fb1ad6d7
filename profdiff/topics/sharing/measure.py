"""The rows of a session's shared lines, and what they are called."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Literal, NamedTuple

from profdiff.base import units
from profdiff.base.errors import InputError
from profdiff.base.names import suggesting
from profdiff.evidence.conditions.condition import Condition, MeasuredChange
from profdiff.evidence.difference import AbsentError, summed
from profdiff.evidence.findings import Findings
from profdiff.evidence.sharing import Reads, SharingRow, SharingTable
from profdiff.evidence.statistics.rule import Verdict
from profdiff.profile.data import table as data_table
from profdiff.profile.function_identity import title
from profdiff.profile.sharing.locks import Lock
from profdiff.profile.sharing.names import Name
from profdiff.profile.sharing.runs import NOT_RECORDED, chosen, lines_at, nearest
from profdiff.profile.sharing.sums import Sums
from profdiff.session.points import Setting
from profdiff.session.session import Session
from profdiff.symbolization.data_accesses import DataAccesses

LEAST = 0.01
"""Rows with less than so many transfers and misses per op are not worth a line."""

# Reads that differ by a smaller share are not told.
_CHANGED = 0.25
_WORDS = {"stack": "stack of a task", "user-memory": "user memory"}

# Why no statement about a difference is certain.
_WHY = {
    "schedule": "lines are recycled, so transfers depend on the schedule",
    "runs": "the runs of a kernel differ",
}

Measure = Literal["transfers", "misses"]


def count(sums: Sums, measure: Measure) -> int:
    """How often lines change hands, or miss."""
    return sums.transfers if measure == "transfers" else sums.all_misses


class Missing(NamedTuple):
    """The misses of a function's own code, by kernel. ``within``: of one from a header, the
    functions that it is inlined into, the largest part first."""

    function: int
    within: list[int]
    misses: list[int]


class HeldLock(NamedTuple):
    """By kernel, how often a lock is taken, and the instructions that execute while it is held.
    ``sure``: of each kernel but the base, whether the difference is known."""

    lock: Lock
    times: list[int]
    instructions: list[int]
    sure: list[bool]


class ReadChange(NamedTuple):
    """``more``: how many more reads a kernel has than the base, per op where that is known."""

    more: float
    row: SharingRow
    read: Reads


class Lines:
    """All rows at one point. ``at``: the point, "" for the only one; ``per_op``: whether counts are
    of an operation, each kernel's by its own."""

    def __init__(self, table: SharingTable, at: str = "", *, absolute: bool = False) -> None:
        self.table, self.at = table, at
        self.labels = [one.kernel.label for one in table.kernels]
        self.ops = [one.lines.all_ops for one in table.kernels]
        self.per_op = all(self.ops) and not absolute
        self.instructions = [int(one.lines.instructions.sum()) for one in table.kernels]

    @staticmethod
    def of(session: Session, at: str | None = None, *, absolute: bool = False) -> "Lines":
        """At the point that ``at`` names, by default the last one that has such runs. Raises
        InputError where there is none, SessionError where what is kept is damaged."""
        setting = chosen(session.manifest, at)
        table = SharingTable(lines_at(session, setting))
        return Lines(table, setting.title, absolute=absolute)

    @staticmethod
    def near(session: Session, setting: Setting) -> "Lines":
        """At a setting, or at the last one that has such runs. Raises as ``of`` does."""
        setting = nearest(session.manifest, setting)
        return Lines(SharingTable(lines_at(session, setting)), setting.title)

    @staticmethod
    def at_setting(findings: Findings) -> "Lines":
        """At the setting of findings alone. Raises as ``of`` does."""
        if findings.session is None:
            raise InputError(NOT_RECORDED)
        table = SharingTable(lines_at(findings.session, findings.setting))
        return Lines(table, findings.setting.title)

    @cached_property
    def rows(self) -> list[SharingRow]:
        """What changed for certain first."""
        return self.table.rows()

    @cached_property
    def total(self) -> SharingRow:
        """Their sum."""
        return self.table.summed(self.rows)

    @cached_property
    def locks(self) -> list[HeldLock]:
        """Those on lines that change hands, the largest share of a kernel's instructions first."""
        held = self.table.held()
        return [
            HeldLock(lock, [one for one, _ in own], [one for _, one in own], sure)
            for lock, own in held.items()
            for sure in [self.table.is_sure(lock, held)]
        ]

    def changes(self, condition: Condition) -> Iterator[MeasuredChange]:
        """Those of all transfers or misses, of user memory or of all else, or of a type, field or
        variable. Raises AbsentError where no kernel is known to have that."""
        what, is_data = condition.what, condition.function
        rows = [row for row in self.rows if _is_of(row, what, is_data=is_data)]
        if not rows and is_data and not self._has(what):
            known = {row.name.title for row in self.rows}
            known |= {one.strings[at] for one in self._accesses for at in one.layout_type.tolist()}
            why = f"no kernel is known to have {what}"
            raise AbsentError(suggesting(why, what, sorted(known)))
        measure: Measure = "transfers" if condition.metric == "transfers" else "misses"
        total, kernels = self.table.summed(rows), self.table.kernels
        for kernel, label in enumerate(self.labels[1:], 1):
            ends = (0, kernel)
            missing = [self.labels[at] for at in ends if is_data and kernels[at].missing]
            if missing:
                why = f"data has no names on {units.listed(missing)}"
                yield MeasuredChange.unknown(label, why, of_row=True)
                continue
            # Which rows they are in does not matter to a sum of all.
            some = rows if is_data else [total]
            difference = summed([getattr(row.changes[kernel - 1], measure) for row in some])
            wide = difference.low < difference.high
            causes = total.changes[kernel - 1].causes
            yield MeasuredChange.of_difference(
                label,
                condition,
                [count(total.sums[at], measure) for at in ends],
                difference,
                [self.table.ops[at] for at in ends],
                undecided="; ".join(_WHY[cause] for cause in causes if cause in _WHY),
                note="lines without a name may be of the same data" if wide else "",
            )

    @property
    def _accesses(self) -> list[DataAccesses]:
        return [one.accesses for one in self.table.kernels if one.accesses is not None]

    def _has(self, what: str) -> bool:
        """Whether some kernel has a type, field or variable, though none of its lines may change
        hands."""
        owner, _, field = what.partition(".")
        for accesses in self._accesses:
            strings = accesses.strings
            if owner in {strings[name] for name in accesses.global_name.tolist()}:
                return True
            for row, name in enumerate(accesses.layout_type.tolist()):
                if strings[name] == owner:
                    own = accesses.field_name[accesses.field_type == row].tolist()
                    return not field or any(
                        data_table.is_within(strings[one], field) for one in own
                    )
        return False

    def share(self, lock: HeldLock, kernel: int) -> float:
        """The fraction of the kernel's instructions that execute while a lock is held."""
        return lock.instructions[kernel] / max(self.instructions[kernel], 1)

    def each(self, kernel: int, value: int) -> float:
        """A count of a kernel as it is told: of an operation, or of the window."""
        return value / self.ops[kernel] if self.per_op else value

    def count(self, kernel: int, value: int) -> str:
        """The same as text."""
        return units.count(self.each(kernel, value), per_op=self.per_op)

    def title(self, name: Name, alternatives: Sequence[str] = ()) -> str:
        """What data is called, as a C programmer writes it; one printable line."""
        if name.kind == "unnamed":
            return f"? in {self.function(name.function)}" if name.function >= 0 else "?"
        if name.kind == "user-memory" and name.symbol:
            return units.printable(f"{name.symbol} ({name.type})")
        if name.kind in _WORDS:
            mapping = f" ({units.printable(name.type)})" if name.type else ""
            return f"{_WORDS[name.kind]}{mapping}"
        kind = "variable" if name.kind == "per-cpu" else name.kind
        return data_table.title(kind, name.type, name.symbol, [name.path], alternatives)

    def data(self, row: SharingRow) -> str:
        """What makes the lines of a row change hands most."""
        return self.title(row.name, row.alternatives)

    def function(self, number: int) -> str:
        """What a function is called, "" for none."""
        if number < 0:
            return ""
        one, namesakes = self.table.function(number), self.table.functions.namesakes[number]
        return title(one.name, one.object, one.file, namesakes=namesakes)

    def missing(self, row: SharingRow) -> list[Missing]:
        """The functions that miss the lines of a row, the largest first."""
        misses: defaultdict[int, list[int]] = defaultdict(lambda: [0] * len(row.sums))
        sites: defaultdict[int, Counter[int]] = defaultdict(Counter)
        for kernel, sums in enumerate(row.sums):
            for (inner, site), number in sums.misses.items():
                misses[inner][kernel] += number
                if site != inner:
                    sites[inner][site] += number
        known = self.table.functions.functions
        order = sorted(misses, key=lambda one: (-max(misses[one]), -sum(misses[one]), known[one]))
        return [
            Missing(
                inner,
                sorted(sites[inner], key=lambda one: (-sites[inner][one], known[one])),
                misses[inner],
            )
            for inner in order
        ]

    def missed_in(self, row: SharingRow, least: float = 0) -> list[str]:
        """The functions that miss so often, at least; of what is inlined from a header, the one
        that it is inlined into."""
        some = (one for one in self.missing(row) if sum(one.misses) >= least)
        return list(dict.fromkeys(self.function((one.within or [one.function])[0]) for one in some))

    def is_small(self, row: SharingRow) -> bool:
        """Whether a row has less than one transfer or miss in a hundred operations everywhere."""
        return self.per_op and all(
            max(one.transfers, one.all_misses) < LEAST * ops
            for one, ops in zip(row.sums, self.ops, strict=True)
        )

    def reads_changed(self, kernel: int) -> list[ReadChange]:
        """Reads of one kernel against the base that are certain, on lines that do not depend on the
        schedule, the largest difference first. The base stands against none, with all of its
        reads."""
        found = []
        for row in self.rows:
            if row.depends[0] or row.depends[kernel]:
                continue
            if kernel and not row.changes[kernel - 1].sure:
                continue
            for read in self.table.reads(row):
                if kernel and not read.sure[kernel - 1]:
                    continue
                theirs, mine = (self.each(one, read.counts[one]) for one in (0, kernel))
                more = mine - theirs if kernel else theirs
                if more and abs(more) >= _CHANGED * max(theirs, mine):
                    found.append(ReadChange(more, row, read))
        return sorted(found, key=lambda one: -abs(one.more))


def _is_of(row: SharingRow, what: str, *, is_data: bool) -> bool:
    """Whether a row is of a type, field or variable, or else of user memory or of all else."""
    if is_data:
        return any(is_of(name, what) for name in row.fields)
    return what == "total" or (row.name.kind == "user-memory") == (what == "user")


def is_of(name: Name, what: str) -> bool:
    """Whether data is a type's or variable's, or a field of it. Rows know locks and counters as a
    whole, so that one stands for what is in it. What may be other data as well is not counted, but
    is in the interval of what it may be."""
    if name.among:
        return False
    owner, _, field = what.partition(".")
    if not owner or owner not in (name.type, name.symbol):
        return False
    path = name.path
    return (
        not field
        or data_table.is_within(path, field)
        or (bool(path) and data_table.is_within(field, path))
    )


def verdict_word(row: SharingRow) -> str:
    """The verdict of all kernels together."""
    causes = {cause for one in row.changes for cause in one.causes}
    if any(row.depends):
        recycled = any(one.recycled * 4 > one.transfers for one in row.sums)
        return "schedule" if recycled or "schedule" in causes else "differ"
    return str(Verdict.EXACT if all(one.sure for one in row.changes) else Verdict.UNSURE)


def kind(sums: Sequence[Sums]) -> str:
    """Whether sharing is true or false on each of some kernels, where they have the row."""
    return " to ".join(dict.fromkeys(filter(None, _kinds(sums))))


def _kinds(sums: Sequence[Sums]) -> Iterator[str]:
    for one in sums:
        if one.untold == one.transfers:
            continue
        if not one.false:
            yield "true"
        elif one.false + one.untold == one.transfers:
            yield "false"
        else:
            yield f"{units.percent(one.false / one.transfers, '.0f')} false"


def has_any(sums: Sums) -> bool:
    """Whether its lines change hands on a kernel."""
    return bool(sums.transfers or sums.all_misses)
