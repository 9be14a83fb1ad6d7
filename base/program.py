"""Whether this process is the program profdiff, and how it was called; others import it."""

import sys

_runs = False


def begin() -> None:
    """This process is the program."""
    global _runs
    _runs = True


def called() -> list[str]:
    """The command line; nothing where another program imports profdiff."""
    return ["profdiff", *sys.argv[1:]] if _runs else []
