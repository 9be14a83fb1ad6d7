"""Which source lines of the kernels executed: of each kernel, and those that only one executed.
``docs/coverage.md`` explains it.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from profdiff.base import units
from profdiff.base.errors import InputError
from profdiff.base.metric import INSTRUCTIONS
from profdiff.profile.code.kernel_functions import KernelFunctions
from profdiff.profile.code.sure_lines import LineCounts
from profdiff.profile.comparison import Comparison
from profdiff.session.session import Session
from profdiff.sources.blobs import inside
from profdiff.sources.same_lines import SourceLine
from profdiff.views.annotation.making import Annotations
from profdiff.views.annotation.source_lines import SourceLine as FileLine
from profdiff.views.annotation.source_lines import SourceLines, SourceTree, check_sources
from profdiff.views.record import Record

INEXACT = "coverage needs exact counts: record with --collector exact"
# PATH_MAX of Linux.
_LONGEST = 4096


class Function(Record, frozen=True):
    """``line``: where it begins. ``calls``: how often it was entered; copies that are inlined
    are not."""

    name: str
    line: int
    calls: int


class File(Record, frozen=True):
    """``name``: relative to the source tree. ``lines``: how often each one executed. ``functions``:
    those that were called."""

    name: str
    lines: dict[int, int]
    functions: list[Function]


class Tracefile(Record, frozen=True):
    """``name``: without ``.info``, relative to the folder that holds all; ``kernel``: whose lines
    they are, by label; ``holds``: which of them."""

    name: str
    kernel: str
    holds: str
    files: list[File]


class Coverage(Record, frozen=True):
    """``tracefiles``: of each kernel, then lines that it may not have executed, then those of
    differences."""

    tracefiles: list[Tracefile]
    notes: list[str]


class _Kernel:
    """What one kernel executed. ``functions``: by the row of the comparison."""

    def __init__(self, comparison: Comparison, number: int, code: KernelFunctions) -> None:
        self.number = number
        self.label = comparison.labels[number]
        self.code = code
        self.lines = LineCounts.of(code, subtracted=comparison.setting.short is not None)
        self.functions = dict(_functions(comparison, number))

    def ran(self, line: SourceLine) -> bool:
        """Whether it executed, or may have."""
        lines = self.lines
        return lines.count.get(line, 0) > 0 or line in lines.unsure or line in lines.cancelled

    @property
    def files(self) -> set[str]:
        return {file for file, _ in (*self.lines.count, *self.lines.unsure)}

    def notes(self) -> Iterator[str]:
        if self.code.known.part is None:
            yield (f"{self.label}: only lines that executed are known ({self.code.known.missing})")
        if not self.lines.marked:
            yield (
                f"{self.label}: lines whose code was moved or merged are not told apart, and may "
                "not have executed (where statements begin is not known)"
            )
        if self.lines.unlined:
            told = units.counted(self.lines.unlined, "executed instruction")
            yield f"{self.label}: {told} without a source line"
        if self.lines.cancelled:
            told = units.counted(len(self.lines.cancelled), "line")
            yield (
                f"{self.label}: {told} left out, which executed no more often in the longer run "
                "than in the shorter one"
            )
        if odd := sum(not _fits(file) for file, _ in self.lines.count):
            told = units.counted(odd, "line")
            yield f"{self.label}: {told} left out of files outside of the source tree"


def coverage(
    comparisons: Sequence[Comparison],
    session: Session,
    sources: Mapping[str, SourceTree],
    untold: Sequence[str] = (),
) -> Coverage:
    """The lines of all kernels whose lines are known, and of each one against the base.
    ``sources``: by label; ``untold``: why others have none. Raises InputError: no exact counts, no
    kernel with lines, or sources of another version; SessionError for a damaged session."""
    comparison = next((one for one in comparisons if one.metric == INSTRUCTIONS), None)
    if comparison is None or not comparison.metric.exact:
        raise InputError(INEXACT)
    annotations = Annotations(comparison, session)
    every = [_Kernel(comparison, *one) for one in enumerate(annotations.kernels)]
    kernels = [one for one in every if one.lines.count]
    if not kernels:
        raise InputError(
            "no kernel has source lines: record with the vmlinux of each kernel, with debug "
            "information"
        )
    notes = [note for kernel in kernels for note in kernel.notes()]
    notes += [
        f"{one.label} is left out: it has no source lines (its vmlinux has no debug information)"
        for one in every
        if one not in kernels
    ]
    for kernel in kernels:
        if kernel.label in sources:
            tree = sources[kernel.label]
            check_sources(comparison, kernel.number, kernel.code, tree, kernel.files)
    found = [
        _tracefile(kernel.label, kernel, "executed", kernel.lines.count, kernel.functions)
        for kernel in kernels
    ]
    found += [
        _tracefile(
            f"unsure/{kernel.label}", kernel, "moved or merged code", kernel.lines.unsure, {}
        )
        for kernel in kernels
        if kernel.lines.marked
    ]
    base = next((kernel for kernel in kernels if kernel.number == 0), None)
    for kernel in kernels:
        if base is None or kernel is base:
            continue
        matched = _Matched(comparison, annotations, base, kernel, sources)
        found += _difference(base, kernel, matched)
        notes.append(matched.note())
    return Coverage(tracefiles=found, notes=[*notes, *untold])


def _difference(base: _Kernel, new: _Kernel, matched: "_Matched") -> Iterator[Tracefile]:
    for name, mine, other, known in (
        ("new", new, base, matched.in_base),
        ("vanished", base, new, matched.in_new),
    ):
        lines = {
            line: count
            for line, count in mine.lines.count.items()
            # Of a line that only began, code pairs no instruction with the other kernel's.
            if count
            and not (line in mine.lines.begun and line not in known)
            and not any(map(other.ran, known.get(line, ())))
        }
        functions = {row: one for row, one in mine.functions.items() if row not in other.functions}
        yield _tracefile(
            f"difference/{new.label}.{name}",
            mine,
            f"only {mine.label} executed",
            lines,
            functions,
        )


class _Matched:
    """Which lines of two kernels are the same: ``in_base`` has those of the base by each line of
    the new kernel, ``in_new`` the reverse.

    The sources of both decide, where they have the file; else the code of functions, as
    ``annotate`` pairs lines.
    """

    def __init__(
        self,
        comparison: Comparison,
        annotations: Annotations,
        base: _Kernel,
        new: _Kernel,
        sources: Mapping[str, SourceTree],
    ) -> None:
        self.in_base: dict[SourceLine, set[SourceLine]] = defaultdict(set)
        self.in_new: dict[SourceLine, set[SourceLine]] = defaultdict(set)
        self._labels = base.label, new.label
        self._sources = [label for label in self._labels if label in sources]
        known = SourceLines(self._labels, [0, 0], sources)
        self._told = {file for file in base.files & new.files if known.told(1, 0, file)}
        self._untold = (base.files & new.files) - self._told
        for file, line in new.lines.count:
            if file in self._told and (same := known.same(1, FileLine(file, line), 0)):
                self._add(same, (file, line))
        if self._untold:
            self._by_code(comparison, annotations, base, new)

    def note(self) -> str:
        """A sentence that says what was matched how."""
        ways = []
        for files, way in ((self._told, "sources"), (self._untold, "code")):
            if files:
                ways.append(f"by {way} in {units.counted(len(files), 'file')}")
        told = " and ".join(ways) or "in no file"
        return f"lines of {self._labels[0]} and {self._labels[1]} are matched {told}"

    def _add(self, base: SourceLine, new: SourceLine) -> None:
        self.in_base[new].add((base[0], base[1]))
        self.in_new[base[0], base[1]].add(new)

    def _by_code(
        self, comparison: Comparison, annotations: Annotations, base: _Kernel, new: _Kernel
    ) -> None:
        rows = set[int]()
        for kernel in (base.code, new.code):
            for part in kernel.parts:
                there = part.ran & part.addresses.places.in_kernel & (part.function >= 0)
                rows |= set(part.function[there].tolist())
        labels = [base.label, new.label]
        for row in sorted(rows):
            for line in annotations.annotation(row, labels=labels).lines:
                if len(line.lines) == 2 and line.file in self._untold:
                    self._add(*((line.file, line.lines[label]) for label in labels))


def _functions(comparison: Comparison, number: int) -> Iterator[tuple[int, tuple[str, Function]]]:
    """The kernel's functions that were called, with their files, by row."""
    if comparison.calls is None:
        return
    calls = np.zeros(len(comparison.functions) + len(comparison.unnamed), np.int64)
    np.add.at(calls, comparison.stacks.function, comparison.calls[:, number])
    for row in comparison.rows("kernel").tolist():
        one, line = comparison.functions[row], int(comparison.lines[row, number])
        if calls[row] > 0 and line and _fits(one.file) and _named(one.name):
            yield row, (one.file, Function(name=one.name, line=line, calls=int(calls[row])))


def _tracefile(
    name: str,
    kernel: _Kernel,
    holds: str,
    lines: Mapping[SourceLine, int],
    functions: Mapping[int, tuple[str, Function]],
) -> Tracefile:
    by_file: dict[str, dict[int, int]] = defaultdict(dict)
    for (file, line), count in sorted(lines.items()):
        if _fits(file):
            by_file[file][line] = count
    called: dict[str, list[Function]] = defaultdict(list)
    for file, one in functions.values():
        called[file].append(one)
    files = [
        File(name=file, lines=known, functions=_placed(called[file], list(known)))
        for file, known in by_file.items()
    ]
    return Tracefile(name=name, kernel=kernel.label, holds=holds, files=files)


def _placed(functions: Sequence[Function], lines: Sequence[int]) -> list[Function]:
    """The functions of a file, namesakes as one, at the first of its ``lines``, which rise, from
    where each is declared on: genhtml of lcov 2 refuses one where no line is."""
    found: dict[str, Function] = {}
    for one in sorted(functions, key=lambda one: (one.line, one.name)):
        at = bisect_left(lines, one.line)
        if at == len(lines):
            continue
        first = found.get(one.name, Function(name=one.name, line=lines[at], calls=0))
        found[one.name] = replace(first, calls=first.calls + one.calls)
    return list(found.values())


def _fits(file: str) -> bool:
    """Whether a tracefile can name a file, and it lies in the source tree."""
    return inside(file) and file.isprintable() and len(file) <= _LONGEST


def _named(function: str) -> bool:
    """Whether a tracefile can name a function: geninfo(1) ends its name at a comma."""
    return function.isprintable() and "," not in function and 0 < len(function) <= _LONGEST
