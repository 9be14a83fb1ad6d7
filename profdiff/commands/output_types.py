"""What options that name an output take, as click reads them."""

import os
from pathlib import Path

import click

from profdiff.base.outputs import descriptor


class _File(click.ParamType[str]):
    """A file to write: ``-`` is standard output by whatever name, since it may be at its end."""

    name = "file"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        return "-" if descriptor(Path(str(value))) == 1 else str(value)


class _Folder(click.ParamType[Path]):
    """A folder that is made if it is not there: where a link leads, which mkdir(2) does not
    follow."""

    name = "path"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Path:
        path = Path(str(value))
        is_away = path.is_symlink() and not path.exists()
        return Path(os.path.realpath(path)) if is_away else path


OUTPUT_FILE, OUTPUT_FOLDER = _File(), _Folder()
