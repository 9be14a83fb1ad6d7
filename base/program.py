"""Whether this process is the program profdiff, and how it was called; others import it. And how to
start the program in a process of its own."""

import sys

_runs = False


def begin() -> None:
    """This process is the program."""
    global _runs
    _runs = True


def called() -> list[str]:
    """The command line; nothing where another program imports profdiff."""
    return ["profdiff", *sys.argv[1:]] if _runs else []


def command(*arguments: str) -> list[str]:
    """What starts profdiff as it is installed: modules in the current folder are not its own."""
    return [sys.executable, "-P", "-m", "profdiff", *arguments]
