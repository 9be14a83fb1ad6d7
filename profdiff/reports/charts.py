"""Charts as files: figures of each metric as SVG and PNG, for print and for the page.

Loading matplotlib takes about half a second, so it is loaded when a figure is drawn, not before.
"""

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profdiff.base.atomic import write_atomic
from profdiff.base.errors import InputError
from profdiff.evidence.findings import Findings
from profdiff.profile.comparison import Side

if TYPE_CHECKING:
    from matplotlib.backend_bases import FigureCanvasBase

    from profdiff.reports.chart_figures import Chart

_DPI = 200  # what print needs
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",  # text as text: small, searchable
    "svg.hashsalt": "profdiff",  # the same figure is the same file
    "hatch.linewidth": 0.4,
    "path.simplify": False,
}


def figures(
    findings: Findings, *, side: Side | None = None, per_op: bool | None = None
) -> list[dict[str, str]]:
    """Of every figure ``title``, ``svg`` (a document of its own, which loads nothing), and what it
    is ``about``: the ``experiment``, or ``functions``.

    ``per_op``: counts per operation; None means where ops are known.
    """
    with _matplotlib():
        return [
            {"title": chart.title, "about": chart.about, "svg": _svg(chart).decode()}
            for chart in _charts(findings, side, per_op)
        ]


def write(
    findings: Findings,
    folder: Path,
    *,
    side: Side | None = None,
    per_op: bool | None = None,
) -> list[Path]:
    """Write every figure to ``folder`` as SVG and PNG, each file whole or not at all, and return
    their paths: ``sweep`` and ``ladder`` with each metric's name behind it, where an experiment has
    them; ``deltas`` (``functions``, of one kernel alone) and ``totals``, with the metric's name
    where there are several.

    Raises InputError when that cannot be written, or there is nothing to draw.
    """
    paths = []
    try:
        with _matplotlib():
            shown = _charts(findings, side, per_op)
            if not shown:
                raise InputError(f"--charts {folder}: no run measured anything, nothing to draw")
            folder.mkdir(parents=True, exist_ok=True)
            for chart in shown:
                for suffix, data in ((".svg", _svg(chart)), (".png", _png(chart))):
                    paths.append(folder / f"{chart.name}{suffix}")
                    write_atomic(paths[-1], data, durable=False)
    except (FileExistsError, NotADirectoryError) as error:
        raise InputError(f"--charts {folder}: a file of that name is in the way") from error
    except OSError as error:
        raise InputError(f"--charts {folder}: cannot write: {error.strerror}") from error
    return paths


@contextmanager
def _matplotlib() -> Iterator[None]:
    """matplotlib with our settings, whatever the user's file says, and without its log lines."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    import matplotlib

    from profdiff.reports.chart_text import FONTS

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS | FONTS)
        yield


def _charts(findings: Findings, side: Side | None, per_op: bool | None) -> "list[Chart]":
    from profdiff.reports import chart_figures, experiment_charts

    return [
        *experiment_charts.charts(findings.results, findings.setting),
        *chart_figures.charts(findings.comparisons, side, per_op=per_op),
    ]


def _svg(chart: "Chart") -> bytes:
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    # Dates and versions would make equal figures unequal files.
    return _printed(FigureCanvasSVG(chart.figure), dict.fromkeys(("Date", "Creator")))


def _png(chart: "Chart") -> bytes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    return _printed(FigureCanvasAgg(chart.figure), {"Software": None})


def _printed(canvas: "FigureCanvasBase", metadata: dict[str, None]) -> bytes:
    file = io.BytesIO()
    kind = canvas.get_default_filetype()
    canvas.print_figure(file, dpi=_DPI, metadata=metadata, format=kind)
    return file.getvalue()
