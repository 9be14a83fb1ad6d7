"""What a workload or a machine prints: metrics, the environment, a JIT's map."""

import contextlib
from pathlib import Path

import numpy as np
from support import ROOT

from fuzz.structured import in_json, in_lines
from fuzz.target import Target
from profdiff.base.errors import InputError
from profdiff.collectors.machine.environment import Environment
from profdiff.collectors.perf.programs import has_pmu
from profdiff.collectors.workload.metrics import FORMATS, Wanted, read
from profdiff.collectors.workload.metrics.formats import PATTERN, readings
from profdiff.symbolization._native import SymbolRanges

_SAMPLES = ROOT / "tests/workload_metrics/samples"
_EXPRESSION = r"took (?P<time>[\d.e+-]+)"


def _samples() -> list[bytes]:
    files = sorted(path for path in _SAMPLES.iterdir() if path.name != "README.md")
    return [*(path.read_bytes() for path in files), b"took 12.5 3e2\nlatency 7 us\n"]


def _read_metrics(data: bytes, folder: Path) -> None:
    """By every format: what a user asks for is not the output's choice. Refused if by all."""
    output = data.decode(errors="replace")
    refusals = []
    for name in FORMATS:
        key = _EXPRESSION if name == PATTERN else None
        try:
            found = readings(name, key, output)
            if not found:
                raise InputError("it has none")
        except InputError as error:
            refusals.append(error)
            continue
        # All of them, which is refused where one has no value, and the last one by its name.
        for wanted in (Wanted(None, None, None, name, key), _one(name, key, found[-1].name)):
            with contextlib.suppress(InputError):
                for metric, values in read([wanted], output).items():
                    assert metric.name
                    assert values
                    assert np.isfinite(values).all()
    if len(refusals) == len(FORMATS):
        raise refusals[0]


def _one(format_name: str, key: str | None, name: str) -> Wanted:
    return Wanted("x", None, None, format_name, key or name)


_ENVIRONMENT = b"""\
hostname box
kernel 6.18.15
perf_event_paranoid 2
perf_event_max_sample_rate 100000
perf_event_max_sample_rate_after 50000
mitigation spectre_v2: Mitigation: Retpolines
mitigation meltdown: Not affected
event_source cpu
"""


def _read_environment(data: bytes, folder: Path) -> None:
    found = Environment.parse(data.decode(errors="replace"))
    assert all(isinstance(value, str) for value in found.values.values())
    found.number("perf_event_paranoid")
    assert has_pmu(found) in (True, False)
    assert found.rate_changed is None or len(found.rate_changed) == 2


_MAP = b"7f0000001000 40 js:f\n7f0000001040 10 js:a long name\n0x7f0000002000 1000 g\n"


def _read_map(data: bytes, folder: Path) -> None:
    ranges = SymbolRanges.parse_perf_map(data)
    addresses = np.array([0, 0x7F00_0000_1010, 2**64 - 1], np.uint64)
    assert len(ranges.resolve(addresses).reason) == 3


TARGETS = (
    Target(
        "workload-metrics",
        _samples,
        _read_metrics,
        cases=400,
        mutations=[in_json, in_lines, in_lines],
        words=[b"1e999", b"nan", b"inf", b"-", b",", b": ", b"\x1b[0;31m", b"took ", b"{", b"["],
    ),
    Target("environment", lambda: [_ENVIRONMENT], _read_environment, 1000, mutations=[in_lines]),
    Target("perf-map", lambda: [_MAP], _read_map, 1000, mutations=[in_lines]),
)
