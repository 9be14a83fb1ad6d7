"""Which charts an experiment has: a sweep and a ladder of each metric."""

from matplotlib.figure import Figure

from profdiff.evidence.results import Result, Results
from profdiff.reports import ladder_figure, sweep_figure
from profdiff.reports.chart_figures import Chart, file_part
from profdiff.session import points
from profdiff.views.experiment import is_shown

_MOST_METRICS = 12


def charts(evidence: Results, setting: points.Setting) -> list[Chart]:
    """``sweep-METRIC`` where something was swept, and ``ladder-METRIC`` at ``setting``; none where
    the experiment is one exact run of each of two kernels. At most 12 metrics; the figures tell of
    the others."""
    if not is_shown(evidence):
        return []
    found: list[Chart] = []

    def add(name: str, drawn: tuple[str, Figure] | None) -> None:
        if drawn is None:
            return
        # Two metrics can look alike as parts of a file name.
        taken = [chart.name.casefold() for chart in found]
        unique, number = name, 2
        while unique.casefold() in taken:
            unique, number = f"{name}-{number}", number + 1
        found.append(Chart(unique, *drawn, about="experiment"))

    metrics = evidence.metrics()
    left_out = len(metrics) - _MOST_METRICS
    more = f"{left_out:,} more metrics have no chart" if left_out > 0 else ""
    for collector, metric in metrics[:_MOST_METRICS]:
        results = [
            result
            for result in evidence.of(collector, metric)
            if any(cell.boots for cell in result.cells)
        ]
        part = file_part(metric.name)
        if results and evidence.swept:
            add(f"sweep-{part}", sweep_figure.figure(evidence, results, more))
        for result in results:
            if result.setting == setting and _is_ladder(evidence, result):
                add(f"ladder-{part}", ladder_figure.figure(evidence, result, more))
    return found


def _is_ladder(evidence: Results, result: Result) -> bool:
    """Whether there is more to see than the end of a sweep's lines."""
    swept = evidence.swept
    repeated = any(len(cell.boots) > 1 for cell in result.cells)
    return not swept or repeated or len(evidence.kernels) > 2
