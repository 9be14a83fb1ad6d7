"""What wanted metrics come to on a sample of the workload's output, before anything is recorded."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median

from profdiff.base import bounded
from profdiff.base.errors import InputError
from profdiff.base.units import printable
from profdiff.collectors.workload.metrics import MAX_OUTPUT, Wanted, read


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
