"""Kernels whose executed code is the same, and those that execute the same instructions."""

import re
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.base import guest_clock
from profdiff.evidence.findings import Findings
from profdiff.evidence.outside_workload import above_ticks
from profdiff.evidence.results import Result
from profdiff.evidence.statistics import Estimate, Rule, Verdict, estimate
from profdiff.profile.code.classes import instruction_classes
from profdiff.profile.comparison import Comparison
from profdiff.profile.kept_code import architecture_of
from profdiff.profile.picked_counts import picked_counts
from profdiff.session.points import by_boot
from profdiff.symbolization._native import disassemble, flows

_LEADS = np.array([flow in ("conditional", "jump", "call") for flow in flows()], np.bool_)
# What makes the upper part of an address; instructions that use the register add the rest.
_UPPER = ("adrp", "auipc")
_NUMBER = re.compile(r"(?<!\w)#?-?(?:0x[0-9a-f]+|\d+)\b")
_REGISTER = re.compile(r"\b[a-z]+\d*\b")
# What may stand beside an address in the kernel's image: another one (movq $names,where(%rip)).
_IMAGE = re.compile(r"0xffffffff(?:8[1-9a-f]|[9a-e][0-9a-f]|f[0-9a-e])[0-9a-f]{6}")
# The offset of a variable of each CPU; a smaller number is that of a field.
_OF_CPU = re.compile(r"(?<=%gs:)0x[0-9a-f]{4,}")


class _Executed(msgspec.Struct, frozen=True, dict=True):
    """N instructions of the kernel, by function and address. ``function``: int64[N], the row of
    the physical one in the comparison; ``code``: uint8[N, 16], length and bytes; ``entries``:
    uint64[P], rising, all places that executed, and ``owners``: int64[P], their functions."""

    architecture: str
    function: NDArray[np.int64]
    address: NDArray[np.uint64]
    code: NDArray[np.uint8]
    entries: NDArray[np.uint64]
    owners: NDArray[np.int64]

    @cached_property
    def instructions(self) -> list[tuple[str, int]]:
        """The text of each, with ``@`` for what is an address or a part of one, and the function
        that it leads to, -1: none or its own."""
        found = disassemble(self.architecture, self.address, self.code)
        at = np.searchsorted(self.entries, found.reference)
        at = np.minimum(at, len(self.entries) - 1)
        leads = _LEADS[found.flow] & (self.entries[at] == found.reference)
        leads &= self.owners[at] != self.function
        target = np.where(leads, self.owners[at], -1)
        columns = (self.function, found.operation, found.operands, found.reference, target)
        instructions, before, upper = list[tuple[str, int]](), -1, set[str]()
        for function, operation, operands, reference, leads_to in zip(
            *(column.tolist() for column in columns), strict=True
        ):
            name, text = found.strings[operation], found.strings[operands]
            if function != before:
                before, upper = function, set()
            if reference:
                text = _IMAGE.sub("@", text.replace(f"{reference:#x}", "@"))
            if "%gs:" in text:
                text = _OF_CPU.sub("@", text)
            if upper or name in _UPPER:
                # w0 is the lower half of x0.
                registers = _REGISTER.findall(text.replace("w", "x"))
                if name in _UPPER or upper.intersection(registers):
                    text = _NUMBER.sub("@", text)
                upper.difference_update(registers[: 2 if name == "ldp" else 1])
                if name in _UPPER:
                    upper.add(registers[0])
            instructions.append((f"{name} {text}", leads_to))
        return instructions


def same_code(comparison: Comparison) -> list[bool | None]:
    """For each kernel, whether it executes the same code as the kernel before. None: unsure, since
    the counts do not hold the bytes of all that ran, or nothing of the kernel did; of the first
    kernel, too."""
    executed = [_executed(comparison, kernel) for kernel in range(len(comparison.kernels))]
    return [None, *(_same(before, after) for before, after in pairwise(executed))]


def _same(before: _Executed | None, after: _Executed | None) -> bool | None:
    if before is None or after is None:
        return None
    if not np.array_equal(before.function, after.function):
        return False
    # Kernels of one build need no text.
    where = np.array_equal(before.address, after.address)
    alike = where and np.array_equal(before.code, after.code)
    return alike or before.instructions == after.instructions


def _executed(comparison: Comparison, kernel: int) -> _Executed | None:
    """What a kernel executed in the run that stands for it, if all of that is known."""
    counts = picked_counts(comparison, kernel)
    if len(counts) != 1:
        return None
    places, code = counts[0].addresses.places, counts[0].addresses.executed
    rows = np.flatnonzero(places.in_kernel & (counts[0].count != 0))
    if not len(rows) or not code[rows, 0].all():
        return None
    functions = counts[0].functions
    owners = counts[0].number[functions.frames[functions.offsets[:-1].astype(np.int64)]]
    rows = rows[np.lexsort((places.address[rows], owners[rows]))]
    return _Executed(
        architecture_of(comparison.runs[0]),
        owners[rows],
        places.address[rows],
        code[rows],
        places.address,
        owners,
    )


_RULE = Rule()


class SameInstructions(NamedTuple):
    """``time``: the result that changed on the kernel with the label."""

    label: str
    time: Result
    change: Estimate


def same_instructions(findings: Findings) -> list[SameInstructions]:
    """For each such kernel the first time that changed, at the setting."""
    times = list(_changed_times(findings))
    # Classes are sums over all addresses: not for reports that have no time.
    if not times:
        return []
    alike = set(_alike(findings))
    return list({time.label: time for time in reversed(times) if time.label in alike}.values())[
        ::-1
    ]


def _changed_times(findings: Findings) -> Iterator[SameInstructions]:
    """Times that hardware took; a guest's clock that counts instructions has none."""
    results = findings.results
    for one in results.at(findings.setting):
        hardware = one.metric.kind.times_work and not one.virtual and not one.deterministic
        if not hardware or not guest_clock.has_time(one.metric.unit):
            continue
        for label, change in zip(results.labels[1:], one.changes[1:], strict=True):
            if change is not None and change.verdict is Verdict.CHANGED:
                yield SameInstructions(label, one, change)


def _alike(findings: Findings) -> Iterator[str]:
    """The kernels whose instructions, and whose numbers of each class, are the base's."""
    comparison = next((one for one in findings.comparisons if one.metric.exact), None)
    classes = instruction_classes(comparison) if comparison else None
    result = _result(findings, comparison) if comparison else None
    if comparison is None or classes is None or result is None:
        return
    for label in comparison.labels[1:]:
        change = findings.results.change(result, label)
        if change is None or not _unchanged(change):
            continue
        floor = (change.tick_floor or 0.0) * (result.ops or 1)
        # Two lengths may have an equal number of a function: its rows are among these, too.
        counts = classes.run_counts.sum(axis=0)
        if all(_unchanged(_class(comparison, label, count, floor)) for count in counts):
            yield label


def _result(findings: Findings, comparison: Comparison) -> Result | None:
    """What tables judge of a comparison's metric."""
    mine = (comparison.runs[0].collector, comparison.metric.name)
    every = findings.results.at(findings.setting)
    return next((one for one in every if (one.collector, one.metric.name) == mine), None)


def _class(comparison: Comparison, label: str, counts: NDArray[np.int64], floor: float) -> Estimate:
    """How a kernel changes a class, of which int64[R] executed in each run."""
    base, other = (_boots(comparison, one, counts) for one in (comparison.labels[0], label))
    found = estimate(
        base,
        other,
        planned=comparison.manifest.repeat,
        deterministic=comparison.metric.deterministic,
        seed=comparison.manifest.order.seed,
    )
    return above_ticks(found, floor, _RULE)


def _boots(comparison: Comparison, label: str, counts: NDArray[np.int64]) -> list[list[float]]:
    columns = [at for at, run in enumerate(comparison.runs) if run.kernel == label]
    grouped = by_boot([comparison.runs[at] for at in columns])
    return [[float(counts[columns[at]]) for at in boot] for boot in grouped]


def _unchanged(change: Estimate) -> bool:
    """Whether nothing changed, as far as is known: timer ticks can make a small difference."""
    base, other = change.medians
    if base == other and change.verdict is Verdict.EXACT:
        return True
    if change.counted and change.verdict is not Verdict.DEPENDS:
        return abs(other - base) <= (change.tick_floor or 0.0)
    return change.verdict is Verdict.UNCHANGED
