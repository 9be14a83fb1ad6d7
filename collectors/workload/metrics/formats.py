"""The formats by the names that a user types."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from profdiff.collectors.workload.metrics import (
    fio,
    google_benchmark,
    hyperfine,
    libmicro,
    named_values,
    pattern,
    stress_ng,
    sysbench,
    will_it_scale,
)
from profdiff.collectors.workload.metrics.reading import Reading

PATTERN = "pattern"


class Format(NamedTuple):
    """``title`` for help; ``read`` finds readings in an output; None: the key is what reads."""

    title: str
    read: Callable[[str], list[Reading]] | None


FORMATS: Mapping[str, Format] = {
    "google-benchmark": Format("google/benchmark, console or JSON", google_benchmark.read),
    "libmicro": Format("libMicro", libmicro.read),
    "fio": Format("fio --output-format=json", fio.read),
    "stress-ng": Format("stress-ng --metrics or --yaml", stress_ng.read),
    "sysbench": Format("sysbench", sysbench.read),
    "will-it-scale": Format("will-it-scale, CSV or one program", will_it_scale.read),
    "hyperfine": Format("hyperfine --export-json", hyperfine.read),
    "values": Format("lines of NAME: VALUE UNIT", named_values.read),
    PATTERN: Format("a regular expression with named groups", None),
}


def readings(format_name: str, key: str | None, output: str) -> list[Reading]:
    """What ``format_name``, a member of ``FORMATS``, finds in ``output``; of a pattern, ``key`` is
    the expression. Raises InputError: the output is not that format's."""
    read = FORMATS[format_name].read
    return read(output) if read else pattern.read(key or "", output)
