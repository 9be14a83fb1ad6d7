"""Which functions trace takes, and what it makes of a run that traced nothing, or not all."""

import gzip
from pathlib import Path
from typing import Any

import pytest
from support import error_line, profdiff

from profdiff.base.errors import InputError
from profdiff.collectors.guest.result import Left
from profdiff.collectors.trace.entry import Trace

KALLSYMS = b"ffffffff81000000 T known\nffffffff81000100 t other.isra.0\t[made]\n"
USAGE = b"wall_ns %d user_us 1\n"


def given(*names: str) -> dict[str, Any]:
    return {"trace_functions": names, "trace_buffer": 64}


def left(folder: Path, names: list[str], **files: bytes) -> Left:
    """A run that left these files; ``_`` stands for ``-`` in their names."""
    found = {name.replace("_", "-"): content for name, content in files.items()}
    for name, content in found.items():
        (folder / name).write_bytes(content)
    options = {"trace_functions": names, "trace_buffer": 64}
    return Left(folder, {name: name for name in found}, None, options, True, False)


def test_names_may_stand_behind_each_other() -> None:
    made = Trace().settings(given("a,b", "c", "a"))
    assert made["trace_functions"] == ["a", "b", "c"]
    for wrong in ("a.isra.0", "", "a b", "a\nb", "x" * 300, "*"):
        with pytest.raises(InputError, match="--trace-function"):
            Trace().settings(given(wrong))
    with pytest.raises(InputError, match="at most 100"):
        Trace().settings(given(",".join(f"f{number}" for number in range(101))))


@pytest.mark.parametrize(
    ("word", "names", "said"),
    [
        (b"rights", ["known"], "only root can use ftrace there: record as root"),
        (b"tracefs", ["known"], "there is no tracefs: the kernel needs CONFIG_FTRACE=y"),
        (b"tracer", ["known"], "the kernel has no function_graph: it needs CONFIG_FUNCTION_GRAPH"),
        (b"busy", ["known"], "ftrace is in use there: echo nop >"),
        (b"memory", ["known"], "there is not enough memory for the buffer: lower --trace-buffer"),
        (b"functions", ["absent"], "the kernel has no function absent of its own: it is inlined"),
        (b"functions", ["absent", "known"], "ftrace cannot trace known: the kernel never traces"),
        (b"functions", ["other"], "ftrace cannot trace other: the kernel never traces"),
        (b"\xff\x1b[31m", ["absent"], "the kernel has no function absent of its own"),
    ],
)
def test_why_nothing_was_traced(word: bytes, names: list[str], said: str, tmp_path: Path) -> None:
    made = Trace().judge(
        left(tmp_path, names, tracefs_refusal=word, kallsyms=gzip.compress(KALLSYMS))
    )
    assert made.failure
    assert made.failure.kind == "trace"
    assert made.failure.message.startswith(said)


def test_a_run_keeps_a_histogram_instead_of_its_trace(tmp_path: Path) -> None:
    trace = b"  1.500 us |  known();\n" * 3 + b"  9.000 us |  } /* other.isra.0 */\n"
    made = Trace().judge(
        left(
            tmp_path,
            ["known", "other", "third"],
            status=b"exit 0\n",
            usage=USAGE % 3000,
            untraced_usage=USAGE % 1 + USAGE % 2000,
            traced_symbols=b"known\nother.isra.0\n",
            trace_buffers=b"entries: 8\ndropped events: 4\n",
            trace=trace,
        )
    )
    assert made.failure is None
    assert "trace" not in made.files
    assert not (tmp_path / "trace").exists()
    assert made.files["histogram"] == "histogram.json"
    values = {one.name: one.values for one in made.measured}
    assert values["known.p99"] == [1500]
    assert made.remarks == [
        "the buffer had no room for 4 of 8 traced calls: their number by function is not known, "
        "and times are of the first ones; raise --trace-buffer",
        "tracing changes the time of the whole command by +50.0%",
        "ftrace cannot trace third there: inlined, never traced, or absent",
    ]


def test_times_that_are_mostly_tracing_are_marked(tmp_path: Path) -> None:
    files = {
        "usage": USAGE % 5000,
        "untraced_usage": USAGE % 2000,
        "traced_symbols": b"known\n",
        "trace": b"  1.500 us |  known();\n",
    }
    made = Trace().judge(left(tmp_path, ["known"], status=b"exit 0\n", **files))
    assert made.remarks == [
        "tracing changes the time of the whole command by +150.0%",
        "times of known are mostly what tracing itself costs, some 3,000 instructions (guest "
        "clock) a call",
    ]


def test_a_workload_that_calls_nothing_of_it_has_no_result(tmp_path: Path) -> None:
    made = Trace().judge(left(tmp_path, ["known"], status=b"exit 0\n", traced_symbols=b"known\n"))
    assert made.failure
    assert made.failure.message == (
        "the workload called none of the functions that are traced: known"
    )


@pytest.mark.kernel
def test_without_names_and_counts_it_says_so(old_kernel: Path, tmp_path: Path) -> None:
    kernels = ["--kernel", f"a={old_kernel}", "--kernel", f"b={old_kernel}"]
    command = ["record", "--collector", "trace", *kernels, "-o", tmp_path / "s", "--", "true"]
    said = error_line(profdiff(*command, status=2))
    assert said == (
        f"trace runs need --trace-function NAME: {tmp_path / 's'} has no exact counts whose "
        "largest total deltas could be taken"
    )
