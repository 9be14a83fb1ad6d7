"""Which charts an experiment has: a sweep and a ladder of each metric."""

from collections.abc import Iterator

from profdiff.evidence.results import Results
from profdiff.reports.charts.ladder import ladder
from profdiff.reports.charts.layout import Chart
from profdiff.reports.charts.sweep import sweep
from profdiff.reports.charts.words import file_part
from profdiff.session import points
from profdiff.views.results.experiment import is_shown

_MOST_METRICS = 12


def charts(evidence: Results, setting: points.Setting) -> Iterator[Chart]:
    """``sweep-METRIC`` where something was swept, and ``ladder-METRIC`` at ``setting``; none where
    the experiment is one exact run of each of two kernels. At most 12 metrics; the figures tell of
    the others."""
    if not is_shown(evidence):
        return
    metrics = evidence.metrics()
    left_out = len(metrics) - _MOST_METRICS
    more = [f"{left_out:,} more metrics have no chart"] if left_out > 0 else []
    for collector, metric in metrics[:_MOST_METRICS]:
        part = file_part(metric.name)
        results = [one for one in evidence.of(collector, metric) if any(c.boots for c in one.cells)]
        if results and evidence.swept:
            yield Chart(f"sweep-{part}", "experiment", *sweep(evidence, results, more))
        for result in results:
            # Is there more to see than the end of a sweep's lines?
            repeated = any(len(cell.boots) > 1 for cell in result.cells)
            seen = evidence.swept and not repeated and len(evidence.kernels) < 3
            if result.setting == setting and not seen:
                drawn = ladder(evidence, result, more)
                if drawn is not None:
                    yield Chart(f"ladder-{part}", "experiment", *drawn)
