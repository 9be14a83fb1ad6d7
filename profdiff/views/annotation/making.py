"""Annotations of a comparison's functions: their code on every kernel, as records."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

import numpy as np
from numpy.typing import NDArray

from profdiff.base.errors import InputError
from profdiff.base.units import printable
from profdiff.evidence.blame.renamed import RenamedCode
from profdiff.profile.code.alignment import AlignedPlace, KernelSide, aligned, decoded
from profdiff.profile.code.kernel_functions import KernelFunctions, Place
from profdiff.profile.comparison import Comparison
from profdiff.session.session import Session
from profdiff.topics.functions.measure import functions
from profdiff.views.annotation import records
from profdiff.views.annotation.lines import Columns, notes_of, paired_lines
from profdiff.views.annotation.records import KernelAccesses
from profdiff.views.annotation.source_lines import (
    SourceLine,
    SourceLines,
    SourceTree,
    check_sources,
    lines_of,
)
from profdiff.views.record import Counts, by_label, counts, side

_ARROW = "→"


class Annotations:
    """``session``: where the kernels' code is kept; without one, annotations have what executed
    alone. ``sources``: by label. ``kernels``: by number; each one's code is read once, for all
    annotations."""

    def __init__(
        self,
        comparison: Comparison,
        session: Session | None = None,
        sources: Mapping[str, SourceTree] | None = None,
    ) -> None:
        self._comparison = comparison
        self._sources = sources or {}
        self._renamed = RenamedCode(comparison)
        self.kernels = [
            KernelFunctions(comparison, number, session)
            for number in range(len(comparison.kernels))
        ]
        self._accesses = [KernelAccesses(kernel) for kernel in self.kernels]

    def find(self, name: str) -> int:
        """The row of a function in the comparison, by its name as reports print it, or by its plain
        name or a symbol where one function has it. Raises InputError."""
        known = self._comparison.functions
        plain = name.partition(" [")[0].partition(" (")[0]
        rows = [row for row, function in enumerate(known) if function.name in (name, plain)]
        titles = self._titles(rows)
        for row in rows:
            if titles[row] == name:
                return row
        if not rows:
            rows = [
                row
                for row, symbols in enumerate(self._comparison.symbols)
                if any(name in texts for texts in symbols.values())
            ]
            titles = self._titles(rows)
        if len(rows) == 1 and (plain == name or titles[rows[0]] == name):
            return rows[0]
        if rows:
            told = ", ".join(f"'{title}'" for title in titles.values())
            raise InputError(f"{printable(name)}: name one of {told}")
        near = get_close_matches(name, {function.name for function in known}, 3, 0.6)
        told = f"; did you mean {' or '.join(near)}?" if near else ""
        raise InputError(f"{printable(name)}: no kernel executed a function of that name{told}")

    def annotation(
        self,
        function: str | int,
        *,
        inlined_at: str | None = None,
        labels: Sequence[str] | None = None,
    ) -> records.Annotation:
        """The annotation of a function, by name or by its row in the comparison. ``inlined_at``:
        only the places whose chain has that function, or those functions in a row (``A→B``).
        ``labels``: the kernels to show, of which the first is the base.

        Raises InputError where there is no such function, place or kernel, nothing to show, or
        sources of another version, and SessionError for a damaged session.
        """
        row = self.find(function) if isinstance(function, str) else function
        chosen = self._chosen(labels)
        title = self._titles([row])[row]
        kernels = [self.kernels[number] for number in chosen]
        if not any(kernel.parts for kernel in kernels):
            raise InputError("the recording came as text: it names functions, not addresses")
        places = set[Place]().union(*(kernel.places(row) for kernel in kernels))
        if not places and any(kernel.places(row) for kernel in self.kernels):
            told = " and ".join(self._comparison.labels[number] for number in chosen)
            raise InputError(f"{title}: not executed on {told}")
        if not places:
            raise InputError(
                f"{title} has no instructions of its own: those are in what it calls or inlines"
            )
        wanted = _at(places, inlined_at, title)
        code = [kernel.code(row, wanted) for kernel in kernels]
        known = SourceLines(
            [self._comparison.labels[number] for number in chosen],
            [int(self._comparison.lines[row, number]) for number in chosen],
            self._sources,
        )
        lines = [lines_of(one) for one in code]
        self._check_sources(chosen, lines)
        sides = [
            KernelSide(one, decoded(kernel, one), known.hints(at, mine))
            for at, (kernel, one, mine) in enumerate(zip(kernels, code, lines, strict=True))
        ]
        found = aligned(sides)
        accesses = [
            self._accesses[number].of(one.address) for number, one in zip(chosen, code, strict=True)
        ]
        columns = [Columns(*one) for one in zip(sides, accesses, strict=True)]
        return _Record(
            self._comparison, chosen, row, title, columns, sides, found, lines, known
        ).made(
            notes_of(
                self._comparison.functions[row].in_kernel,
                [self._comparison.labels[number] for number in chosen],
                [kernel.known for kernel in kernels],
                self._sources,
                sides,
                found,
                self._renamed_to(chosen, row),
                len(places - wanted),
            )
        )

    def _check_sources(self, chosen: Sequence[int], lines: Sequence[Sequence[SourceLine]]) -> None:
        for number, mine in zip(chosen, lines, strict=True):
            tree = self._sources.get(self._comparison.labels[number])
            if tree is not None:
                files = {line.file for line in mine if line.file}
                check_sources(self._comparison, number, self.kernels[number], tree, files)

    def _chosen(self, labels: Sequence[str] | None) -> list[int]:
        known = self._comparison.labels
        for label in labels or ():
            if label not in known:
                told = ", ".join(known)
                raise InputError(f"{printable(label)}: no kernel has that label; known: {told}")
        return [known.index(label) for label in labels or known]

    def _titles(self, rows: Sequence[int]) -> dict[int, str]:
        found = functions(self._comparison, np.array(rows, np.int64))
        return {row: function.title for row, function in zip(rows, found, strict=True)}

    def _renamed_to(self, chosen: Sequence[int], row: int) -> list[str]:
        """The functions of others than the first kernel whose code is like this one's, by title."""
        found = []
        for number in chosen[1:]:
            parts = self.kernels[chosen[0]].parts, self.kernels[number].parts
            other = self._renamed.of(row, chosen[0], number, parts)
            if other is not None:
                found.append(self._titles([other])[other])
        return found


def _at(places: set[Place], inlined_at: str | None, title: str) -> set[Place]:
    """The places that are asked for. Raises InputError."""
    if inlined_at is None:
        return places
    asked = tuple(name.strip() for name in inlined_at.replace("->", _ARROW).split(_ARROW))
    found = set()
    for place in places:
        callers = place[:-1] or place
        starts = range(len(callers) - len(asked) + 1)
        if any(callers[start : start + len(asked)] == asked for start in starts):
            found.add(place)
    if not found:
        at = sorted({(place[:-1] or place)[-1] for place in places})
        near = get_close_matches(asked[-1], at, 3, 0.6) or at[:3]
        raise InputError(
            f"{title} is not inlined at {printable(inlined_at)}; it is at {', '.join(near)}"
            + (f" and {len(at) - len(near)} more" if len(at) > len(near) else "")
        )
    return found


class _Record:
    """What an annotation is made of, on the chosen kernels."""

    def __init__(
        self,
        comparison: Comparison,
        chosen: Sequence[int],
        row: int,
        title: str,
        columns: Sequence[Columns],
        sides: Sequence[KernelSide],
        places: Sequence[AlignedPlace],
        lines: Sequence[Sequence[SourceLine]],
        known: SourceLines,
    ) -> None:
        self._comparison = comparison
        self._chosen = chosen
        self._row = row
        self._title = title
        self._sides = sides
        self._places = places
        self._lines = lines
        self._known = known
        self._labels = [comparison.labels[number] for number in chosen]
        self._columns = columns

    def made(self, notes: list[str]) -> records.Annotation:
        comparison, labels = self._comparison, self._labels
        code = [one.code for one in self._sides]
        sampled = all(one.samples is not None for one in code)
        calls = None
        if comparison.calls is not None:
            mine = comparison.stacks.function == self._row
            calls = counts(labels, comparison.calls[mine][:, self._chosen].sum(axis=0))
        return records.Annotation(
            schema=records.SCHEMA,
            function=self._title,
            side=side(comparison.functions[self._row].in_kernel),
            labels=labels,
            metric=comparison.metric.name,
            unit=comparison.metric.unit,
            exact=comparison.metric.exact,
            ops=comparison.ops,
            self=by_label(labels, (int(one.count.sum()) for one in code)),
            samples=by_label(labels, (_sum(one.samples) for one in code)) if sampled else None,
            calls=calls,
            size=by_label(labels, (int(one.code[:, 0].sum(dtype=np.int64)) for one in code)),
            split=self._split(),
            places=[self._place(place) for place in self._places],
            rows=[
                self._made_row(number, members)
                for number, place in enumerate(self._places)
                for members in place.rows.tolist()
            ],
            lines=self._made_lines(sampled),
            notes=notes,
        )

    def _place(self, place: AlignedPlace) -> records.Place:
        known = {
            label: list(chain)
            for label, chain in zip(self._labels, place.chains, strict=True)
            if chain is not None
        }
        sums = {}
        for at, (label, one) in enumerate(zip(self._labels, self._sides, strict=True)):
            members = place.rows[:, at]
            sums[label] = int(one.code.count[members[members >= 0]].sum())
        return records.Place(chain=next(iter(known.values())), chains=known, self=sums)

    def _made_row(self, place: int, members: Sequence[int]) -> records.Row:
        there = [
            (label, self._columns[at], member, at)
            for at, (label, member) in enumerate(zip(self._labels, members, strict=True))
            if member >= 0
        ]
        _, first, number, kernel = there[0]
        file, line = self._lines[kernel][number]
        taken = {
            label: jumped
            for label, columns, member, _ in there
            if (jumped := columns.taken[member]) is not None
        }
        samples = {
            label: columns.samples[member]
            for label, columns, member, _ in there
            if columns.samples is not None
        }
        keys = {columns.key[member] for _, columns, member, _ in there}
        relation: records.Relation = "same" if len(keys) == 1 else "changed"
        return records.Row(
            place=place,
            relation=relation if len(there) == len(members) else "only",
            address={label: f"{columns.address[m]:#x}" for label, columns, m, _ in there},
            text={label: columns.text[member] for label, columns, member, _ in there},
            count={label: columns.count[member] for label, columns, member, _ in there},
            samples=samples if len(samples) == len(there) else None,
            taken=taken or None,
            target={
                label: f"{columns.target[member]:#x}"
                for label, columns, member, _ in there
                if columns.target[member]
            },
            classes=first.classes[number],
            accesses={
                label: found
                for label, columns, member, _ in there
                if (found := columns.accesses[member])
            },
            file=file,
            line=line,
            files={
                label: self._lines[at][member].file
                for label, _, member, at in there
                if self._lines[at][member].file not in (file, "")
            },
            lines={
                label: self._lines[at][member].line
                for label, _, member, at in there
                if self._lines[at][member].line
            },
        )

    def _made_lines(self, sampled: bool) -> list[records.Line]:
        alike = [self._alike(place.rows) for place in self._places]
        paired = paired_lines(alike, self._lines, self._known)
        number = {(k, line): n for n, record in enumerate(paired) for k, line in record.items()}
        count: list[Counts] = [{} for _ in paired]
        samples: list[Counts] = [{} for _ in paired]
        places: list[set[int]] = [set() for _ in paired]
        for at, (label, columns) in enumerate(zip(self._labels, self._columns, strict=True)):
            of_line = [number[at, line] for line in self._lines[at]]
            for line, value in zip(of_line, columns.count, strict=True):
                count[line][label] = count[line].get(label, 0) + value
            for line, value in zip(of_line, columns.samples or (), strict=False):
                samples[line][label] = samples[line].get(label, 0) + value
            for place_number, place in enumerate(self._places):
                members = place.rows[:, at]
                for member in members[members >= 0].tolist():
                    places[of_line[member]].add(place_number)
        found = []
        for at, record in enumerate(paired):
            first = min(record)
            every = {self._labels[k]: self._known.text(k, one) for k, one in record.items()}
            texts = {label: text for label, text in every.items() if text is not None}
            known = {self._labels[k]: one.line for k, one in record.items() if one.line}
            found.append(
                records.Line(
                    file=record[first].file,
                    line=record[first].line,
                    lines=known,
                    text=next(iter(texts.values()), None),
                    text_of=list(texts),
                    count=count[at],
                    samples=samples[at] if sampled else None,
                    places=sorted(places[at]),
                )
            )
        # Within a file, they are in order.
        declared = self._comparison.functions[self._row].file
        return sorted(found, key=lambda line: (line.file != declared, line.file))

    def _alike(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows without the instructions that do not do what the row's first one does."""
        alike = rows.copy()
        for row, members in enumerate(rows.tolist()):
            there = [(at, member) for at, member in enumerate(members) if member >= 0]
            kernel, first = there[0]
            key = self._columns[kernel].key[first]
            for at, member in there[1:]:
                if self._columns[at].key[member] != key:
                    alike[row, at] = -1
        return alike

    def _split(self) -> dict[str, records.Split]:
        found = {}
        base = self._columns[0]
        for at, (label, columns) in enumerate(zip(self._labels, self._columns, strict=True)):
            if at == 0:
                continue
            same = 0
            for place in self._places:
                for old, new in place.rows[:, [0, at]].tolist():
                    if old >= 0 and new >= 0 and base.key[old] == columns.key[new]:
                        same += columns.count[new] - base.count[old]
            delta = sum(columns.count) - sum(base.count)
            found[label] = records.Split(same=same, other=delta - same)
        return found


def _sum(column: NDArray[np.int64] | None) -> int:
    return 0 if column is None else int(column.sum())
