"""``profdiff report``: what a session shows."""

from dataclasses import replace
from pathlib import Path

import click

from profdiff.base.errors import SessionError
from profdiff.commands.output import Output, output_options
from profdiff.evidence.findings import Findings, choose
from profdiff.profile.session_comparison import folded_stacks
from profdiff.session.folder import Session, is_session


@click.command()
@click.argument("session", required=False, type=click.Path(path_type=Path))
@click.option(
    "--at",
    metavar="NAME=VALUE,...",
    help="The point of the sweep whose functions are shown (vCPUs=N too).  [default: the last]",
)
@output_options
def report(session: Path | None, at: str | None, output: Output) -> None:
    """Show what SESSION found, by default the newest session in this folder: metrics of each point
    with their spread and verdict, and which functions cost more.

    Prints text, unless a file is asked for. The first kernel recorded is the base.
    """
    # `--html SESSION` would take the session for the page's file and overwrite nothing of worth,
    # but it is not what was meant.
    if session is None and output.html_file and is_session(Path(output.html_file)):
        session, output = Path(output.html_file), replace(output, html_file="")
    folder = session or newest(Path())
    opened = Session.open(folder)
    setting = choose(opened.manifest, at)
    if not output.only_folded:
        findings = Findings.of(opened, setting)
        output.write(findings, folder.resolve().name.removesuffix(".profdiff"))
    if output.folded_file is not None:
        output.write_folded(folded_stacks(opened, setting))


def newest(folder: Path) -> Path:
    """The session in ``folder`` whose manifest was written last. Raises SessionError."""
    sessions = [entry for entry in folder.iterdir() if entry.is_dir() and is_session(entry)]
    if is_session(folder):
        sessions.append(folder)
    if not sessions:
        raise SessionError("no session here: name one, or make one with profdiff record")
    return max(sessions, key=lambda entry: (entry / "manifest.json").stat().st_mtime)
