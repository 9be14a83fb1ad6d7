"""A workload's command as it is shown."""

import shlex
from collections.abc import Sequence
from pathlib import PurePath

# Where profdiff's own suites lie, in a checkout as in an installed package.
_OWN = ("profdiff", "suites")


def shown_command(argv: Sequence[str]) -> list[str]:
    """The words of a command. A program of profdiff's own suites has its name there
    (``mprotect.c``): where that lay when it was recorded says nothing to a reader."""
    words = list(argv)
    if words and PurePath(words[0]).parent.parts[-2:] == _OWN:
        words[0] = PurePath(words[0]).name
    return words


def command_line(argv: Sequence[str]) -> str:
    """The same for a shell; "unknown" where there is none."""
    return shlex.join(shown_command(argv)) or "unknown"
