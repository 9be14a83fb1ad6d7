"""A command of profdiff within this process: what it prints."""

import contextlib
import io
import os
import zlib
from pathlib import Path

import click

from profdiff.base.errors import ProfdiffError
from profdiff.cli import cli

REFUSALS = (ProfdiffError, click.ClickException)
_FORMS = ("csv", "folded", "folded-diff", "svg", "svg-side-by-side", "speedscope")
_FORMS += ("firefox", "pprof")


def profdiff(*arguments: str | os.PathLike[str]) -> str:
    """The standard output of ``profdiff ARGUMENTS``. Raises REFUSALS."""
    with io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) as output:
        with contextlib.redirect_stdout(output):
            cli.main(list(map(os.fspath, arguments)), "profdiff", standalone_mode=False)
        return bytes(output.buffer.getbuffer()).decode(errors="replace")  # type: ignore[attr-defined]


def reported(data: bytes, *arguments: str | os.PathLike[str], folder: Path) -> str:
    """The text of ``report`` or ``diff``, and its JSON. For some inputs also another file, which
    may be refused; the page and the figures, which take long, are the least often."""
    text = profdiff(*arguments, "--text", "-", "--json", "json")
    (folder / "json").read_bytes().decode()
    number = zlib.crc32(data)
    form = _FORMS[number // 64 % len(_FORMS)]
    more = {0: "--html", 1: "--charts"}.get(number % 64, f"--{form}" if number % 4 == 0 else None)
    if more:
        with contextlib.suppress(ProfdiffError):
            profdiff(*arguments, more, "other")
    return text
