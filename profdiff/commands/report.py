"""``profdiff report``: what a session shows."""

import json
import shutil
import sys
from pathlib import Path

import click

from profdiff.atomic import write_atomic
from profdiff.comparison import Side
from profdiff.errors import InputError, SessionError
from profdiff.reports import csv_table, document, html, text
from profdiff.reports.rows import Selection, Sort
from profdiff.session import Session, is_session
from profdiff.session_comparison import compare

_MAIL_WIDTH = 100
_DEFAULT_TOP = 20


@click.command()
@click.argument("session", required=False, type=click.Path(path_type=Path))
@click.option(
    "--sort",
    type=click.Choice(["delta", "total-delta", "self", "total", "name"]),
    default="delta",
    show_default=True,
    help="Order of the rows; sizes without their sign, largest first.",
)
@click.option(
    "--top", type=click.IntRange(0), help=f"At most so many rows.  [default: {_DEFAULT_TOP}]"
)
@click.option(
    "--min-delta",
    type=click.IntRange(0),
    default=0,
    metavar="INSTRUCTIONS",
    help="Only rows that changed by so many or more.",
)
@click.option("--kernel-only", is_flag=True, help="Only functions of the kernel.")
@click.option("--user-only", is_flag=True, help="Only functions of user space.")
@click.option(
    "--per-op/--absolute",
    default=None,
    help="Counts per operation.  [default: where ops are known]",
)
@click.option(
    "--width",
    type=click.IntRange(text.MIN_WIDTH),
    help="Columns.  [default: terminal, at most 100]",
)
@click.option("--json", "json_file", metavar="FILE", help="Write everything as JSON (-: here).")
@click.option(
    "--csv", "csv_file", metavar="FILE", help="Write the function table as CSV (-: here)."
)
@click.option(
    "--html",
    "html_file",
    is_flag=False,
    flag_value="",
    metavar="[FILE]",
    help="Write a page.  [default: SESSION.html here]",
)
def report(
    session: Path | None,
    sort: Sort,
    top: int | None,
    min_delta: int,
    kernel_only: bool,
    user_only: bool,
    per_op: bool | None,
    width: int | None,
    json_file: str | None,
    csv_file: str | None,
    html_file: str | None,
) -> None:
    """Show which functions of SESSION cost more, by default the newest session in this folder.

    Prints a table, unless a file is asked for. The first kernel recorded is the base.
    """
    if [json_file, csv_file, html_file].count("-") > 1:
        raise InputError("only one of --json, --csv and --html can go to standard output (-)")
    if kernel_only and user_only:
        raise InputError("--kernel-only and --user-only exclude each other")
    if per_op and Session.open(session or newest(Path())).manifest.workload.ops is None:
        raise InputError("--per-op: the session does not say how many ops it holds (record --ops)")
    side: Side | None = "kernel" if kernel_only else "user" if user_only else None
    # `--html SESSION` would take the session for the page's file and overwrite nothing of worth,
    # but it is not what was meant.
    if session is None and html_file and is_session(Path(html_file)):
        session, html_file = Path(html_file), ""
    folder = session or newest(Path())
    comparison = compare(Session.open(folder))
    written = False
    if json_file is not None:
        data = json.dumps(document.document(comparison), indent=1)
        _write(json_file, data + "\n")
        written = True
    if csv_file is not None:
        _write(csv_file, csv_table.render(comparison, Selection(sort, top, min_delta, side)))
        written = True
    if html_file is not None:
        target = html_file or f"{folder.resolve().name.removesuffix('.profdiff')}.html"
        _write(target, html.render(comparison))
        if target != "-":
            click.echo(target, err=json_file == "-" or csv_file == "-")
        written = True
    if not written:
        selection = Selection(sort, _DEFAULT_TOP if top is None else top, min_delta, side)
        columns = width or min(shutil.get_terminal_size((_MAIL_WIDTH, 24)).columns, _MAIL_WIDTH)
        table = text.render(comparison, selection, width=columns, per_op=per_op)
        # A terminal that lacks a name's characters shows their escapes.
        encoding = sys.stdout.encoding or "utf-8"
        click.echo(table.encode(encoding, "backslashreplace").decode(encoding), nl=False)


def newest(folder: Path) -> Path:
    """The session in ``folder`` whose manifest was written last. Raises SessionError."""
    sessions = [entry for entry in folder.iterdir() if entry.is_dir() and is_session(entry)]
    if is_session(folder):
        sessions.append(folder)
    if not sessions:
        raise SessionError("no session here: name one, or make one with profdiff record")
    return max(sessions, key=lambda entry: (entry / "manifest.json").stat().st_mtime)


def _write(target: str, data: str) -> None:
    encoded = data.encode(errors="backslashreplace")
    if target == "-":
        click.echo(encoded, nl=False)
        return
    try:
        write_atomic(Path(target), encoded)
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror}") from error
