"""The output forms: one list, from which commands make their options. A form's module is loaded
when somebody asks for it."""

import os
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from profdiff.views.selection import Selection

if TYPE_CHECKING:
    from profdiff.evidence.findings import Findings

_MAIL_WIDTH = 100
DEFAULT_TOP = 20

# Each kernel's label, and what makes its file.
Parts = Sequence[tuple[str, Callable[[], bytes]]]


class Asked(NamedTuple):
    """How it is to be shown. ``selection.top``: None where nothing was said of it; ``per_op``: None
    means where ops are known; ``width``: None means the terminal's."""

    selection: Selection
    per_op: bool | None
    width: int | None
    ascii_only: bool


class Subject(NamedTuple):
    """What is reported. Nothing is read before a form asks for it: ``findings`` makes them, once,
    and ``folded`` each kernel's stacks. ``name``: of a file that is given none."""

    name: str
    ops: int | None
    findings: "Callable[[], Findings]"
    folded: Callable[[], Parts]
    asked: Asked


class Render(Protocol):
    """Makes a form. ``shown``: what the command reports, a Subject or judgements; ``target``: a
    path, or ``-``. Text is cleaned before it is written; None: the form has written a folder."""

    def __call__(self, shown: Any, target: str, /) -> str | bytes | Parts | None: ...


class Form(NamedTuple):
    """``--name``. ``takes``: what stands behind the option; where that may be left out,
    ``default(name)`` is the target ("": none is known). ``profile``: it shows one, which timed runs
    do not have. ``appends``: other programs write to the same file."""

    name: str
    help: str
    render: Render
    takes: Literal["FILE", "[FILE]", "DIR"] = "FILE"
    default: Callable[[str], str] | None = None
    profile: bool = False
    appends: bool = False


def _module(name: str) -> Any:
    return import_module(f"profdiff.reports.{name}")


def _text(subject: Subject, target: str) -> str:
    import shutil

    from profdiff.base import units

    selection, per_op, width, ascii_only = subject.asked
    wide = shutil.get_terminal_size((_MAIL_WIDTH, 24)).columns if target == "-" else _MAIL_WIDTH
    if selection.top is None:
        selection = selection._replace(top=DEFAULT_TOP)
    text: str = _module("text").render(
        subject.findings(), selection, width=width or min(wide, _MAIL_WIDTH), per_op=per_op
    )
    return units.ascii_only(text) if ascii_only else text


def _page(subject: Subject, target: str) -> bytes:
    page: str = _module("html").render(subject.findings())
    return page.encode(errors="backslashreplace")


def _folded_diff(subject: Subject, target: str) -> Parts:
    files = _module("folded_difference").files(subject.findings().comparisons[0])
    return [(label, partial(bytes, lines)) for label, lines in files]


def _charts(subject: Subject, target: str) -> None:
    side, per_op = subject.asked.selection.side, subject.asked.per_op
    _module("charts").write(subject.findings(), Path(target), side=side, per_op=per_op)


def _json(subject: Subject, target: str) -> bytes:
    document = _module("document")
    data: bytes = document.encode(document.build(subject.findings()))
    return data + b"\n"


def _csv(subject: Subject, target: str) -> Any:
    return _module("csv_table").render(subject.findings().comparisons, subject.asked.selection)


def _lkp(subject: Subject, target: str) -> Any:
    found, top, lkp = subject.findings(), subject.asked.selection.top, _module("lkp")
    return lkp.render(found.comparisons, lkp.workload_series(found), top=top)


def _of_comparisons(module: str, function: str = "render") -> Render:
    """A form that shows the comparisons alone."""
    return lambda shown, _: getattr(_module(module), function)(shown.findings().comparisons)


FORMS = (
    Form(
        "text",
        "Write the report as text.  [default: standard output, unless another form is asked for]",
        _text,
        "[FILE]",
        lambda _: "-",
    ),
    Form(
        "html",
        "Write the report as a web page.  [default FILE: SESSION.html in this folder]",
        _page,
        "[FILE]",
        lambda name: f"{name}.html",
    ),
    Form(
        "folded",
        "Write folded stacks for flamegraph.pl (-: standard output). With several kernels, write "
        "one file for each, with the label before the suffix.",
        lambda shown, _: shown.folded(),
    ),
    Form(
        "folded-diff",
        "Write folded stacks with the counts of both kernels, as difffolded.pl does (-: standard "
        "output).",
        _folded_diff,
        profile=True,
    ),
    Form(
        "charts",
        "Write charts for print, as SVG and PNG: sweeps, ladders, deltas, totals.",
        _charts,
        "DIR",
    ),
    Form("json", "Write the whole report as JSON (-: standard output).", _json),
    Form("csv", "Write the function table as CSV (-: standard output).", _csv, profile=True),
    Form(
        "lkp",
        "Write a table in the layout of the 0-day robot's mails (-: standard output).",
        _lkp,
        profile=True,
    ),
    Form(
        "svg",
        "Write the difference flamegraph as SVG.",
        _of_comparisons("svg", "difference"),
        profile=True,
    ),
    Form(
        "svg-side-by-side",
        "Write the kernels' flamegraphs side by side, as SVG.",
        _of_comparisons("svg", "side_by_side"),
        profile=True,
    ),
    Form(
        "speedscope", "Write a profile for speedscope.", _of_comparisons("speedscope"), profile=True
    ),
    Form(
        "firefox",
        "Write a profile for the Firefox Profiler.",
        _of_comparisons("firefox"),
        profile=True,
    ),
    Form(
        "pprof",
        "Write a profile for pprof, with the base as negative samples.",
        _of_comparisons("pprof"),
        profile=True,
    ),
)


def _judged(module: str) -> Render:
    return lambda shown, _: _module(module).render(shown)


CHECK_FORMS = (
    Form("junit", "Write a JUnit file.", _judged("junit")),
    Form(
        "github-summary",
        "Append a table to a step summary.  [default FILE: $GITHUB_STEP_SUMMARY]",
        _judged("github_summary"),
        "[FILE]",
        lambda _: os.environ.get("GITHUB_STEP_SUMMARY", ""),
        appends=True,
    ),
)
