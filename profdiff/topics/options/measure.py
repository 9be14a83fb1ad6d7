"""What each kernel of a recording costs more or less than the base, by cell, beside what it was to
differ from it in."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from profdiff.base.errors import SessionError
from profdiff.evidence.cell_functions import CellFunction
from profdiff.evidence.suite import SuiteResults
from profdiff.evidence.suite_cells import CellChange
from profdiff.profile.session_facts import known_options
from profdiff.session import variants
from profdiff.session.kernel_config import NOT_SET
from profdiff.session.manifest import Kernel
from profdiff.session.session import Session

_CONFIG = "CONFIG_"


class CellCost(NamedTuple):
    """``option``: what the kernel was to differ in. ``functions``: those that make most of the
    change, by their own counts."""

    option: str
    cell: str
    op: str
    base: float
    value: float
    change: CellChange
    functions: Sequence[CellFunction]


class OptionCost(NamedTuple):
    """``option``: what the kernel was to differ in, ``more`` what was set besides. ``changes``:
    what else of the config is different, ``OPTION n -> y``, None where that is not known. ``hole``:
    why the kernel was not built. In ``up`` and ``down`` cells it costs more or less, in ``same`` as
    much; of ``unsure`` ones nobody can tell."""

    option: str
    more: Sequence[str]
    changes: Sequence[str] | None
    hole: str
    up: int
    down: int
    same: int
    unsure: int


class Costs(NamedTuple):
    """``cells``: those that changed for sure, the largest change per op first."""

    options: Sequence[OptionCost]
    cells: Sequence[CellCost]

    @staticmethod
    def of(results: SuiteResults) -> "Costs":
        """Those of all kernels but the base."""
        base, *others = results.kernels.values()
        configs = _configs(results)
        found = [_option(results, base, one, configs) for one in others]
        cells = [
            CellCost(
                option.option,
                cell.name,
                cell.workload.op if cell.per_op else "(whole)",
                cell.values[base.label],
                cell.values[kernel.label],
                change,
                cell.functions.get(kernel.label, ()),
            )
            for kernel, option in zip(others, found, strict=True)
            for cell in results.cells
            if (change := cell.changes.get(kernel.label)) is not None and change.sure
        ]
        cells.sort(key=lambda one: (-abs(one.change.delta), one.option, one.cell))
        return Costs(sorted(found, key=lambda one: -(one.up + one.down)), cells)


def _option(
    results: SuiteResults, base: Kernel, kernel: Kernel, configs: Mapping[str, dict[str, str]]
) -> OptionCost:
    first, *more = _intended(base, kernel) or [kernel.label]
    changes = [one for cell in results.cells if (one := cell.changes.get(kernel.label)) is not None]
    up = sum(one.sure and one.delta > 0 for one in changes)
    down = sum(one.sure and one.delta < 0 for one in changes)
    unsure = sum(one.unsure for one in changes)
    ours, theirs = configs.get(base.label), configs.get(kernel.label)
    return OptionCost(
        option=first,
        more=more,
        changes=None if ours is None or theirs is None else _changes(ours, theirs, [first, *more]),
        hole=kernel.hole or "",
        up=up,
        down=down,
        same=len(changes) - up - down - unsure,
        unsure=unsure,
    )


def _intended(base: Kernel, kernel: Kernel) -> list[str]:
    """What a kernel was to differ in: options of its config, arguments, its machine."""
    known = base.source.settings if base.source else []
    own = kernel.source.settings if kernel.source else []
    given = {base.label: base.variant, kernel.label: kernel.variant}
    return [
        *(one.removeprefix(_CONFIG) for one in own if one not in known),
        *variants.differences(given, base.label, kernel.label),
    ]


def _configs(results: SuiteResults) -> dict[str, dict[str, str]]:
    """The configs of kernels, by the first session that tells them."""
    for folder in dict.fromkeys(cell.folder for cell in results.cells):
        with suppress(SessionError):
            if found := dict(known_options(Session.open(folder), set(results.kernels))):
                return found
    return {}


def _changes(
    ours: Mapping[str, str], theirs: Mapping[str, str], intended: Sequence[str]
) -> list[str]:
    named = {f"{_CONFIG}{one.partition('=')[0]}" for one in intended}
    return [
        f"{one.removeprefix(_CONFIG)} {ours.get(one, NOT_SET)} -> {theirs.get(one, NOT_SET)}"
        for one in sorted({*ours, *theirs} - named)
        if ours.get(one, NOT_SET) != theirs.get(one, NOT_SET)
    ]
