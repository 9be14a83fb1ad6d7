"""A TOML file of the user's, read within bounds."""

import errno
from pathlib import Path
from typing import Any

from profdiff.base import bounded
from profdiff.base.errors import InputError

_MAX_SIZE = 2**20


def read(file: Path) -> dict[str, Any]:
    """What the file holds. Raises InputError when it is absent, too large or no TOML."""
    import tomllib

    try:
        return tomllib.loads(bounded.read(file, _MAX_SIZE).decode())
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise InputError(f"{file} is too large to be an experiment") from error
        raise InputError(f"cannot read the experiment {file}: {error.strerror}") from error
    # A number of too many digits is a ValueError, as the errors of TOML and UTF-8 are.
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file} is not valid TOML: {error}") from error
