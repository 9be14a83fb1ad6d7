"""The lines of an atlas as time series in CSV, unrounded: a row for each release, a column for each
cell. Apache Otava reads it (``docs/CSV.md`` of apache/otava; ``branch`` is its own column)."""

from collections.abc import Iterator

from profdiff.forms.csv import Line, text, written
from profdiff.views.atlas import Atlas, AtlasPoint, AtlasRelease, AtlasSeries

_HEADER = ("time", "branch", "release", "build_id", "compiler")
# Otava, pandas and R read it as a number that there is not; an empty field ends Otava.
_NO_VALUE = "nan"


def render(atlas: Atlas) -> str:
    """Releases in their order, series after series; cells in the order of the atlas. ``time`` is
    when the first recording that has the release was made."""
    names = dict.fromkeys(cell.name for series in atlas.series for cell in series.cells)
    return written([*_HEADER, *map(text, names)], _rows(atlas, list(names)))


def _rows(atlas: Atlas, names: list[str]) -> Iterator[Line]:
    for series in atlas.series:
        known: list[dict[str, AtlasPoint]] = [{} for _ in series.releases]
        for cell in series.cells:
            for point in cell.points:
                known[point.release][cell.name] = point
        for release, points in zip(series.releases, known, strict=True):
            made = min(atlas.sources[point.source].created for point in points.values())
            values = [points[name].value if name in points else None for name in names]
            yield [*_head(series, release, made), *map(_number, values)]


def _head(series: AtlasSeries, release: AtlasRelease, made: str) -> Line:
    known = (made, series.title or series.metric, release.title, release.build_id or "")
    return [*map(text, known), text(release.compiler or "")]


def _number(value: float | None) -> str:
    return _NO_VALUE if value is None else repr(value)
