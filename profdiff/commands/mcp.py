"""``profdiff mcp``: recordings for an assistant, by the Model Context Protocol."""

from importlib.util import find_spec
from pathlib import Path

import click

from profdiff.base.errors import MissingError
from profdiff.commands.command import command


@command()
@click.argument("folder", required=False, default=".", type=click.Path(path_type=Path))
@click.option(
    "--allow-record",
    is_flag=True,
    help="Offer a tool that records, too: it runs programs that the assistant names, in guests, "
    "and writes new sessions into FOLDER.",
)
def mcp(folder: Path, allow_record: bool) -> None:
    """Answer questions about the recordings below FOLDER, by default this one, for an assistant
    that starts this command and speaks the Model Context Protocol over standard input and output.

    The tools are sessions, report, annotate, blame, topic and check. They only read, and only
    recordings below FOLDER. Needs profdiff[mcp].
    """
    if find_spec("mcp") is None:
        raise MissingError("profdiff mcp needs mcp: install it with pip install 'profdiff[mcp]'")
    from profdiff.mcp.server import serve

    serve(folder, allow_record=allow_record)
