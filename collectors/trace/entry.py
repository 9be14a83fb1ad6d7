"""The trace collector: how often named functions are called, and how long each call takes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import click

from profdiff.base.errors import InputError
from profdiff.base.metric import Kind
from profdiff.collectors.collector import Collector, Options

if TYPE_CHECKING:
    from profdiff.collectors.guest.result import Left, Result
    from profdiff.collectors.records import Measured, Value
    from profdiff.collectors.trace.calls import Calls

TRACED = Kind(
    "times of functions", "by ftrace, whole command", "has", repeatable=True, of_parts=True
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,255}", re.ASCII)
_MAX_FUNCTIONS = 100
# A call that takes less than so many times what tracing it costs says little of the function.
_SHORT = 2
# More than any kernel's kallsyms has bytes.
_MOST_SYMBOLS = 1 << 28
_REFUSED = {
    "rights": "only root can use ftrace there: record as root",
    "tracefs": "there is no tracefs: the kernel needs CONFIG_FTRACE=y, and this must work: "
    "mount -t tracefs tracefs /sys/kernel/tracing",
    "tracer": "the kernel has no function_graph: it needs CONFIG_FUNCTION_GRAPH_TRACER=y and "
    "CONFIG_DYNAMIC_FTRACE=y",
    "busy": "ftrace is in use there: echo nop > /sys/kernel/tracing/current_tracer stops it",
    "memory": "there is not enough memory for the buffer: lower --trace-buffer",
}


class Trace(Collector):
    """How often functions of the kernel are called, and how long each call takes."""

    name = "trace"
    kind = TRACED
    help = "calls of named functions and their times, by ftrace"
    how = "ftrace's function_graph, whole command"
    options: ClassVar[Sequence[click.Option]] = (
        click.Option(
            ["--trace-function", "trace_functions"],
            multiple=True,
            metavar="NAME,...",
            help="Kernel functions to time in trace runs. Can be repeated.  [default: those "
            "with the largest total deltas of the session's exact counts]",
        ),
        click.Option(
            ["--trace-buffer"],
            type=click.IntRange(1, 256),
            metavar="MIB",
            default=64,
            show_default=True,
            help="Memory for the trace, on all processors together. A call takes some 80 bytes.",
        ),
    )
    selected_by = ("trace_functions",)
    functions = "trace_functions"
    leaves: ClassVar[Mapping[str, int]] = {
        **dict.fromkeys(
            ("tracefs-refusal", "traced-symbols", "trace-buffers", "untraced-usage"), 1 << 20
        ),
        "trace": 1 << 29,
    }
    failures: ClassVar[Sequence[str]] = ("trace",)

    def settings(self, given: Mapping[str, Any]) -> dict[str, Value]:
        names = [name for text in given["trace_functions"] for name in text.split(",")]
        for name in names:
            if not _NAME.fullmatch(name):
                raise InputError(
                    f"--trace-function {name}: name a function, without the suffixes that the "
                    "compiler gave it"
                )
        names = list(dict.fromkeys(names))
        if len(names) > _MAX_FUNCTIONS:
            raise InputError(f"--trace-function: name at most {_MAX_FUNCTIONS} functions")
        return super().settings({**given, "trace_functions": names})

    def script(self) -> str:
        from profdiff.collectors.guest.initramfs import guest_resources

        own = (Path(__file__).parent / "collector.sh").read_text()
        return (guest_resources() / "tracefs.sh").read_text() + own

    def files(self, options: Options, *, emulated: bool) -> dict[str, bytes]:
        names = "".join(f"{name}\n" for name in options["trace_functions"])
        return {"functions": names.encode(), "buffer": b"%d\n" % (options["trace_buffer"] << 10)}

    def judge(self, left: Left) -> Result:
        from dataclasses import replace

        from profdiff.collectors.guest.result import Result, agents_result
        from profdiff.collectors.records import Failure
        from profdiff.collectors.trace.calls import Calls

        if left.failure:
            return Result(left.files, failure=left.failure)
        if word := left.end("tracefs-refusal").decode(errors="replace").strip():
            why = _REFUSED.get(word) or _untraceable(left)
            return Result(left.files, failure=Failure("trace", why))
        named = left.options["trace_functions"]
        calls = Calls(left.read("trace"), left.read("trace-buffers"), named)
        result = agents_result(left, lambda _: _measured(calls, left))
        if "trace" in left.files:
            left.path("trace").unlink()
        (left.folder / "histogram.json").write_bytes(calls.histogram())
        files = {what: name for what, name in left.files.items() if what != "trace"}
        remarks = _remarks(calls, left)
        return replace(result, files={**files, "histogram": "histogram.json"}, remarks=remarks)


def _measured(calls: Calls, left: Left) -> list[Measured]:
    """The metrics of all functions. Raises InputError where nothing was called."""
    if not calls.durations:
        told = ", ".join(left.options["trace_functions"])
        raise InputError(f"the workload called none of the functions that are traced: {told}")
    return calls.measured()


class _Cost(NamedTuple):
    """What tracing costs: in percent of the workload's time without it, and of one call in ns."""

    percent: float
    of_call: float


def _cost(calls: Calls, left: Left) -> _Cost | None:
    """By the times of the workload without tracing, when it ran once before, and with it; None if
    the agent does not say them."""
    from profdiff.collectors.workload.usage import parse_usage

    before, traced = (
        sum(one.values.get("wall_ns", 0) for one in parse_usage(left.read(name), b"")[-1:])
        for name in ("untraced-usage", "usage")
    )
    number = calls.kept + calls.lost
    if not before or not traced or not number:
        return None
    return _Cost(100 * (traced / before - 1), (traced - before) / number)


def _remarks(calls: Calls, left: Left) -> list[str]:
    """What a reader must know of a run's trace."""
    from profdiff.base.units import listed

    told = []
    if calls.lost:
        told.append(
            f"the buffer had no room for {calls.lost:,} of {calls.lost + calls.kept:,} traced "
            "calls: their number by function is not known, and times are of the first ones; raise "
            "--trace-buffer"
        )
    if cost := _cost(calls, left):
        told.append(f"tracing changes the time of the whole command by {cost.percent:+.1f}%")
        every = calls.durations.items()
        if short := [name for name, some in every if some.mean() < _SHORT * cost.of_call]:
            unit = "instructions (guest clock)" if left.emulated else "ns"
            told.append(
                f"times of {listed(short)} are mostly what tracing itself costs, some "
                f"{cost.of_call:,.0f} {unit} a call"
            )
    symbols = left.read("traced-symbols").decode(errors="replace").split()
    there = {symbol.partition(".")[0] for symbol in symbols}
    if missing := [name for name in left.options["trace_functions"] if name not in there]:
        told.append(
            f"ftrace cannot trace {listed(missing)} there: inlined, never traced, or absent"
        )
    return told


def _untraceable(left: Left) -> str:
    """Why ftrace knows none of the functions, as far as the kernel's symbols tell."""
    import gzip

    from profdiff.base.units import listed

    names = left.options["trace_functions"]
    known = set()
    if "kallsyms" in left.files:
        with gzip.open(left.path("kallsyms")) as file:
            for line in file.read(_MOST_SYMBOLS).splitlines():
                words = line.split()
                if len(words) > 2:
                    known.add(words[2].partition(b".")[0].decode(errors="replace"))
    if marked := [name for name in names if name in known]:
        return (
            f"ftrace cannot trace {listed(marked)}: the kernel never traces this code (notrace, "
            "noinstr, assembly); name a caller"
        )
    return (
        f"the kernel has no function {' or '.join(names)} of its own: it is inlined everywhere, or "
        "the kernel lacks it; profdiff annotate shows where exact counts have it"
    )
