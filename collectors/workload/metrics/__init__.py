"""Metrics that a workload prints of itself: which ones are wanted, and their values.

What wanted metrics come to on a sample of the workload's output, before anything is recorded.
"""

import math
import re
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from profdiff.base import bounded
from profdiff.base.errors import InputError
from profdiff.base.metric import Metric
from profdiff.base.units import printable
from profdiff.collectors.workload.metrics.formats import FORMATS, PATTERN, Format, readings
from profdiff.collectors.workload.metrics.reading import Reading
from profdiff.collectors.workload.metrics.wanted import Wanted, chosen
from profdiff.collectors.workload.printed_unit import usual_better

__all__ = ["FORMATS", "MAX_OUTPUT", "Format", "Reading", "Wanted", "read"]

MAX_OUTPUT = 16 * 2**20
# As the manifest's Measured.
_LONGEST_NAME, _MOST_VALUES = 1000, 10_000
_SHOWN = 80
# Colours of programs that take a serial line for a terminal.
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}m")


def read(wanted: Sequence[Wanted], output: str) -> dict[Metric, list[float]]:
    """The metrics of one execution, in the order they were asked for. ``output`` is its standard
    output. A metric has several values where its format repeats measurements.

    Raises InputError: the output is longer than ``MAX_OUTPUT`` characters, or not what a format
    prints; a metric is not there, there twice, without a value or not finite; two have one name.
    """
    if len(output) > MAX_OUTPUT:
        raise InputError(f"the workload printed more than {MAX_OUTPUT:,} characters")
    output = _COLOUR.sub("", output)
    metrics: dict[Metric, list[float]] = {}
    names: set[str] = set()
    found: dict[tuple[str, str | None], list[Reading]] = {}
    for want in wanted:
        source = (want.format, want.key if want.format == PATTERN else None)
        if source not in found:
            found[source] = readings(*source, output)
        for reading in chosen(want, found[source]):
            unit = want.unit if want.unit is not None else reading.unit
            better = want.better or reading.better or usual_better(unit)
            metric = Metric(want.name or reading.name, unit, better)
            # A program can print what a session cannot hold: JSON has halves of characters.
            if not _fits(metric.name) or not _fits(metric.unit):
                raise InputError(
                    f"{metric.name[:_SHOWN]!r} is too long for a metric's name, or has half a "
                    "character: ask for the other metrics by name"
                )
            if metric.name in names:
                raise InputError(f"two metrics are called {metric.name!r}: give one another name")
            names.add(metric.name)
            metrics[metric] = _checked(reading)
    return metrics


def _checked(reading: Reading) -> list[float]:
    if not reading.values:
        raise InputError(
            f"{reading.name!r} has no value in the workload's output: the benchmark failed"
        )
    if not all(map(math.isfinite, reading.values)):
        raise InputError(
            f"{reading.name!r} is not a finite number in the workload's output:"
            " ask for the other metrics by name"
        )
    if len(reading.values) > _MOST_VALUES:
        raise InputError(
            f"{reading.name!r} has {len(reading.values):,} values in the workload's output, more "
            f"than {_MOST_VALUES:,}: ask for the other metrics by name"
        )
    return list(reading.values)


def _fits(text: str) -> bool:
    """Whether a session can hold a metric's name or unit."""
    try:
        return len(text.encode()) <= _LONGEST_NAME
    except UnicodeEncodeError:
        return False


def told(sample: Path, metrics: Sequence[str]) -> list[str]:
    """A line for each metric. Raises InputError: the sample cannot be read, or does not have what
    is wanted."""
    if not metrics:
        raise InputError(f"--metric-sample {sample}: name a metric to read from it with --metric")
    try:
        output = bounded.read(sample, MAX_OUTPUT).decode(errors="replace")
    except OSError as error:
        raise InputError(f"cannot read the sample {sample}: {error.strerror}") from error
    try:
        found = read([Wanted.parse(text) for text in metrics], output)
    except InputError as error:
        raise InputError(f"{sample}: {error}") from error
    return [
        printable(
            f"{metric.name}: {median(values):,.6g} {metric.unit}".rstrip()
            + (f" (median of {len(values)})" if len(values) > 1 else "")
            + f", {metric.better} is better"
        )
        for metric, values in found.items()
    ]
