"""The record of which cache lines change hands."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from profdiff import __version__
from profdiff.collectors.sharing.lines import PERSISTENT
from profdiff.profile.function_title import title
from profdiff.profile.sharing import sums as summed
from profdiff.profile.sharing.locks import Lock
from profdiff.profile.sharing.names import Name
from profdiff.profile.sharing.runs import chosen, lines_at, nearest
from profdiff.profile.sharing.table import Change, Difference, SharingRow, SharingTable
from profdiff.session.points import Setting
from profdiff.session.session import Session
from profdiff.views.record import Counts, by_label
from profdiff.views.sharing import records
from profdiff.views.sharing.records import Bystander, Data, FunctionPart, Row, SharingDocument


def build(session: Session, at: str | None = None) -> SharingDocument:
    """Raises InputError where no run recorded shared lines, SessionError where what is kept is
    damaged."""
    return _build(session, chosen(session.manifest, at))


def build_near(session: Session, setting: Setting) -> SharingDocument:
    """The same at a setting, or at the last one that has such runs."""
    return _build(session, nearest(session.manifest, setting))


def _build(session: Session, setting: Setting) -> SharingDocument:
    return of_table(SharingTable(lines_at(session, setting)), setting.title)


def of_table(table: SharingTable, at: str = "") -> SharingDocument:
    """The same of a table that was made before."""
    making = _Making(table)
    rows, held = table.rows(), table.held()
    return SharingDocument(
        schema=records.SCHEMA,
        profdiff=__version__,
        kernels=[
            records.KernelSide(
                label=one.kernel.label,
                release=one.kernel.release,
                ops=one.lines.all_ops,
                by_vcpu=one.lines.ops.tolist(),
                ops_by=one.lines.ops_by,
                instructions=int(one.lines.instructions.sum()),
                runs=one.runs,
                missing=one.missing,
            )
            for one in table.kernels
        ],
        at=at,
        unit="transfers",
        line_size=table.kernels[0].lines.line_size,
        persistent=PERSISTENT,
        rows=[making.row(row) for row in rows],
        held=[
            making.held(lock, counts, table.is_sure(lock, held)) for lock, counts in held.items()
        ],
        total=making.total(table.total, rows),
        not_covered=["time", "waiting-for-locks", "page-walks", "devices"],
    )


class _Making:
    def __init__(self, table: SharingTable) -> None:
        self._labels = [one.kernel.label for one in table.kernels]
        self._table, self._functions = table, table.functions

    def row(self, row: SharingRow) -> Row:
        """Its record."""
        return Row(
            data=self._data(row.name, row.alternatives),
            fields=[self._data(one).title for one in row.fields],
            kernels=self._kernels(row),
            changes=self._changes(row.changes),
            functions=self._parts(row.sums),
            bystanders=[
                Bystander(
                    data=self._data(one.name),
                    reads=by_label(self._labels, one.counts),
                    unsure=self._unsure(one.sure),
                )
                for one in self._table.reads(row)
            ],
        )

    def held(
        self, lock: Lock, counts: Sequence[tuple[int, int]], sure: Sequence[bool]
    ) -> records.HeldLock:
        """The record of a lock, of its times and instructions by kernel."""
        sums = [records.HeldSums(times=times, instructions=those) for times, those in counts]
        return records.HeldLock(
            data=self._data(lock.name, lock.name.among),
            function=self._function(lock.function) if lock.function >= 0 else "",
            mode=lock.mode,
            kernels=by_label(self._labels, sums),
            unsure=self._unsure(sure),
        )

    def _unsure(self, sure: Sequence[bool]) -> list[str]:
        """The labels of the kernels whose difference to the base is not certain."""
        return [label for label, one in zip(self._labels[1:], sure, strict=True) if not one]

    def total(self, total: SharingRow, rows: Sequence[SharingRow]) -> records.Total:
        """The record of all rows' sum."""
        for one in total.sums:
            # That of one row stands there.
            one.largest = None
        return records.Total(
            kernels=self._kernels(total),
            changes=self._changes(total.changes),
            unnamed=self._transfers([one for one in rows if not one.name.known]),
            user=self._transfers([one for one in rows if one.name.kind == "user-memory"]),
        )

    def _transfers(self, rows: Sequence[SharingRow]) -> Counts:
        return {
            label: sum(row.sums[kernel].transfers for row in rows)
            for kernel, label in enumerate(self._labels)
        }

    def _data(self, name: Name, alternatives: Sequence[str] = ()) -> Data:
        return Data(
            kind=name.kind,
            type=name.type,
            symbol=name.symbol,
            field=name.path,
            alternatives=list(alternatives),
            function=self._function(name.function) if name.function >= 0 else "",
        )

    def _function(self, number: int) -> str:
        one, namesakes = self._table.function(number), self._functions.namesakes[number]
        return title(one.name, one.object, one.file, namesakes=namesakes)

    def _kernels(self, row: SharingRow) -> dict[str, records.Sums]:
        return {
            label: records.Sums(
                transfers=one.transfers,
                false=one.false,
                untold=one.untold,
                recycled=one.recycled,
                misses=one.all_misses,
                fewest_misses=one.fewest,
                most_misses=one.most,
                recycled_misses=one.recycled_misses,
                read_fetches=one.read_fetches,
                write_fetches=one.write_fetches,
                upgrades=one.upgrades,
                lines=one.lines,
                bystander_reads=one.bystander_reads,
                locked=one.locked,
                verdict="depends on the schedule" if depends else "exact",
                line=self._line(one.largest),
            )
            for label, one, depends in zip(self._labels, row.sums, row.depends, strict=True)
        }

    def _line(self, line: summed.LineUse | None) -> records.Line | None:
        if line is None:
            return None
        fields = [
            records.FieldUse(
                offset=one.offset,
                size=one.size,
                name="" if one.named is None else self._data(*one.named).title,
                loads=one.loads,
                stores=one.stores,
            )
            for one in line.fields
        ]
        return records.Line(transfers=line.transfers, size=line.size, fields=fields)

    def _changes(self, changes: Sequence[Change]) -> dict[str, records.Change]:
        return {
            label: records.Change(
                transfers=_difference(one.transfers, one.sure),
                misses=_difference(one.misses, one.sure),
                verdict="exact" if one.sure else "unsure",
                causes=sorted(one.causes),
            )
            for label, one in zip(self._labels[1:], changes, strict=True)
        }

    def _parts(self, sums: Sequence[summed.Sums]) -> list[FunctionPart]:
        misses: defaultdict[int, list[int]] = defaultdict(lambda: [0] * len(sums))
        sites: defaultdict[int, Counter[int]] = defaultdict(Counter)
        for kernel, one in enumerate(sums):
            for (inner, site), count in one.misses.items():
                misses[inner][kernel] += count
                if site != inner:
                    sites[inner][site] += count
        known = self._functions.functions
        order = sorted(misses, key=lambda one: (-max(misses[one]), -sum(misses[one]), known[one]))
        return [
            FunctionPart(
                name=self._function(number),
                object=self._table.function(number).object,
                file=self._table.function(number).file,
                within=[
                    self._function(site)
                    for site in sorted(
                        sites[number], key=lambda one: (-sites[number][one], known[one])
                    )
                ],
                misses=by_label(self._labels, misses[number]),
            )
            for number in order
        ]


def _difference(one: Difference, sure: bool) -> records.Difference:
    return records.Difference(delta=one.delta if sure else None, low=one.low, high=one.high)
