"""The one exception root, and how an error is told. ``profdiff.cli.main`` catches what is raised,
prints one line and exits with the error's status."""

import errno
import re

from profdiff.base.terminal import printable

# Of a line that quotes what a stranger wrote: its beginning, and its end, which says what to do.
_FIRST, _LAST = 700, 250
_DIGITS = re.compile(r"\d[\d,]{59,}")
_SHOWN_DIGITS = 20
_MAX_TEXT = 500
FULL = (errno.ENOSPC, errno.EDQUOT)
"""What the system says of a full disk."""


class ProfdiffError(Exception):
    """What went wrong and what to do, in one line for a person. ``status``: the exit status."""

    status = 2


class InputError(ProfdiffError):
    """An argument or an input file cannot be used as given."""


class MissingError(ProfdiffError):
    """This machine lacks something that is needed: a program, a feature, room on the disk."""


class RunError(ProfdiffError):
    """A run did not give a result: the guest or the workload failed."""


class SessionError(ProfdiffError):
    """A session folder is missing, damaged, hostile, or of another schema."""


CONVERT = "convert it with scripts/convert-recordings of profdiff's source tree"
"""What to do with a recording of an earlier format but to record again."""


def other_format(path: object, found: object, read: object) -> str:
    """What is said of a file of a recording whose format is not the one that is read."""
    return f"{path} has format {found}, this profdiff reads {read}: record again, or {CONVERT}"


class UndecidedError(ProfdiffError):
    """``check`` could not judge. ``git bisect run`` skips a commit with this status, where any
    other below 128 but 0 calls it bad (git-bisect(1))."""

    status = 125


def in_line(text: str) -> str:
    """What is told of an error in one line that a person can read, whatever it quotes: printable,
    without the middle of long numbers and texts."""
    text = printable(" ".join(text.split()))
    text = _DIGITS.sub(lambda one: f"{one[0][:_SHOWN_DIGITS]}... ({len(one[0]):,} digits)", text)
    more = len(text) - _FIRST - _LAST
    if more < _LAST:
        return text
    return f"{text[:_FIRST]} [{more:,} characters more] {text[-_LAST:]}"


def told(error: BaseException) -> str:
    """``error`` in one line for a person: what happened and what to do."""
    if isinstance(error, ProfdiffError):
        return str(error)
    if isinstance(error, OSError):
        # If two files are named, the second is the one that was written.
        name = error.filename2 or error.filename
        where = f"{name}: " if name else ""
        text = f"{where}{error.strerror or error}"
        if error.errno in FULL:
            return f"{text}: make room and run the same command again"
        return text
    if isinstance(error, MemoryError):
        return "this machine has not enough memory for that"
    what = f"{type(error).__name__}: {error}"[:_MAX_TEXT]
    return f"a defect of profdiff, please report it with its trace (profdiff --debug): {what}"
