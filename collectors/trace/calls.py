"""What traced calls of functions took: averages, percentiles, and a histogram for each function."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.base.bounded import read
from profdiff.base.errors import SessionError
from profdiff.collectors.records import Measured
from profdiff.symbolization._native import traced_calls

PERCENTILES = (50, 90, 99)
SCHEMA = "profdiff.trace/1"
# A histogram has at most 64 rows, and a recording a few functions.
_MAX_FILE = 1 << 20
_LOST = re.compile(r"(?m)^(?:overrun|commit overrun|dropped events): (\d{1,18})$")
_Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class Function(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many of the calls of ``name`` took from 2^k ns to less than 2^(k + 1) ns, for k from 0
    on; those that took less than 2 ns come first."""

    name: Annotated[str, msgspec.Meta(max_length=512)]
    calls: Annotated[list[_Count], msgspec.Meta(max_length=64)]


class Histogram(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a run keeps of its trace, ``profdiff.trace/1``. ``part``: of all calls, how many the
    buffer had room for."""

    schema: str
    functions: Annotated[list[Function], msgspec.Meta(max_length=1000)]
    part: Annotated[float, msgspec.Meta(ge=0, le=1)]

    @staticmethod
    def load(path: Path) -> "Histogram":
        """Raises SessionError."""
        try:
            found = msgspec.json.decode(read(path, _MAX_FILE), type=Histogram)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise SessionError(f"{path} is damaged: {error}") from error
        if found.schema != SCHEMA:
            raise SessionError(f"{path} has schema {found.schema[:40]!r}, not {SCHEMA}")
        return found


class Calls:
    """The calls of ``functions`` in the text of a trace. ``buffers``: what the kernel says of each
    processor's buffer. Both may be anything."""

    def __init__(self, text: bytes, buffers: bytes, functions: Sequence[str]) -> None:
        names = list(functions)
        function, duration = traced_calls(text, names)
        order = np.argsort(function, kind="stable")
        ends = np.searchsorted(function[order], np.arange(1, len(names)))
        parts = np.split(duration[order], ends) if names else []
        self.durations: dict[str, NDArray[np.uint64]] = {
            name: part for name, part in zip(names, parts, strict=True) if len(part)
        }
        # A call whose beginning finds no room is not traced at all: one event is one call.
        self.lost = sum(map(int, _LOST.findall(buffers.decode(errors="replace"))))
        self.kept = len(duration)

    @property
    def part(self) -> float:
        """The share of the calls whose time is known."""
        return self.kept / (self.kept + self.lost) if self.lost else 1.0

    def measured(self) -> list[Measured]:
        """For each function its calls, unless some were lost, and the time of a call."""
        found = []
        for name, durations in self.durations.items():
            values = {"average": float(durations.mean())}
            for percent in PERCENTILES:
                # As nearest ranks, so that each is the time of a call.
                at = np.percentile(durations, percent, method="inverted_cdf")
                values[f"p{percent}"] = float(at)
            if not self.lost:
                found.append(
                    Measured(f"{name}.calls", "calls", "lower", True, [float(len(durations))])
                )
            found += [
                Measured(f"{name}.{what}", "ns", "lower", False, [value], self.part)
                for what, value in values.items()
            ]
        return found

    def histogram(self) -> bytes:
        """The file that a run keeps."""
        functions = [
            Function(name, np.bincount(_power(durations)).tolist())
            for name, durations in self.durations.items()
        ]
        return msgspec.json.encode(Histogram(SCHEMA, functions, self.part))


def _power(durations: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The k of each duration. Whole numbers: a float rounds large ones up."""
    powers = np.uint64(1) << np.arange(1, 64, dtype=np.uint64)
    return np.searchsorted(powers, durations, side="right").astype(np.int64)
