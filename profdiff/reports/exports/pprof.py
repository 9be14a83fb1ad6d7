"""pprof's profile: a gzip of the message ``perftools.profiles.Profile``.

The message is github.com/google/pprof, proto/profile.proto. These of its fields are written, with
their numbers; the wire format is protobuf's (https://protobuf.dev/programming-guides/encoding/).
"""

import gzip
from collections.abc import Iterable, Sequence

import numpy as np

from profdiff.base.errors import InputError
from profdiff.profile.comparison import Comparison
from profdiff.reports.exports.stacks import (
    LEFT_OUT,
    MOST_FRAMES,
    FrameName,
    frame_names,
    stack_paths,
)
from profdiff.session import inlines


def render(comparisons: Sequence[Comparison]) -> bytes:
    """The samples of all kernels, a sample type for each metric with the first one's stacks.

    The base's are negative and have the label ``pprof::base``, as ``pprof -diff_base`` makes them,
    so totals are deltas. Each kernel's samples carry its label as ``kernel``. One kernel alone is
    positive. Raises InputError for more than two kernels, whose sum would mean nothing.
    """
    comparison = comparisons[0]
    labels = comparison.labels
    if len(labels) > 2:
        raise InputError(
            f"--pprof holds two kernels, there are {len(labels)}: compare two (--kernel or import)"
        )
    metrics = [one for one in comparisons if one.stacks is comparison.stacks]
    strings: dict[str, int] = {"": 0}

    def string(text: str) -> int:
        return strings.setdefault(text, len(strings))

    out = bytearray()
    for metric in metrics:
        unit = "nanoseconds" if metric.metric.unit == "ns" else "count"
        _message(out, 1, _fields((1, string(metric.metric.name)), (2, string(unit))))
    names = frame_names(comparison)
    if comparison.stacks.depth.max(initial=0) >= MOST_FRAMES:
        names.append(FrameName(LEFT_OUT, "", "", 0, False))
    # Function f is location f + 1.
    locations = [_varint(number) for number in range(1, len(names) + 1)]
    paths = stack_paths(comparison.stacks, locations, _varint(len(names)))
    for kernel, label in enumerate(labels):
        sign = -1 if kernel == 0 and len(labels) > 1 else 1
        marks = _bytes(3, _fields((1, string("kernel")), (2, string(label))))
        if sign < 0:
            marks += _bytes(3, _fields((1, string("pprof::base")), (2, string("true"))))
        counts = np.stack([metric.counts[:, kernel] for metric in metrics], axis=1)
        for row in np.flatnonzero(counts.any(axis=1)).tolist():
            values = _packed(2, (sign * value for value in counts[row].tolist()))
            _message(out, 2, _bytes(1, b"".join(reversed(paths[row]))) + values + marks)
    # One mapping keeps pprof from looking for binaries to symbolize.
    _message(
        out, 3, _fields((1, 1), (5, string("profdiff")), *((flag, 1) for flag in range(7, 11)))
    )
    for number, frame in enumerate(names, 1):
        line = _bytes(4, _fields((1, number), (2, frame.line)))
        _message(out, 4, _fields((1, number), (2, 1)) + line)
        name = string(frame.name)
        fields = ((1, number), (2, name), (3, name), (4, string(frame.file)))
        _message(out, 5, _fields(*fields, (5, frame.line)))
    for text in inlines.told(comparison.manifest.compared):
        out += _fields((13, string(text)))
    for text in strings:
        _message(out, 6, text.encode(errors="backslashreplace"))
    return gzip.compress(bytes(out), mtime=0)


def _varint(value: int) -> bytes:
    # A negative int64 is its two's complement.
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _fields(*numbers: tuple[int, int]) -> bytes:
    """Fields with integers; zero is what a field has that is not written."""
    return b"".join(_varint(field << 3) + _varint(value) for field, value in numbers if value)


def _bytes(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _packed(field: int, values: Iterable[int]) -> bytes:
    return _bytes(field, b"".join(map(_varint, values)))


def _message(out: bytearray, field: int, content: bytes) -> None:
    out += _bytes(field, content)
