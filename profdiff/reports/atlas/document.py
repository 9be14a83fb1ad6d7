"""The data of an atlas, put together of its sources."""

import math
from collections.abc import Iterator, Mapping, Sequence

from profdiff import __version__
from profdiff.base import units
from profdiff.evidence.atlas.lines import CellValue, ReleaseSeries
from profdiff.evidence.atlas.source import AtlasSource
from profdiff.evidence.atlas.steps import Culprit, ReleaseStep, steps
from profdiff.evidence.statistics import Verdict
from profdiff.reports.documents import suite
from profdiff.reports.page.site import cell_path
from profdiff.views import atlas
from profdiff.views.suite import events, making
from profdiff.views.suite.records import SuiteDamage, SuiteDocument, SuiteMissing

_NAMED = 6
# Words of machines that name a series; what all series share goes without saying.
_APART = "they are different series and never joined in one line"


def build(
    sources: Sequence[AtlasSource],
    documents: Sequence[SuiteDocument],
    pages: Sequence[Mapping[str, str]],
    found: Sequence[ReleaseSeries],
    threshold: float,
    damaged: Sequence[SuiteDamage] = (),
) -> atlas.Atlas:
    """``documents``: the report of each source; ``pages``: the addresses of its cells' pages;
    ``damaged``: recordings that cannot be read."""
    left_out = [*damaged, *_damaged(sources, documents)]
    titles = _titles(found)
    maker = _Maker(sources, documents, pages, threshold)
    made = [maker.series(one, title) for one, title in zip(found, titles, strict=True)]
    apart = {tuple(pair for pair in one.key if pair[0] != "metric") for one in found}
    remarks = [f"{len(apart)} machines or workloads: {_APART}"] if len(apart) > 1 else []
    remarks += [f"{one.name} is damaged, and left out: {one.why}" for one in left_out]
    remarks += _left_out(sources)
    remarks += [f"{one.name}: {told}" for one in sources for told in one.results.problems]
    remarks += maker.remarks
    metrics = [one.metric for one in found if one.metric]
    return atlas.Atlas(
        schema=atlas.SCHEMA,
        profdiff=__version__,
        banner=suite.banner(metrics[0] if metrics else None),
        threshold=threshold,
        sentences=[text for one in made for text in _newest(one, len(made) > 1)],
        sources=[_source(source, shown) for source, shown in zip(sources, documents, strict=True)],
        series=made,
        damaged=left_out,
        remarks=remarks,
    )


def source_page(source: AtlasSource) -> str:
    """Where the pages of a source are, relative to the site."""
    return f"sessions/{source.name}/index.html"


class _Maker:
    """Makes the records of each series."""

    def __init__(
        self,
        sources: Sequence[AtlasSource],
        documents: Sequence[SuiteDocument],
        pages: Sequence[Mapping[str, str]],
        threshold: float,
    ) -> None:
        self.remarks: list[str] = []
        self._sources, self._pages, self._threshold = sources, pages, threshold
        self._reproduce = [
            {cell.name: cell.reproduce for cell in shown.cells} for shown in documents
        ]

    def series(self, one: ReleaseSeries, title: str) -> atlas.AtlasSeries:
        found = {name: steps(one, name, self._threshold, self._sources) for name in one.lines}
        cells = [self._cell(one, name, found[name]) for name in one.lines]
        metric = one.metric
        unlike = sum(bool(point.others) for cell in cells for point in cell.points)
        if unlike:
            self.remarks.append(
                f"{title + ': ' if title else ''}{unlike:,} "
                f"{'value differs' if unlike == 1 else 'values differ'} between recordings of the "
                f"same kernel: {'the' if unlike == 1 else 'each'} cell's page shows "
                f"{'both' if unlike == 1 else 'them'}"
            )
        return atlas.AtlasSeries(
            title=title,
            machine=one.machine,
            metric=metric.name if metric else "",
            unit=making.unit(metric),
            better=metric.better if metric else "lower",
            sources=one.sources,
            releases=[self._release(one, number, found) for number in range(len(one.releases))],
            cells=cells,
        )

    def _release(
        self, one: ReleaseSeries, number: int, found: Mapping[str, Mapping[int, ReleaseStep]]
    ) -> atlas.AtlasRelease:
        kernel = one.releases[number].kernel
        here = [line[number] for line in found.values() if number in line]
        relevant = [step for step in here if step.relevant]
        sure = [step for step in here if step.change.verdict.is_sure]
        more = sum(making.is_worse(one.metric, step.change.delta) for step in relevant)
        smaller = sum(step.change.delta != 0 and not step.relevant for step in sure)
        unsure = sum(step.change.verdict is Verdict.UNSURE for step in here)
        depend = sum(step.change.verdict is Verdict.DEPENDS and not step.relevant for step in here)
        missing = sum(
            number in line and line[number][0].value is None for line in one.lines.values()
        )
        counts = {
            "more": more,
            "less": len(relevant) - more,
            "smaller": smaller,
            "same": len(here) - len(relevant) - smaller - unsure - depend,
            "depend": depend,
            "unsure": unsure,
            "missing": missing,
        }
        return atlas.AtlasRelease(
            title=units.printable(one.releases[number].title),
            release=kernel.release,
            label=kernel.label,
            build_id=kernel.build_id,
            compiler=kernel.compiler,
            sentence=self._sentence(one, number, here, counts),
            **counts,
        )

    def _sentence(
        self,
        one: ReleaseSeries,
        number: int,
        here: Sequence[ReleaseStep],
        counts: Mapping[str, int],
    ) -> str:
        """What a release says against the one before; "" where nothing was before."""
        if not here:
            return ""
        before = {step.since for step in here}
        than = one.releases[max(before)].title if len(before) == 1 else "the release before"
        said = making.said(one.metric, counts["more"], counts["less"], len(here), self._threshold)
        verb = "depends" if counts["depend"] == 1 else "depend"
        depend = f"; {counts['depend']} {verb} on state" if counts["depend"] else ""
        return units.printable(f"{one.releases[number].title} against {than}: {said}{depend}")

    def _cell(
        self, one: ReleaseSeries, name: str, found: Mapping[int, ReleaseStep]
    ) -> atlas.AtlasCell:
        line = one.lines[name]
        first = next(iter(line.values()))[0].cell
        return atlas.AtlasCell(
            name=name,
            workload=first.workload.name,
            about=units.printable(first.workload.about),
            op=units.printable(first.workload.op),
            tags=list(first.workload.tags),
            per_op=first.per_op,
            page=f"cells/{cell_path(name)}.html",
            points=[
                self._point(one, number, line[number], found.get(number)) for number in sorted(line)
            ],
        )

    def _point(
        self, one: ReleaseSeries, number: int, places: Sequence[CellValue], step: ReleaseStep | None
    ) -> atlas.AtlasPoint:
        place = places[0]
        name = place.cell.name
        absence = place.absence
        return atlas.AtlasPoint(
            release=number,
            source=place.source,
            label=place.label,
            value=place.value,
            exact=place.label in place.cell.exact,
            missing=SuiteMissing(kind=absence.kind, why=units.printable(absence.why))
            if place.value is None and absence
            else None,
            step=None if step is None else self._step(one, step),
            page=self._pages[place.source].get(name, ""),
            reproduce=self._reproduce[place.source].get(name, ""),
            others={
                self._sources[other.source].name: other.value
                for other in places[1:]
                if other.value is not None and other.value != place.value
            },
        )

    def _step(self, series: ReleaseSeries, step: ReleaseStep) -> atlas.AtlasStep:
        change = step.change
        both = [series.releases[number].kernel.compiler or "" for number in (step.since, step.at)]
        culprit = step.culprit
        return atlas.AtlasStep(
            since=step.since,
            before=self._value(step.before),
            after=self._value(step.after),
            relative=None if math.isnan(change.relative) else change.relative,
            delta=change.delta,
            verdict=making.VERDICTS[change.verdict],
            **making.seen(change),
            relevant=step.relevant,
            functions=[making.cell_function(one) for one in step.functions],
            seat=making.cell_function(step.seat) if step.seat else None,
            events=[events.of_kernel(one) for one in step.events],
            items=[events.of_kernel(one) for one in step.items],
            commit=_commit(culprit) if culprit else None,
            suspects=[_commit(one) for one in step.suspects],
            compilers=both if both[0] != both[1] else [],
            programs_differ=step.programs_differ,
        )

    def _value(self, place: CellValue) -> atlas.AtlasValue:
        name = place.cell.name
        return atlas.AtlasValue(
            source=place.source,
            value=place.value or 0.0,
            page=self._pages[place.source].get(name, ""),
            reproduce=self._reproduce[place.source].get(name, ""),
        )


def _commit(found: Culprit) -> atlas.AtlasCommit:
    return atlas.AtlasCommit(
        commit=found.revision.commit,
        subject=units.printable(found.revision.subject),
        source=found.source,
    )


def _source(source: AtlasSource, shown: SuiteDocument) -> atlas.AtlasSource:
    return atlas.AtlasSource(
        name=source.name,
        kind="session" if source.suite.alone else "suite",
        page=source_page(source),
        created=shown.created,
        command=list(source.suite.command),
        cells=len(shown.cells),
        noise=shown.noise.sentence if shown.noise else "",
        remarks=shown.remarks,
    )


def _damaged(
    sources: Sequence[AtlasSource], documents: Sequence[SuiteDocument]
) -> Iterator[SuiteDamage]:
    """The workloads of suites that cannot be read."""
    for source, shown in zip(sources, documents, strict=True):
        for one in shown.damaged:
            yield SuiteDamage(f"{source.name}: {one.name}", one.why)


def _left_out(sources: Sequence[AtlasSource]) -> list[str]:
    told = []
    for source in sources:
        if names := source.left_out:
            some = units.few(names, _NAMED)
            told.append(units.printable(f"{source.name}: left out, as nothing ran: {some}"))
    return told


def _titles(found: Sequence[ReleaseSeries]) -> list[str]:
    """What tells each series from the others; "" for the only one."""
    names = list(dict.fromkeys(name for one in found for name in one.machine))
    apart = [name for name in names if len({one.machine.get(name) for one in found}) > 1]
    return [
        units.printable(
            ", ".join(f"{name} {one.machine[name]}" for name in apart if name in one.machine)
        )
        for one in found
    ]


def _newest(one: atlas.AtlasSeries, several: bool) -> list[str]:
    """The sentence of the last release that has one."""
    told = [release.sentence for release in one.releases if release.sentence][-1:]
    return [f"{text} ({one.title})" if several and one.title else text for text in told]
