"""What a run of trace leaves: ftrace's text, what it says of its buffers, and the histogram."""

from pathlib import Path

from fuzz.target import Target
from profdiff.collectors.trace.calls import Calls, Histogram

_NAMES = ["outer", "inner"]
_TRACE = b"""# tracer: function_graph
#
#     DURATION                  FUNCTION CALLS
#      |   |                     |   |   |   |
               |  outer() {
   0.123 us    |    inner();
 + 12.5 us     |    inner.isra.0 [made]();
 ! 10234.5 us  |  } /* outer */
"""
_BUFFERS = b"entries: 6\noverrun: 0\ncommit overrun: 0\ndropped events: 0\n"
_END = b"\0"


def _seeds() -> list[bytes]:
    return [_BUFFERS + _END + _TRACE, _END + _TRACE * 50, _END]


def _read(data: bytes, folder: Path) -> None:
    buffers, _, text = data.partition(_END)
    calls = Calls(text, buffers, _NAMES)
    measured = calls.measured()
    assert all(0 <= one.counted_part <= 1 and one.values for one in measured)
    file = folder / "histogram.json"
    file.write_bytes(calls.histogram())
    kept = sum(sum(one.calls) for one in Histogram.load(file).functions)
    assert kept == calls.kept


def _read_histogram(data: bytes, folder: Path) -> None:
    file = folder / "histogram.json"
    file.write_bytes(data)
    Histogram.load(file)


TARGETS = (
    Target("function-graph", _seeds, _read, cases=2000, words=[b" us", b"|", b"} /*", b"();"]),
    Target(
        "histogram",
        lambda: [Calls(_TRACE, _BUFFERS, _NAMES).histogram()],
        _read_histogram,
        cases=2000,
        words=[b'"calls":[', b'"part":1.0', b"profdiff.trace/1"],
    ),
)
