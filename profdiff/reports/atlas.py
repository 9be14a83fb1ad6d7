"""An atlas as a site: its data put together of its sources, the index, and the pages of cells and
recordings."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec
from msgspec.structs import replace

from profdiff import __version__
from profdiff.base import units
from profdiff.base.errors import SessionError
from profdiff.evidence.atlas import AtlasSource, CellValue, ReleaseSeries, plain_name, series
from profdiff.evidence.atlas_steps import Culprit, ReleaseStep, steps
from profdiff.evidence.findings import Findings
from profdiff.evidence.statistics import Verdict
from profdiff.reports import suite_document
from profdiff.reports.documents import encode, session_document
from profdiff.reports.page import html, suite
from profdiff.reports.page.records import AtlasPage
from profdiff.reports.page.site import (
    CellFiles,
    SiteFolder,
    add,
    assets,
    cell_path,
    site_folder,
    up,
)
from profdiff.session.held import held
from profdiff.views import atlas, suite_making
from profdiff.views.atlas import Atlas, AtlasSeries
from profdiff.views.kernels.facts import variant
from profdiff.views.suite import SuiteCell, SuiteDamage, SuiteDocument, SuiteMissing

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
        banner=suite_document.banner(metrics[0] if metrics else None),
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
            unit=suite_making.unit(metric),
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
        more = sum(suite_making.is_worse(one.metric, step.change.delta) for step in relevant)
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
            variant=variant(kernel),
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
        said = suite_making.said(
            one.metric, counts["more"], counts["less"], len(here), self._threshold
        )
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
            verdict=suite_making.VERDICTS[change.verdict],
            **suite_making.seen(change),
            relevant=step.relevant,
            functions=[suite_making.cell_function(function) for function in step.functions],
            seat=suite_making.cell_function(step.seat) if step.seat else None,
            events=[suite_making.of_kernel(event) for event in step.events],
            items=[suite_making.of_kernel(item) for item in step.items],
            commit=_commit(culprit) if culprit else None,
            suspects=[_commit(suspect) for suspect in step.suspects],
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


def write(
    target: Path, folders: Sequence[Path], threshold: float, tell: Callable[[str], None]
) -> Atlas:
    """Make the folder ``target`` the atlas of recordings. ``tell``: gets a line for each recording
    that is read. A recording that is damaged is left out, and named. Raises InputError, and
    SessionError where none is left."""
    with site_folder(target) as site:
        assets(site, "atlas")
        sources: list[AtlasSource] = []
        documents: list[SuiteDocument] = []
        pages: list[dict[str, str]] = []
        damaged: list[SuiteDamage] = []
        for number, folder in enumerate(folders, 1):
            tell(f"{number} of {len(folders)}: {folder}")
            try:
                source = AtlasSource.of(folder, _unique(plain_name(folder), sources))
            except SessionError as error:
                # What is not a recording at all is a mistake in the command line.
                if len(folders) == 1 or not held(folder):
                    raise
                damaged.append(SuiteDamage(str(folder), units.printable(str(error))))
                continue
            shown = suite_document.of_results(source.results, threshold)
            sources.append(source)
            documents.append(shown)
            place = f"sessions/{source.name}/"
            cells = suite.for_each_cell(folder, shown, partial(_cell_files, place))
            pages.append(add(site, place, shown, cells))
        if not sources:
            raise SessionError(f"no recording can be read: {damaged[0].name}: {damaged[0].why}")
        found = series(sources)
        atlas = build(sources, documents, pages, found, threshold, damaged)
        _add(site, atlas)
    return atlas


def _cell_files(place: str, cell: SuiteCell, found: Findings) -> CellFiles:
    return CellFiles.of(cell, session_document(found), place, whole=False)


def _unique(name: str, sources: Sequence[AtlasSource]) -> str:
    """A name that no other recording has."""
    taken = {source.name for source in sources}
    number, found = 2, name
    while found in taken:
        found, number = f"{name}~{number}", number + 1
    return found


def _add(site: SiteFolder, atlas: Atlas) -> None:
    _page(site, atlas, "index", "")
    site.write("index.json", encode(atlas) + b"\n")
    lines: dict[str, list[AtlasSeries]] = {}
    for one in atlas.series:
        for cell in one.cells:
            lines.setdefault(cell.name, []).append(replace(one, cells=[cell]))
    for name, known in lines.items():
        path = known[0].cells[0].page.removesuffix(".html")
        _page(site, replace(atlas, series=known, sentences=[], remarks=[], damaged=[]), path, name)
        record = {
            "name": name,
            "lines": [
                {
                    "machine": one.machine,
                    "releases": [release.title for release in one.releases],
                    "cell": msgspec.to_builtins(one.cells[0]),
                }
                for one in known
            ],
        }
        site.write(f"{path}.json", msgspec.json.encode(record) + b"\n")


def _page(site: SiteFolder, atlas: Atlas, path: str, cell: str) -> None:
    data = AtlasPage(atlas=atlas, cell=cell, up=up(path), json=f"{path}.json")
    page = html.linked("atlas", encode(data), ["atlas/atlas.html"], path)
    site.write(f"{path}.html", page)
