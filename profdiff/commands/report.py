"""``profdiff report``: what a session shows."""

from functools import cache, partial
from pathlib import Path

import click

from profdiff.base.errors import SessionError
from profdiff.commands.output import Output, output_options
from profdiff.reports.forms import Subject


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
    from profdiff.evidence.findings import Findings, choose
    from profdiff.profile.recordings import Recordings
    from profdiff.session.folder import Session, is_session

    # `--html SESSION` would take the session for the page's file and overwrite nothing of worth,
    # but it is not what was meant.
    page = output.targets.get("html")
    if session is None and page and is_session(Path(page)):
        session, output = Path(page), output._replace(targets={**output.targets, "html": ""})
    folder = session or newest(Path())
    opened = Session.open(folder)
    setting = choose(opened.manifest, at)
    output.write(
        Subject(
            folder.resolve().name.removesuffix(".profdiff"),
            setting.ops,
            cache(partial(Findings.of, opened, setting)),
            Recordings(opened, setting).folded,
            output.asked,
        )
    )


def newest(folder: Path) -> Path:
    """The session in ``folder`` whose manifest was written last. Raises SessionError."""
    from profdiff.session.folder import is_session

    sessions = [entry for entry in folder.iterdir() if entry.is_dir() and is_session(entry)]
    if is_session(folder):
        sessions.append(folder)
    if not sessions:
        raise SessionError("no session here: name one, or make one with profdiff record")
    return max(sessions, key=lambda entry: (entry / "manifest.json").stat().st_mtime)
