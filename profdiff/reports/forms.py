"""The output forms, from which commands make their options. Each loads its module when asked."""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Literal, NamedTuple, TypeVar

from profdiff.base import terminal, units
from profdiff.base.errors import InputError
from profdiff.views.profile.selection import Selection

if TYPE_CHECKING:
    from profdiff.evidence.conditions.condition import Judgement
    from profdiff.evidence.findings import Findings

DEFAULT_TOP = 20

# Each kernel's label, and what makes its file.
Files = Sequence[tuple[str, Callable[[], bytes]]]
# What a command reports: a Subject, or the judgements of check.
Shown = TypeVar("Shown")


class Asked(NamedTuple):
    """How it is to be shown. ``selection.top``: None where nothing was said of it; ``per_op``: None
    means where ops are known; ``width``: None means the terminal's; ``ratios``: changes as how many
    times the base; ``classes``: what kind of instructions ran, too."""

    selection: Selection
    per_op: bool | None
    width: int | None
    ascii_only: bool
    ratios: bool = False
    classes: bool = False


class Subject(NamedTuple):
    """What is reported. Nothing is read before a form asks for it: ``find`` makes the findings,
    once, ``others`` those at other points, and ``folded`` each kernel's stacks. ``name``: of a file
    that is given none."""

    name: str
    ops: int | None
    find: "Callable[[], Findings]"
    folded: Callable[[], Files]
    asked: Asked
    others: "Callable[[], Iterator[Findings]]" = lambda: iter(())


class Form(NamedTuple, Generic[Shown]):
    """``--name``. ``render`` gets what is reported, and a path or ``-``. Its text is cleaned before
    it is written; None: it has written a folder. ``takes``: what stands behind the option; where
    that may be left out, ``default(name)`` is the target ("": none is known). ``profile``: it shows
    one, which timed runs do not have. ``appends``: other programs write to the same file."""

    name: str
    help: str
    render: Callable[[Shown, str], str | bytes | Files | None]
    takes: Literal["FILE", "[FILE]", "DIR"] = "FILE"
    default: Callable[[str], str] | None = None
    profile: bool = False
    appends: bool = False


def _text(subject: Subject, target: str) -> str:
    from profdiff.reports.text import session as text

    asked, found = subject.asked, subject.find()
    return as_text(
        asked,
        target,
        lambda selection, width: text.render(
            found,
            selection,
            width=width,
            per_op=asked.per_op,
            ratios=asked.ratios,
            classes=asked.classes,
        ),
    )


def as_text(asked: Asked, target: str, render: Callable[[Selection, int], str]) -> str:
    """The text that ``render`` makes of a selection, in so many columns."""
    selection, width = asked.selection, asked.width
    if selection.top is None:
        selection = selection._replace(top=DEFAULT_TOP)
    width = width or (terminal.columns() if target == "-" else terminal.COLUMNS)
    made = render(selection, width)
    return units.ascii_only(made) if asked.ascii_only else made


def _page(subject: Subject, target: str) -> bytes:
    from profdiff.reports.page import html

    return html.render(subject.find(), subject.others()).encode(errors="backslashreplace")


def _site(subject: Subject, target: str) -> None:
    raise InputError("--site is of a suite: --html makes the page of one session")


def _folded_diff(subject: Subject, target: str) -> Files:
    from profdiff.reports.exports import folded_difference

    files = folded_difference.files(subject.find().comparisons[0])
    return [(label, partial(bytes, lines)) for label, lines in files]


def _charts(subject: Subject, target: str) -> None:
    from profdiff.reports import charts

    side, per_op = subject.asked.selection.side, subject.asked.per_op
    charts.write(subject.find(), Path(target), side=side, per_op=per_op)


def _json(subject: Subject, target: str) -> bytes:
    from profdiff.reports.documents import session as document

    return document.encode(document.build(subject.find())) + b"\n"


def _csv(subject: Subject, target: str) -> str:
    from profdiff.reports.csv import functions

    asked = subject.asked
    return functions.render(subject.find().comparisons, asked.selection, classes=asked.classes)


def _csv_experiment(subject: Subject, target: str) -> str:
    from profdiff.reports.csv import experiment

    return experiment.render(subject.find().results)


def _lkp(subject: Subject, target: str) -> str:
    from profdiff.reports.exports import lkp

    found, top = subject.find(), subject.asked.selection.top
    return lkp.render(found.comparisons, lkp.workload_series(found), top=top)


def _svg(subject: Subject, target: str) -> bytes:
    from profdiff.reports.exports import svg

    return svg.difference(subject.find().comparisons)


def _svg_side_by_side(subject: Subject, target: str) -> bytes:
    from profdiff.reports.exports import svg

    return svg.side_by_side(subject.find().comparisons)


def _speedscope(subject: Subject, target: str) -> bytes:
    from profdiff.reports.exports import speedscope

    return speedscope.render(subject.find().comparisons)


def _firefox(subject: Subject, target: str) -> bytes:
    from profdiff.reports.exports import firefox

    return firefox.render(subject.find().comparisons)


def _pprof(subject: Subject, target: str) -> bytes:
    from profdiff.reports.exports import pprof

    return pprof.render(subject.find().comparisons)


def _junit(judgements: "list[Judgement]", target: str) -> bytes:
    from profdiff.reports.checks import junit

    return junit.render(judgements)


def _github_summary(judgements: "list[Judgement]", target: str) -> bytes:
    from profdiff.reports.checks import github_summary

    return github_summary.render(judgements)


FORMS: tuple[Form[Subject], ...] = (
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
        "site",
        "Write a suite's report as a folder of web pages: one for each cell, with the same as JSON "
        "beside it.",
        _site,
        "DIR",
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
        "csv-experiment",
        "Write the experiment as CSV: a row for each point, kernel and metric (-: standard "
        "output).",
        _csv_experiment,
    ),
    Form(
        "lkp",
        "Write a table in the layout of the 0-day robot's mails (-: standard output).",
        _lkp,
        profile=True,
    ),
    Form("svg", "Write the difference flamegraph as SVG.", _svg, profile=True),
    Form(
        "svg-side-by-side",
        "Write the kernels' flamegraphs side by side, as SVG.",
        _svg_side_by_side,
        profile=True,
    ),
    Form("speedscope", "Write a profile for speedscope.", _speedscope, profile=True),
    Form("firefox", "Write a profile for the Firefox Profiler.", _firefox, profile=True),
    Form(
        "pprof",
        "Write a profile for pprof, with the base as negative samples.",
        _pprof,
        profile=True,
    ),
)
CHECK_FORMS: "tuple[Form[list[Judgement]], ...]" = (
    Form("junit", "Write a JUnit file.", _junit),
    Form(
        "github-summary",
        "Append a table to a step summary.  [default FILE: $GITHUB_STEP_SUMMARY]",
        _github_summary,
        "[FILE]",
        lambda _: os.environ.get("GITHUB_STEP_SUMMARY", ""),
        appends=True,
    ),
)
