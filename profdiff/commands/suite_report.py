"""What ``profdiff report`` shows of a suite, and the options that say which of its cells."""

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from profdiff.base import terminal
from profdiff.base.errors import InputError
from profdiff.commands.output import Output, with_options, write_forms
from profdiff.views.suite.threshold import RELEVANT, parsed

if TYPE_CHECKING:
    from profdiff.session.suite import SuiteWorkload
    from profdiff.views.suite.records import SuiteDamage, SuiteDocument

_OPTIONS = [
    click.option(
        "--threshold",
        metavar="PERCENT",
        help=f"Of a suite, show the cells that changed by at least this.  [default: "
        f"{100 * RELEVANT:g}%]",
    ),
    click.option(
        "--only",
        multiple=True,
        metavar="GLOB",
        help="Of a suite, show only cells with such a name: 'mprotect*'. Can be repeated.",
    ),
    click.option(
        "--tag",
        "tags",
        multiple=True,
        metavar="TAG",
        help="Of a suite, show only cells with this tag. Can be repeated.",
    ),
]


class Selected(NamedTuple):
    """Which cells are asked for, and from which change on they are rows."""

    threshold: str | None
    only: tuple[str, ...]
    tags: tuple[str, ...]

    def refuse(self, folder: Path) -> None:
        """Raise InputError where something is asked of what is no suite."""
        given = [("--threshold", self.threshold), ("--only", self.only), ("--tag", self.tags)]
        for name, value in given:
            if value:
                raise InputError(f"{name} is of a suite's report: {folder} is not shown as a suite")

    def wants(self, name: str, workload: "SuiteWorkload") -> bool:
        """Whether a cell is shown: its name fits, and it has a tag, where either is asked for."""
        fits = not self.only or any(fnmatchcase(name, glob) for glob in self.only)
        return fits and (not self.tags or not set(self.tags).isdisjoint(workload.tags))


def suite_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options, as one argument ``asked``."""

    def with_selected(
        *, threshold: str | None, only: tuple[str, ...], tags: tuple[str, ...], **others: Any
    ) -> Any:
        return command(asked=Selected(threshold, only, tags), **others)

    with_selected.__doc__ = command.__doc__
    with_selected.__name__ = command.__name__
    # What the options below have left on the command is on the wrapper's way to it.
    inner = getattr(command, "__click_params__", [])
    with_selected.__click_params__ = list(inner)  # type: ignore[attr-defined]
    return with_options(_OPTIONS, with_selected)


def tell_damaged(damaged: "Sequence[SuiteDamage]") -> int:
    """Name what a report leaves out; the exit status: 1 where there is any."""
    for one in damaged:
        terminal.tell(f"{one.name} is left out: {one.why}")
    return 1 if damaged else 0


def report_suite(folder: Path, at: str | None, asked: Selected, output: Output) -> int:
    """Write the forms that were asked for, or else print the text; the exit status. Raises
    InputError, SessionError."""
    from profdiff.evidence.suite.results import SuiteResults
    from profdiff.reports.documents import suite as suite_document
    from profdiff.reports.suite_forms import SUITE_FORMS, Subject, refuse_others
    from profdiff.session.suite import Suite

    if at is not None:
        raise InputError(f"--at {at}: {folder} is a suite: name one of its cells with --cell")
    suite = Suite.open(folder)
    threshold = parsed(asked.threshold)
    refuse_others(output.targets, output.asked, suite)

    @cache
    def results() -> SuiteResults:
        return SuiteResults.gather(suite, wanted=asked.wants)

    @cache
    def document() -> "SuiteDocument":
        return suite_document.of_results(results(), threshold)

    subject = Subject(suite, results, document, output.asked)
    name = folder.resolve().name.removesuffix(".profdiff")
    write_forms(SUITE_FORMS, output.targets or {"text": "-"}, subject, name)
    return tell_damaged(document().damaged)
