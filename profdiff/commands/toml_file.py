"""A TOML file of the user's, read within bounds."""

import errno
import re
from pathlib import Path
from typing import Any

from profdiff.base import bounded
from profdiff.base.errors import InputError

_MAX_SIZE = 2**20
# tomllib's time grows with the square of a key's parts: 64 KiB of them take it a minute.
_LONG_KEY = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){32}""")


def read(file: Path) -> dict[str, Any]:
    """What the file holds. Raises InputError when it is absent, too large or no TOML."""
    import tomllib

    try:
        text = bounded.read(file, _MAX_SIZE).decode()
        if long := _LONG_KEY.search(text):
            line = text.count("\n", 0, long.start()) + 1
            raise InputError(
                f"{file}:{line}: a name of more than 32 parts is none of an experiment"
            )
        return tomllib.loads(text)
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise InputError(f"{file} is too large to be an experiment") from error
        raise InputError(f"cannot read the experiment {file}: {error.strerror}") from error
    # A number of too many digits is a ValueError, as the errors of TOML and UTF-8 are.
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file} is not valid TOML: {error}") from error
