"""Metrics that a workload prints of itself: which ones are wanted, and their values."""

import math
import re
from collections.abc import Sequence
from difflib import get_close_matches

from profdiff.base.errors import InputError
from profdiff.base.metric import Metric
from profdiff.collectors.workload.metrics.formats import FORMATS, PATTERN, Format, readings
from profdiff.collectors.workload.metrics.reading import Reading, usual_better
from profdiff.collectors.workload.metrics.wanted import Wanted

__all__ = ["FORMATS", "MAX_OUTPUT", "Format", "Reading", "Wanted", "read"]

MAX_OUTPUT = 16 * 2**20
# Colours of programs that take a serial line for a terminal.
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}m")
_SHOWN_NAMES = 6


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
        for reading in _chosen(want, found[source]):
            unit = want.unit if want.unit is not None else reading.unit
            better = want.better or reading.better or usual_better(unit)
            metric = Metric(want.name or reading.name, unit, better)
            if metric.name in names:
                raise InputError(f"two metrics are called {metric.name!r}: give one another name")
            names.add(metric.name)
            metrics[metric] = _checked(reading)
    return metrics


def _chosen(want: Wanted, there: list[Reading]) -> list[Reading]:
    """The readings that ``want`` means: at least one, each of a name of its own."""
    if not there:
        what = f"pattern {want.key!r}" if want.format == PATTERN else want.format
        raise InputError(f"the workload's output has no metric for {what}")
    if want.format != PATTERN and want.key is not None:
        chosen = [reading for reading in there if reading.name == want.key]
        if not chosen:
            raise InputError(f"the workload's output has no {want.key!r}{_others(want.key, there)}")
    else:
        chosen = there
    seen: set[str] = set()
    for reading in chosen:
        if reading.name in seen:
            raise InputError(
                f"{want.format} finds {reading.name!r} twice in the workload's output:"
                " say which one, or let it print one"
            )
        seen.add(reading.name)
    return chosen


def _others(key: str, there: list[Reading]) -> str:
    names = list(dict.fromkeys(reading.name for reading in there))
    if near := get_close_matches(key, names[:1000], 1):
        return f": did you mean {near[0][:200]!r}?"
    more = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
    return f"; it has {', '.join(repr(name[:200]) for name in names[:_SHOWN_NAMES])}{more}"


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
    return list(reading.values)
