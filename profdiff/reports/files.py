"""The files that reports are written to."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from profdiff.base import terminal
from profdiff.base.errors import InputError, told
from profdiff.base.outputs import append_output, write_outputs
from profdiff.session.held import refuse_recorded


def write_files(
    files: Iterable[tuple[Path, str | bytes]], *, appends: bool = False, make_folders: bool = False
) -> None:
    """Write files as ``write_outputs`` does, or append to each. Raises InputError, also for what
    belongs to a recording."""
    try:
        if appends:
            for path, data in _foreign(files):
                append_output(path, data)
        else:
            write_outputs(_foreign(files), make_folders=make_folders)
    except OSError as error:
        raise InputError(f"cannot write {told(error)}") from error


def _foreign(files: Iterable[tuple[Path, str | bytes]]) -> Iterator[tuple[Path, bytes]]:
    for path, data in files:
        refuse_recorded(path)
        if isinstance(data, str):
            data = terminal.cleaned(data).encode(errors="backslashreplace")
        yield path, data
