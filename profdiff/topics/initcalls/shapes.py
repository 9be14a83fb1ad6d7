"""What is shown of a recorded boot: its phases, and its initcalls. ``docs/boot.md`` explains it."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from profdiff.base import units
from profdiff.evidence.difference import Difference
from profdiff.evidence.findings import Findings
from profdiff.evidence.outside_workload import ONE_TICK
from profdiff.evidence.statistics.rule import Verdict
from profdiff.profile.cell import exact_collector
from profdiff.profile.seat import may_be_renamed
from profdiff.session.session import Session
from profdiff.shapes.table import (
    Cells,
    Kind,
    Section,
    Table,
    by_kernel,
    of_kernel,
    of_row,
    tabulate,
)
from profdiff.topics.initcalls.measure import (
    PHASES,
    Booted,
    Initcall,
    as_base,
    booted,
    renamed,
)
from profdiff.topics.sentences import changed, more_rows, told_kernels

# The most rows that readers see.
MAX_ROWS = 20
_PHASES = (
    "A phase has what runs below the functions that stand for it, the innermost of them; others "
    "have the rest. 'waits by the clock' loops until the clock has advanced, so that its "
    "instructions are time, not work. Kernel threads run what is deferred, such as workqueues."
)
_INITCALLS = (
    "Instructions between the call of an initcall in do_one_initcall() and its return, with all "
    "that it calls; without interrupts, what it leaves to threads, and initcalls of modules. "
    "mostly: the function that changed most in it, inlined or not."
)


class _Boots(NamedTuple):
    """Every boot of a kernel; ``picked`` stands for all, the one with the median total. Initcalls
    that were renamed are the base's; ``own``: the names of those here."""

    every: Sequence[Booted]
    picked: Booted
    own: Mapping[Initcall, str]

    @staticmethod
    def of(every: Sequence[Booted], base: "_Boots | None") -> "_Boots":
        ordered = sorted(every, key=lambda one: one.total)
        median = (len(ordered) - 1) // 2
        names = renamed(base.picked, ordered[median]) if base else {}
        known = [as_base(one, names) for one in ordered]
        own = {names.get(one, one): one.name for one in ordered[median].initcalls}
        return _Boots(known, known[median], own)


class _Row(NamedTuple):
    """``counts``: by kernel, in each boot; empty where the kernel lacks it. ``picked``: of the boot
    that is shown. ``names``: by kernel that has it."""

    initcall: Initcall
    counts: Mapping[str, Sequence[int]]
    picked: Mapping[str, int]
    mostly: Mapping[str, str]
    names: Mapping[str, str] = {}

    @property
    def name(self) -> str:
        """The newest, which a reader is likeliest to look for."""
        return [self.initcall.name, *self.names.values()][-1]

    @property
    def was(self) -> str:
        """What it was called before, "" if nothing else."""
        return "" if self.name == self.initcall.name else self.initcall.name

    def only(self, base: str, label: str) -> str | None:
        """Which of two kernels alone has it, None for both."""
        there = [one for one in (base, label) if self.counts[one]]
        return there[0] if len(there) == 1 else None

    def difference(self, base: str, label: str) -> Difference:
        first, other = self.counts[base] or [0], self.counts[label] or [0]
        low, high = min(other) - max(first), max(other) - min(first)
        delta = self.picked[label] - self.picked[base]
        verdict = Verdict.EXACT if low == high else Verdict.CHANGED
        if (low < high and low <= 0 <= high) or 0 < abs(delta) <= ONE_TICK:
            verdict = Verdict.UNSURE
        return Difference(delta, low, high, verdict)

    @property
    def varies(self) -> bool:
        return any(len(set(counts)) > 1 for counts in self.counts.values())


def section(findings: Findings) -> Section:
    """No tables where no boot was recorded. Raises InputError where its calls are not known,
    SessionError."""
    session = findings.session
    if session is None or not session.manifest.options.get("boot"):
        return Section(name="initcalls", title="Boot")
    boots = _boots(session)
    labels = list(boots)
    phases, initcalls = _phases(boots), _initcalls(boots)
    return Section(
        name="initcalls",
        title="Boot",
        sentences=_sentences(labels, phases, initcalls),
        tables=[
            _table(labels, "initcalls", "initcalls, instructions", initcalls),
            _table(labels, "initcalls-phases", "phases of the boot, instructions", phases),
        ],
        notes=[" ".join(_repeated(boots, initcalls))],
    )


def _boots(session: Session) -> dict[str, _Boots]:
    collector = exact_collector(session) or ""
    runs = {k.label: session.finished(k.label, collector) for k in session.compared}
    found = dict[str, _Boots]()
    for label, finished in runs.items():
        if finished:
            base = next(iter(found.values()), None)
            found[label] = _Boots.of([booted(session, run) for run in finished], base)
    return found


def _phases(boots: Mapping[str, _Boots]) -> list[_Row]:
    """In the order of ``PHASES``; those that no kernel has are left out."""
    rows = [
        _Row(
            Initcall(name, "", ""),
            {label: [boot.phases[name] for boot in one.every] for label, one in boots.items()},
            {label: one.picked.phases[name] for label, one in boots.items()},
            {},
        )
        for name in PHASES
    ]
    return [row for row in rows if any(row.picked.values())]


def _initcalls(boots: Mapping[str, _Boots]) -> list[_Row]:
    """Those of all kernels, by the largest difference."""
    base, *others = boots
    names = dict.fromkeys(name for one in boots.values() for name in one.picked.initcalls)
    rows = [
        _Row(
            name,
            {
                label: [b.initcalls[name] for b in one.every if name in b.initcalls]
                for label, one in boots.items()
            },
            {label: one.picked.initcalls.get(name, 0) for label, one in boots.items()},
            {label: _mostly(name, boots[base].picked, boots[label].picked) for label in others},
            {label: one.own[name] for label, one in boots.items() if name in one.own},
        )
        for name in names
    ]

    def size(row: _Row) -> tuple[int, int]:
        values = list(row.picked.values())
        return max(abs(value - values[0]) for value in values), max(values)

    return sorted(rows, key=size, reverse=True)


def _mostly(initcall: Initcall, base: Booted, other: Booted) -> str:
    """The function whose own instructions changed most in an initcall, not by another name; "" if
    none did."""
    every = [boot.functions.get(initcall, {}) for boot in (base, other)]
    names = list(dict.fromkeys(name for counts in every for name in counts))
    before, after = (
        np.array([counts.get(name, 0) for name in names], np.int64) for counts in every
    )
    deltas = np.where(may_be_renamed(before, after), 0, after - before)
    most = int(np.abs(deltas).argmax()) if len(deltas) else 0
    # Where functions with other names hold most of it, the others are noise.
    if not deltas.any() or 2 * abs(int(deltas[most])) < abs(int((after - before).sum())):
        return ""
    return f"{names[most]} {units.delta(int(deltas[most]))}"


def _was(row: _Row) -> str:
    return row.was


def _mostly_of(row: _Row, label: str) -> str:
    return row.mostly.get(label, "")


def _table(labels: list[str], name: str, title: str, rows: list[_Row]) -> Table:
    of_initcalls = name == "initcalls"
    columns: list[Cells] = [
        *by_kernel(
            labels,
            lambda row, label: row.picked[label],
            lambda row, label: row.difference(labels[0], label),
        ),
        of_row("initcall" if of_initcalls else "phase", "name", lambda row: row.name),
    ]
    hidden = [] if not of_initcalls else rows[MAX_ROWS:]
    notes = [_PHASES]
    if of_initcalls:
        # With more kernels, lines have no room for more names.
        seen: Kind = "name" if len(labels) == 2 else "detail"
        columns += [
            of_row("was", "name" if any(row.was for row in rows) else "detail", _was, spare=3),
            *(
                of_kernel(k, "only", "bound", lambda row, k: row.only(labels[0], k))
                for k in labels[1:]
            ),
            of_row("level", "name", lambda row: row.initcall.level, spare=2),
            *(
                of_kernel(label, "mostly", seen, _mostly_of, title="mostly", spare=1)
                for label in labels[1:]
            ),
            of_row("module", "detail", lambda row: row.initcall.module),
        ]
        notes = [*more_rows(len(hidden)), _INITCALLS]
    return tabulate(
        columns,
        name=name,
        title=title,
        kernels=labels,
        ops=None,
        rows=rows[:MAX_ROWS] if of_initcalls else rows,
        hidden=hidden,
        sums=[_sum(rows)],
        notes=notes,
    )


def _sum(rows: Sequence[_Row]) -> _Row:
    labels = rows[0].picked
    boots = {label: max(len(row.counts[label]) for row in rows) for label in labels}
    return _Row(
        Initcall("all", "", ""),
        {
            label: [
                sum(row.counts[label][at] for row in rows if at < len(row.counts[label]))
                for at in range(boots[label])
            ]
            for label in labels
        },
        {label: sum(row.picked[label] for row in rows) for label in labels},
        {},
    )


def _sentences(
    labels: Sequence[str], phases: Sequence[_Row], initcalls: Sequence[_Row]
) -> list[str]:
    """For each of few kernels, the phase and the initcall that changed most."""
    base, told = labels[0], []
    for label in (labels[kernel] for kernel in told_kernels(labels)):
        for what, rows in (("phase", phases), ("initcall", initcalls)):
            both = [row for row in rows if not row.only(base, label)]
            sure = [row for row in both if row.difference(base, label).verdict.is_sure]
            most = max(sure, key=lambda row: abs(row.difference(base, label).delta), default=None)
            if most is None or most.picked[label] == most.picked[base]:
                continue
            ends = float(most.picked[base]), float(most.picked[label])
            sentence = changed(label, base, f"instructions in {most.name}", ends, None)
            told.append(f"The {what} that changed most: {sentence}.")
        for here, there in ((label, base), (base, label)):
            alone = [row for row in initcalls if row.only(base, label) == here]
            if alone:
                count = sum(row.picked[here] for row in alone)
                told.append(
                    f"{here} has {units.counted(len(alone), 'initcall')} that {there} lacks, of "
                    f"{count:,} instructions: {units.few([row.name for row in alone], 3)}."
                )
    return told


def _repeated(boots: Mapping[str, _Boots], initcalls: Sequence[_Row]) -> list[str]:
    """Whether boots of one kernel are equal."""
    several = [label for label, one in boots.items() if len(one.every) > 1]
    if not several:
        return ["Each kernel booted once."]
    vary = [row.name for row in initcalls if row.varies]
    counted = min(len(boots[label].every) for label in several)
    if not vary:
        return [f"Every initcall executed as many instructions in each of {counted} boots."]
    shown = ", ".join(vary[:5]) + (", ..." if len(vary) > 5 else "")
    return [f"{units.counted(len(vary), 'initcall')} vary from boot to boot: {shown}."]
