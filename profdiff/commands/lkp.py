"""``profdiff lkp``: what a report of the 0-day robot says of its own numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from profdiff.base.errors import InputError
from profdiff.commands.command import OUTPUT_FILE, command
from profdiff.commands.output import ASCII, WIDTH, refuse_inputs, refuse_outputs, write_or_show
from profdiff.reports.form import ReportOptions

if TYPE_CHECKING:
    from profdiff.evidence.lkp.report import Report
    from profdiff.mail.thread import ReceivedMail


@command()
@click.argument("mail", metavar="MAIL", type=click.Path(allow_dash=True))
@click.option(
    "--repo",
    metavar="LINUX",
    default="linux",
    show_default=True,
    help="The git repository of Linux from which the recording builds kernels.",
)
@click.option(
    "--json",
    metavar="FILE",
    type=OUTPUT_FILE,
    help="Write everything as JSON, profdiff.lkp/1 (-: standard output).",
)
@click.option(
    "--experiment",
    metavar="FILE",
    type=OUTPUT_FILE,
    help="Write the recording as an experiment file, for profdiff record --experiment (-: standard "
    "output).",
)
@WIDTH
@ASCII
def lkp(
    mail: str,
    repo: str,
    json: str | None,
    experiment: str | None,
    width: int | None,
    ascii_only: bool,
) -> None:
    """Show what the tables in MAIL, a report of the 0-day robot, say of a slowdown: how much of
    it instructions explain, which kind it most likely is, and the recording that answers the rest.
    Nothing is recorded. The kind is a guess: for mails that the rules were not made from, 12 of 16
    were right.

    \b
      profdiff lkp report.eml
      profdiff lkp - < report.eml
      profdiff lkp 202311201406.2022ca3f-oliver.sang@intel.com

    MAIL is a file with the mail or its text; an mbox with its thread, of which the first mail with
    a table is read; - for standard input; or the mail's Message-ID, or its URL at
    lore.kernel.org, which b4 fetches.
    """
    from profdiff.forms import json as json_form
    from profdiff.reports.lkp import render_experiment, render_text
    from profdiff.views.lkp import build

    refuse_outputs({"json": json, "experiment": experiment})
    refuse_inputs([json, experiment], [Path(mail)])
    found, report = _read(mail)
    document = build(report, (found.id or "").strip("<>"), found.value("Subject"), repo)
    options = ReportOptions(width=width, ascii_only=ascii_only)
    write_or_show(
        [
            (json, lambda: json_form.render(document)),
            (experiment, lambda: render_experiment(document)),
        ],
        options,
        lambda columns: render_text(document, width=columns),
    )


def _read(named: str) -> tuple[ReceivedMail, Report]:
    """The robot's mail that a user names, and what it reports. Raises InputError, and MissingError
    without b4."""
    mails = _mails(named)
    problems: list[InputError] = []
    for mail in mails:
        try:
            return mail, _report(mail)
        except InputError as error:
            problems.append(error)
    several = f" (of {len(mails):,} mails)" if len(mails) > 1 else ""
    raise InputError(f"{named}{several}: {problems[0]}") from problems[0]


def _report(mail: ReceivedMail) -> Report:
    from profdiff.evidence.lkp.report import Report
    from profdiff.mail.address import decoded

    return Report.read(decoded(mail.value("Subject")), mail.text() or "")


def _mails(named: str) -> list[ReceivedMail]:
    """Those that may be meant; at least one."""
    from profdiff.mail.thread import ReceivedMail, Thread, fetch, is_mbox, message_id, unpacked

    path = Path("/dev/stdin" if named == "-" else named)
    if named != "-" and not path.exists() and (wanted := message_id(named)) is not None:
        return [fetch(wanted).message(wanted)]
    data = unpacked(path)
    if is_mbox(data):
        return list(Thread.of(data, named).messages)
    mail = ReceivedMail.of(data)
    if mail is None:
        raise InputError(f"{named} is not a mail: its headers have more than 256 KiB")
    return [mail]
