"""The timed collector: the workload alone, neither counted nor sampled, several times in a boot."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from profdiff.base.metric import TIMED, Metric
from profdiff.collectors.collector import Collector, Options

if TYPE_CHECKING:
    from profdiff.collectors.guest.result import Left
    from profdiff.collectors.records import Measured, Value


class Timed(Collector):
    """Wall time, and the metrics that the workload prints of itself."""

    name = "timed"
    kind = TIMED
    help = "only the workload's time and what it prints"
    how = "the command alone, not profiled"
    options = (
        click.Option(
            ["--metric", "metrics"],
            multiple=True,
            metavar="[NAME[:UNIT[:lower|higher]]=]FORMAT[:KEY]",
            help="A metric that timed runs read from the workload's output "
            "(docs/workload-metrics.md). Can be repeated.",
        ),
        click.Option(
            ["--metric-sample"],
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Output of the workload, from a run of it anywhere. Each --metric is read from it "
            "before anything is recorded; plan shows the values.",
        ),
        click.Option(
            ["--boot-runs"],
            type=click.IntRange(1, 10_000),
            metavar="N",
            default=1,
            show_default=True,
            help="Number of times that a timed run executes the workload in its boot.",
        ),
    )
    selected_by = ("metrics", "metric_sample")

    def settings(self, given: Mapping[str, Any]) -> dict[str, Value]:
        from profdiff.collectors.workload.metrics import Wanted

        parsed = [str(Wanted.parse(text)) for text in given["metrics"]]
        self.preview(given)
        settings = super().settings({**given, "metrics": parsed})
        # What was checked is not part of what will be recorded.
        del settings["metric_sample"]
        return settings

    def preview(self, given: Mapping[str, Any]) -> list[str]:
        from profdiff.collectors.workload.metrics import told

        sample = given["metric_sample"]
        return told(sample, given["metrics"]) if sample else []

    def files(self, options: Options, *, emulated: bool) -> dict[str, bytes]:
        return {"boot-runs": b"%d\n" % options["boot_runs"]}

    def measure(self, left: Left) -> list[Measured]:
        """Wall time and the wanted metrics of all executions in a boot. Raises InputError when one
        of them does not have what is wanted."""
        from profdiff.collectors.records import Measured
        from profdiff.collectors.workload.metrics import Wanted, read
        from profdiff.collectors.workload.printed_unit import unit

        executions = left.executions()
        wanted = [Wanted.parse(text) for text in left.options["metrics"]]
        found: dict[Metric, list[float]] = {}
        for execution in executions:
            for metric, values in read(wanted, execution.output).items() if wanted else ():
                found.setdefault(metric, []).extend(values)
        return [
            *left.wall_time(),
            *(
                Measured(metric.name, unit(metric.unit), metric.better, False, values)
                for metric, values in found.items()
            ),
        ]
