"""The options that say what of a comparison is shown and written: of ``report`` and ``diff``."""

import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from profdiff.atomic import write_atomic
from profdiff.comparison import Comparison, Side
from profdiff.errors import InputError
from profdiff.reports.columns import MIN_WIDTH
from profdiff.reports.rows import Selection, Sort

_MAIL_WIDTH = 100
_DEFAULT_TOP = 20

_OPTIONS = [
    click.option(
        "--sort",
        type=click.Choice(["delta", "total-delta", "self", "total", "name"]),
        default="delta",
        show_default=True,
        help="Order of the rows; sizes without their sign, largest first.",
    ),
    click.option(
        "--top", type=click.IntRange(0), help=f"At most so many rows.  [default: {_DEFAULT_TOP}]"
    ),
    click.option(
        "--min-delta",
        type=click.IntRange(0),
        default=0,
        metavar="N",
        help="Only rows that changed by so many (of the metric) or more.",
    ),
    click.option("--kernel-only", is_flag=True, help="Only functions of the kernel."),
    click.option("--user-only", is_flag=True, help="Only functions of user space."),
    click.option(
        "--per-op/--absolute",
        default=None,
        help="Counts per operation.  [default: where ops are known]",
    ),
    click.option(
        "--width",
        type=click.IntRange(MIN_WIDTH),
        help="Columns.  [default: terminal, at most 100]",
    ),
    click.option("--json", "json_file", metavar="FILE", help="Write everything as JSON (-: here)."),
    click.option(
        "--csv", "csv_file", metavar="FILE", help="Write the function table as CSV (-: here)."
    ),
    click.option(
        "--html",
        "html_file",
        is_flag=False,
        flag_value="",
        metavar="[FILE]",
        help="Write a page.  [default: SESSION.html here]",
    ),
    click.option(
        "--folded",
        "folded_file",
        metavar="FILE",
        help="Write folded stacks for flamegraph.pl (-: here); of several kernels one file each, "
        "with the label before the suffix.",
    ),
    click.option(
        "--charts",
        "charts_folder",
        metavar="DIR",
        help="Write figures of deltas and totals for print, as SVG and PNG.",
    ),
]


@dataclass(frozen=True)
class Output:
    """What the options ask for."""

    selection: Selection
    top_given: bool
    per_op: bool | None
    width: int | None
    json_file: str | None
    csv_file: str | None
    html_file: str | None
    folded_file: str | None
    charts_folder: str | None

    @property
    def only_folded(self) -> bool:
        """Whether nothing is wanted for which kernels must be compared."""
        others = (self.json_file, self.csv_file, self.html_file, self.charts_folder)
        return self.folded_file is not None and all(file is None for file in others)

    def write(self, comparisons: Sequence[Comparison], name: str) -> None:
        """Write the files, or else print the table. ``name``: of the page, if it has none.

        Raises InputError.
        """
        if self.per_op and comparisons[0].ops is None:
            raise InputError("--per-op: it is not known how many ops this was (--ops)")
        # Each form is loaded where it is asked for: folded stacks need none of them.
        if self.json_file is not None:
            import json

            from profdiff.reports import document

            data = json.dumps(document.document(comparisons))
            write(self.json_file, (data + "\n").encode(errors="backslashreplace"))
        if self.csv_file is not None:
            from profdiff.reports import csv_table

            table = csv_table.render(comparisons, self.selection)
            write(self.csv_file, table.encode(errors="backslashreplace"))
        if self.html_file is not None:
            from profdiff.reports import html

            target = self.html_file or f"{name}.html"
            write(target, html.render(comparisons).encode(errors="backslashreplace"))
            if target != "-":
                click.echo(target, err="-" in (self.json_file, self.csv_file, self.folded_file))
        if self.charts_folder is not None:
            from profdiff.reports import charts

            folder, side = Path(self.charts_folder), self.selection.side
            charts.write(comparisons, folder, side=side, per_op=self.per_op)
        files = (self.json_file, self.csv_file, self.html_file, self.folded_file)
        if all(f is None for f in (*files, self.charts_folder)):
            self._print(comparisons)

    def write_folded(self, stacks: Sequence[tuple[str, Callable[[], bytes]]]) -> None:
        """Write folded stacks, (label, stacks) of each kernel. Raises InputError."""
        if self.folded_file is None:
            return
        if len(stacks) > 1 and self.folded_file == "-":
            raise InputError("--folded -: there are several kernels, whose stacks go to files")
        for label, make in stacks:
            target = Path(self.folded_file)
            if len(stacks) > 1:
                target = target.with_name(f"{target.stem}.{label}{target.suffix}")
            write(str(target), make())

    def _print(self, comparisons: Sequence[Comparison]) -> None:
        from profdiff.reports import text

        columns = self.width or min(
            shutil.get_terminal_size((_MAIL_WIDTH, 24)).columns, _MAIL_WIDTH
        )
        selection = self.selection
        if not self.top_given:
            selection = selection.limited(_DEFAULT_TOP)
        table = text.render(comparisons, selection, width=columns, per_op=self.per_op)
        # A terminal that lacks a name's characters shows their escapes.
        encoding = sys.stdout.encoding or "utf-8"
        click.echo(table.encode(encoding, "backslashreplace").decode(encoding), nl=False)


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options, as one argument ``output``."""

    def with_output(
        *,
        sort: Sort,
        top: int | None,
        min_delta: int,
        kernel_only: bool,
        user_only: bool,
        per_op: bool | None,
        width: int | None,
        json_file: str | None,
        csv_file: str | None,
        html_file: str | None,
        folded_file: str | None,
        charts_folder: str | None,
        **others: Any,
    ) -> Any:
        if [json_file, csv_file, html_file, folded_file].count("-") > 1:
            raise InputError(
                "only one of --json, --csv, --html and --folded can go to standard output (-)"
            )
        if kernel_only and user_only:
            raise InputError("--kernel-only and --user-only exclude each other")
        side: Side | None = "kernel" if kernel_only else "user" if user_only else None
        output = Output(
            Selection(sort, top, min_delta, side),
            top is not None,
            per_op,
            width,
            json_file,
            csv_file,
            html_file,
            folded_file,
            charts_folder,
        )
        return command(output=output, **others)

    with_output.__doc__ = command.__doc__
    with_output.__name__ = command.__name__
    wrapped: Callable[..., Any] = with_output
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def write(target: str, data: bytes) -> None:
    """Write a file whole or not at all; ``-`` is standard output. Raises InputError."""
    if target == "-":
        click.echo(data, nl=False)
        return
    try:
        write_atomic(Path(target), data, durable=False)
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror}") from error
