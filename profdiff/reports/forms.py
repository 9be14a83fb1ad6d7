"""The output forms of ``profdiff report``. Each loads its module when asked."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from profdiff.reports.form import Files, Form, Subject, text

if TYPE_CHECKING:
    from profdiff.evidence.findings import LazyFindings
    from profdiff.evidence.parts import PartsFindings
    from profdiff.views.suite import SuiteDocument

    OfSession = Subject[LazyFindings]
    OfParts = Subject[PartsFindings]
    OfSuite = Subject[SuiteDocument]


def session_text(subject: "OfSession", target: str) -> str:
    """The report of a session as text."""
    from profdiff.reports.text import session

    return text(
        subject.asked,
        target,
        lambda asked, width: session.render(
            subject.find().findings,
            asked.selection,
            width=width,
            per_op=asked.per_op,
            ratios=asked.ratios,
        ),
    )


def _parts_text(subject: "OfParts", target: str) -> str:
    from profdiff.reports.text.parts import render

    return text(
        subject.asked,
        target,
        lambda asked, width: render(
            subject.find(), asked.selection, width=width, per_op=asked.per_op, ratios=asked.ratios
        ),
    )


def _suite_text(subject: "OfSuite", target: str) -> str:
    from profdiff.reports.text import suite as text_suite

    return text(
        subject.asked,
        target,
        lambda asked, width: text_suite.render(
            subject.find(),
            str(subject.recording.folder),
            width=width,
            top=asked.selection.top or 0,
            ratios=asked.ratios,
            side=asked.selection.side,
            by_name=asked.selection.sort == "name",
        ),
    )


def _page(subject: "OfSession", target: str) -> bytes:
    from profdiff.reports.page import html
    from profdiff.reports.page.points import nearest
    from profdiff.session.points import settings

    found = subject.find().findings
    others = found.others(nearest(settings(found.manifest), found.setting))
    return html.render(found, others).encode(errors="backslashreplace")


def _parts_page(subject: "OfParts", target: str) -> bytes:
    from profdiff.reports.page import parts

    return parts.render(subject.find()).encode(errors="backslashreplace")


def _suite_page(subject: "OfSuite", target: str) -> bytes:
    from profdiff.reports import documents
    from profdiff.reports.page import suite

    shown = subject.find()
    cells = suite.for_each_cell(
        subject.recording.folder,
        shown,
        lambda _, found: suite.plain_report(documents.without_code(found)),
    )
    return suite.render(shown, cells).encode(errors="backslashreplace")


def _site(subject: "OfSuite", target: str) -> None:
    from profdiff.reports import documents
    from profdiff.reports.page import site, suite

    shown = subject.find()
    cells = suite.for_each_cell(
        subject.recording.folder,
        shown,
        lambda cell, found: site.CellFiles.of(cell, documents.session_document(found)),
    )
    site.write(Path(target), shown, cells)


def _folded(subject: "OfSession", target: str) -> Files:
    return subject.find().folded()


def _folded_diff(subject: "OfSession", target: str) -> Files:
    from profdiff.reports.exports import stacks

    files = stacks.folded_difference(subject.find().findings.comparisons[0])
    return [(label, partial(bytes, lines)) for label, lines in files]


def _charts(subject: "OfSession", target: str) -> None:
    from profdiff.reports import charts

    side, per_op = subject.asked.selection.side, subject.asked.per_op
    charts.write(subject.find().findings, Path(target), side=side, per_op=per_op)


def _parts_charts(subject: "OfParts", target: str) -> None:
    from profdiff.reports import charts

    charts.write_parts(subject.find(), Path(target))


def _json(subject: "OfSession", target: str) -> bytes:
    from profdiff.reports import documents

    return documents.encode(documents.session_document(subject.find().findings)) + b"\n"


def _parts_json(subject: "OfParts", target: str) -> bytes:
    from profdiff.reports import documents

    return documents.encode(documents.joint_document(subject.find())) + b"\n"


def _suite_json(subject: "OfSuite", target: str) -> bytes:
    from profdiff.reports import documents

    return documents.encode(subject.find()) + b"\n"


def _csv(subject: "OfSession", target: str) -> str:
    from profdiff.reports import csv

    asked, found = subject.asked, subject.find().findings
    return csv.functions(found.comparisons, asked.selection)


def _parts_csv(subject: "OfParts", target: str) -> str:
    from profdiff.reports import csv

    return csv.parts_functions(subject.find(), subject.asked.selection)


def _suite_csv(subject: "OfSuite", target: str) -> str:
    from profdiff.reports import csv

    return csv.suite(subject.find())


def _csv_experiment(subject: "OfSession", target: str) -> str:
    from profdiff.reports import csv

    return csv.experiment(subject.find().findings.results)


def _parts_csv_experiment(subject: "OfParts", target: str) -> str:
    from profdiff.reports import csv

    return csv.parts_experiment(subject.find())


def _svg(subject: "OfSession", target: str) -> bytes:
    from profdiff.reports.exports import svg
    from profdiff.views.claims import answered

    found = subject.find().findings
    return svg.difference(found.comparisons, answered.first(found))


def _svg_side_by_side(subject: "OfSession", target: str) -> bytes:
    from profdiff.reports.exports import svg
    from profdiff.views.claims import answered

    found = subject.find().findings
    return svg.side_by_side(found.comparisons, answered.first(found))


def _speedscope(subject: "OfSession", target: str) -> bytes:
    from profdiff.reports.exports import speedscope

    return speedscope.render(subject.find().findings.comparisons)


def _firefox(subject: "OfSession", target: str) -> bytes:
    from profdiff.reports.exports import firefox

    return firefox.render(subject.find().findings.comparisons)


def _pprof(subject: "OfSession", target: str) -> bytes:
    from profdiff.reports.exports import pprof

    return pprof.render(subject.find().findings.comparisons)


FORMS: tuple[Form, ...] = (
    Form(
        "text",
        "Write the report as text.  [default: standard output, unless another form is asked for]",
        {"session": session_text, "parts": _parts_text, "suite": _suite_text},
        "[FILE]",
        lambda _: "-",
    ),
    Form(
        "html",
        "Write the report as a web page.  [default FILE: SESSION.html in this folder]",
        {"session": _page, "parts": _parts_page, "suite": _suite_page},
        "[FILE]",
        lambda name: f"{name}.html",
    ),
    Form(
        "site",
        "Write a suite's report as a folder of web pages: one for each cell, with the same as JSON "
        "beside it.",
        {"suite": _site},
        "DIR",
        instead="--html writes its page",
    ),
    Form(
        "folded",
        "Write folded stacks for flamegraph.pl (-: standard output). With several kernels, write "
        "one file for each, with the label before the suffix.",
        {"session": _folded},
    ),
    Form(
        "folded-diff",
        "Write folded stacks with the counts of both kernels, as difffolded.pl does (-: standard "
        "output).",
        {"session": _folded_diff},
        profile=True,
    ),
    Form(
        "charts",
        "Write charts for print, as SVG and PNG: sweeps, ladders, deltas, totals.",
        {"session": _charts, "parts": _parts_charts},
        "DIR",
    ),
    Form(
        "json",
        "Write the whole report as JSON (-: standard output).",
        {"session": _json, "parts": _parts_json, "suite": _suite_json},
    ),
    Form(
        "csv",
        "Write the function table as CSV (-: standard output).",
        {"session": _csv, "parts": _parts_csv, "suite": _suite_csv},
        profile=True,
    ),
    Form(
        "csv-experiment",
        "Write the experiment as CSV: a row for each point, kernel and metric (-: standard "
        "output).",
        {"session": _csv_experiment, "parts": _parts_csv_experiment},
    ),
    Form("svg", "Write the difference flamegraph as SVG.", {"session": _svg}, profile=True),
    Form(
        "svg-side-by-side",
        "Write the kernels' flamegraphs side by side, as SVG.",
        {"session": _svg_side_by_side},
        profile=True,
    ),
    Form("speedscope", "Write a profile for speedscope.", {"session": _speedscope}, profile=True),
    Form(
        "firefox", "Write a profile for the Firefox Profiler.", {"session": _firefox}, profile=True
    ),
    Form(
        "pprof",
        "Write a profile for pprof, with the base as negative samples.",
        {"session": _pprof},
        profile=True,
    ),
)
