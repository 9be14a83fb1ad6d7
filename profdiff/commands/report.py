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
    help="Show functions at this point of the sweep; vCPUs=N is a parameter too.  [default: the "
    "last point]",
)
@output_options
def report(session: Path | None, at: str | None, output: Output) -> None:
    """Show the results of SESSION: the metrics of each point with their spread and verdict, and the
    functions that cost more. SESSION defaults to the newest session in this folder.

    report prints text unless you ask for a file. The base is the first kernel of the session.
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
        raise SessionError(
            "no session in this folder: name one, or create one with profdiff record"
        )
    return max(sessions, key=lambda entry: (entry / "manifest.json").stat().st_mtime)
