"""``profdiff report``: what a session shows."""

from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from profdiff.commands.cell import CELL, locate
from profdiff.commands.newest import newest
from profdiff.commands.output import SESSION, Output, output_options, refuse_per_op
from profdiff.commands.suite_report import Selected, report_suite, suite_options
from profdiff.reports.forms import Subject

if TYPE_CHECKING:
    from collections.abc import Iterator

    from profdiff.evidence.findings import Findings
    from profdiff.evidence.results import Results
    from profdiff.session.points import Setting
    from profdiff.session.session import Session


@click.command()
@SESSION
@click.option(
    "--at",
    metavar="NAME=VALUE,...",
    help="Show functions at this point of the sweep; vCPUs=N is a parameter too.  [default: the "
    "point with the largest change]",
)
@CELL
@suite_options
@output_options
def report(
    session: Path | None, at: str | None, cell: str | None, asked: Selected, output: Output
) -> int:
    """Show the results of SESSION: the metrics of each point with their spread and verdict, and the
    functions that cost more. SESSION defaults to the newest session in this folder. With several
    architectures or compilers, report shows their changes side by side. Of a suite, report shows
    how many cells cost more, the cells that do, and the functions that make it; workloads that are
    damaged are named and left out, and the exit status is 1.

    report prints text unless you ask for a file. The base is the first kernel of the session.
    """
    from profdiff.evidence.findings import choose
    from profdiff.evidence.results import Results
    from profdiff.profile.recordings import Recordings
    from profdiff.session.held import held
    from profdiff.session.session import Session

    # `--html SESSION` would take the session for the page's file and overwrite nothing of worth,
    # but it is not what was meant.
    page = output.targets.get("html")
    if session is None and page and held(Path(page)):
        session, output = Path(page), output._replace(targets={**output.targets, "html": ""})
    folder = session or newest(Path())
    if cell is None and held(folder) == "suite":
        return report_suite(folder, at, asked, output)
    asked.refuse(folder)
    folder, at = locate(folder, cell, at, "")
    if held(folder) == "parts":
        _several(folder, at, output)
        return 0
    opened = Session.open(folder)
    results = Results.gather(opened.manifest)
    setting = choose(opened.manifest, at, results)
    find = cache(partial(_found, opened, setting, results))
    output.write(
        Subject(
            folder.resolve().name.removesuffix(".profdiff"),
            setting.ops,
            find,
            Recordings(opened, setting).folded,
            output.asked,
            lambda: _others(find()),
        )
    )
    return 0


def _several(folder: Path, at: str | None, output: Output) -> None:
    """Of a folder with several sessions."""
    from profdiff.commands.output import write_forms
    from profdiff.evidence.parts.findings import JointFindings
    from profdiff.reports.joint_forms import JOINT_FORMS, Subject, refuse_others
    from profdiff.session.parts import Parts

    opened = Parts.open(folder)
    refuse_others(output.targets, output.asked, opened)
    find = cache(partial(JointFindings.of, opened, at))
    if output.asked.per_op and not any(part.setting.ops for part in find().parts.values()):
        refuse_per_op()
    name = folder.resolve().name.removesuffix(".profdiff")
    subject = Subject(find, output.asked)
    write_forms(JOINT_FORMS, output.targets or {"text": "-"}, subject, name)


def _found(session: "Session", setting: "Setting", results: "Results") -> "Findings":
    from profdiff.evidence.findings import Findings

    return Findings.of(session, setting, results)


def _others(found: "Findings") -> "Iterator[Findings]":
    """The findings at the points beside the one that was asked for."""
    from profdiff.reports.page.points import nearest
    from profdiff.session.points import settings

    return found.others(nearest(settings(found.manifest), found.setting))
