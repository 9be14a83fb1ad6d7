"""Charts as files: figures of each metric as SVG and PNG, for print and for the page.

Loading matplotlib takes about half a second, so it is loaded when a figure is drawn, not before.
"""

import io
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from profdiff.base.errors import InputError
from profdiff.evidence.findings import Findings
from profdiff.profile.comparison import Side
from profdiff.reports.form import write_files

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from profdiff.evidence.parts import PartsFindings
    from profdiff.reports.charts.layout import Chart

_DPI = 200  # what print needs
# Dates and versions would make equal figures unequal files.
_METADATA = {"svg": dict.fromkeys(("Date", "Creator")), "png": {"Software": None}}


def figures(
    findings: Findings, *, side: Side | None = None, per_op: bool | None = None
) -> list[dict[str, str]]:
    """Every figure: ``title``, ``svg`` (a document of its own, which loads nothing), and what it
    is ``about``: the ``experiment``, or ``functions``.

    ``per_op``: counts per operation; None means where ops are known.
    """
    with matplotlib_as_ours():
        return _figures(_charts(findings, side, per_op))


def _figures(charts: "Iterator[Chart]") -> list[dict[str, str]]:
    return [
        {"title": caption.title, "about": about, "svg": _printed(figure, "svg").decode()}
        for _, about, caption, figure in charts
    ]


def write(
    findings: Findings, folder: Path, *, side: Side | None = None, per_op: bool | None = None
) -> list[Path]:
    """Write every figure to ``folder`` as SVG and PNG, all of them or none, and return
    their paths: ``sweep`` and ``ladder`` with each metric's name behind it, where an experiment has
    them; ``deltas`` (``functions``, of one kernel alone) and ``totals``, with the metric's name
    where there are several.

    Raises InputError when that cannot be written, or there is nothing to draw.
    """
    return _write(lambda: _charts(findings, side, per_op), folder)


def write_parts(findings: "PartsFindings", folder: Path) -> list[Path]:
    """The same of several architectures, or compilers: their plural with each metric's name behind
    it. Raises what ``write`` does."""
    return _write(lambda: _parts_charts(findings), folder)


def parts_figures(findings: "PartsFindings") -> list[dict[str, str]]:
    """As ``figures``, of several parts."""
    with matplotlib_as_ours():
        return _figures(_parts_charts(findings))


def _write(charts: "Callable[[], Iterator[Chart]]", folder: Path) -> list[Path]:
    if not next(one for one in (folder, *folder.parents) if one.exists()).is_dir():
        raise InputError(f"--charts {folder}: a file of that name is in the way")
    with matplotlib_as_ours():
        shown = list(charts())
        if not shown:
            raise InputError(f"--charts {folder}: no run measured anything, nothing to draw")
        figures = [
            (folder / f"{name}.{kind}", figure, kind)
            for name, _, _, figure in shown
            for kind in _METADATA
        ]
        write_files(
            ((path, _printed(figure, kind)) for path, figure, kind in figures), make_folders=True
        )
    return [path for path, _, _ in figures]


@contextmanager
def matplotlib_as_ours() -> Iterator[None]:
    """matplotlib with our settings, whatever the user's file says, and without its log lines."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    import matplotlib

    from profdiff.reports.charts.layout import SETTINGS

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)
        yield


def _charts(findings: Findings, side: Side | None, per_op: bool | None) -> "Iterator[Chart]":
    """Those of the experiment first."""
    from profdiff.reports.charts import bars, experiment

    yield from _named(
        [
            *experiment.charts(findings.results, findings.setting),
            *bars.function_charts(findings.comparisons, side, per_op=per_op),
        ]
    )


def _parts_charts(findings: "PartsFindings") -> "Iterator[Chart]":
    from profdiff.reports.charts import bars

    yield from _named(bars.part_charts(findings))


def _named(charts: "Iterable[Chart]") -> "Iterator[Chart]":
    """With names that tell them apart."""
    taken: set[str] = set()
    for chart in charts:
        # Two metrics can look alike as parts of a file name.
        name, number = chart.name, 2
        while name.casefold() in taken:
            name, number = f"{chart.name}-{number}", number + 1
        taken.add(name.casefold())
        yield chart._replace(name=name)


def _printed(figure: "Figure", kind: str) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, dpi=_DPI, metadata=_METADATA[kind], format=kind)
    return file.getvalue()
