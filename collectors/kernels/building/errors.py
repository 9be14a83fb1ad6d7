"""How building a kernel fails."""

from pathlib import Path

from profdiff.base.errors import InputError


class BuildError(InputError):
    """The source does not build. ``log``: all that was said; ``first``: the first error of it."""

    def __init__(self, message: str, log: Path, first: str) -> None:
        super().__init__(message)
        self.log, self.first = log, first


class UnfitError(InputError):
    """The config, or what the source has of it, lacks what a guest needs."""


class DoesNotApply(InputError):  # noqa: N818 - a result that bisect looks for, as well as an error
    """A patch does not apply to the source, or a commit does not revert."""
