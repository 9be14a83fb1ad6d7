"""The options that say what of a comparison is shown and written: of ``report`` and ``diff``."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from profdiff.base import terminal, units
from profdiff.base.atomic import write_atomic
from profdiff.base.errors import InputError
from profdiff.evidence.findings import Findings
from profdiff.profile.comparison import Side
from profdiff.reports.table import MIN_WIDTH
from profdiff.views.selection import Selection, Sort

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
    click.option(
        "--text",
        "text_file",
        is_flag=False,
        flag_value="-",
        metavar="[FILE]",
        help="Write the text.  [default: here, where no file is asked for]",
    ),
    click.option("--ascii", "ascii_only", is_flag=True, help="The text in ASCII only."),
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
        "--folded-diff",
        "folded_diff_file",
        metavar="FILE",
        help="Write folded stacks with the base's counts and the other kernel's, as difffolded.pl "
        "does (-: here).",
    ),
    click.option(
        "--charts",
        "charts_folder",
        metavar="DIR",
        help="Write figures for print, as SVG and PNG: sweeps, ladders, deltas, totals.",
    ),
]


Form = Callable[[Findings, Selection], bytes]


# Each form is loaded where it is asked for: folded stacks need none of them.
def _json(findings: Findings, selection: Selection) -> bytes:
    from profdiff.reports import document

    return document.encode(document.build(findings)) + b"\n"


def _csv(findings: Findings, selection: Selection) -> bytes:
    from profdiff.reports import csv_table

    return csv_table.render(findings.comparisons, selection).encode(errors="backslashreplace")


def _lkp(findings: Findings, selection: Selection) -> bytes:
    from profdiff.reports import lkp

    series = lkp.workload_series(findings)
    shown = lkp.render(findings.comparisons, series, top=selection.top)
    return shown.encode(errors="backslashreplace")


def _svg(findings: Findings, selection: Selection) -> bytes:
    from profdiff.reports import svg

    return svg.difference(findings.comparisons)


def _svg_side_by_side(findings: Findings, selection: Selection) -> bytes:
    from profdiff.reports import svg

    return svg.side_by_side(findings.comparisons)


def _speedscope(findings: Findings, selection: Selection) -> bytes:
    from profdiff.reports import speedscope

    return speedscope.render(findings.comparisons)


def _firefox(findings: Findings, selection: Selection) -> bytes:
    from profdiff.reports import firefox

    return firefox.render(findings.comparisons)


def _pprof(findings: Findings, selection: Selection) -> bytes:
    from profdiff.reports import pprof

    return pprof.render(findings.comparisons[0], findings.comparisons)


# One file each, from all that was compared.
_FORMS: dict[str, tuple[str, Form]] = {
    "json": ("Write everything as JSON (-: here).", _json),
    "csv": ("Write the function table as CSV (-: here).", _csv),
    "lkp": ("Write a table in the layout of the 0-day robot's mails (-: here).", _lkp),
    "svg": ("Write the difference flamegraph as a picture.", _svg),
    "svg-side-by-side": ("Write the kernels' flamegraphs beside each other.", _svg_side_by_side),
    "speedscope": ("Write a profile for speedscope.", _speedscope),
    "firefox": ("Write a profile for the Firefox Profiler.", _firefox),
    "pprof": ("Write a profile for pprof, with the base as negative samples.", _pprof),
}
# What a session of timed runs only has, too.
_WITHOUT_PROFILE = {"json"}
_OPTIONS += [
    click.option(f"--{name}", f"form_{name.replace('-', '_')}", metavar="FILE", help=text)
    for name, (text, _) in _FORMS.items()
]


@dataclass(frozen=True)
class Output:
    """What the options ask for. ``files``: the target of each form asked for."""

    selection: Selection
    top_given: bool
    per_op: bool | None
    width: int | None
    files: Mapping[str, str]
    html_file: str | None
    folded_file: str | None
    folded_diff_file: str | None
    charts_folder: str | None
    text_file: str | None
    ascii_only: bool

    @property
    def only_folded(self) -> bool:
        """Whether nothing is wanted for which kernels must be compared."""
        others = (self.html_file, self.folded_diff_file, self.charts_folder, self.text_file)
        return (
            self.folded_file is not None
            and not self.files
            and not any(file is not None for file in others)
        )

    def write(self, findings: Findings, name: str) -> None:
        """Write the files, or else print the table. ``name``: of the page, if it has none.

        Raises InputError.
        """
        comparisons = findings.comparisons
        if self.per_op and findings.ops is None:
            raise InputError("--per-op: it is not known how many ops this was (--ops)")
        asked = [*self.files, *(["folded-diff"] if self.folded_diff_file else [])]
        if not comparisons and any(form not in _WITHOUT_PROFILE for form in asked):
            raise InputError(
                f"--{asked[0]} shows a profile, and this session has timed runs only: record with "
                "--collector exact or perf"
            )
        for form, target in self.files.items():
            write(target, _FORMS[form][1](findings, self.selection))
        if self.html_file is not None:
            from profdiff.reports import html

            target = self.html_file or f"{name}.html"
            write(target, html.render(findings).encode(errors="backslashreplace"))
            if target != "-":
                taken = "-" in (*self.files.values(), self.folded_file)
                (terminal.tell if taken else terminal.say)(target)
        if self.folded_diff_file is not None:
            from profdiff.reports import folded_difference

            self._write_each(
                "--folded-diff",
                self.folded_diff_file,
                [
                    (label, lambda lines=lines: lines)  # type: ignore[misc]
                    for label, lines in folded_difference.files(comparisons[0])
                ],
            )
        if self.charts_folder is not None:
            from profdiff.reports import charts

            folder, side = Path(self.charts_folder), self.selection.side
            charts.write(findings, folder, side=side, per_op=self.per_op)
        special = (self.html_file, self.folded_file, self.folded_diff_file, self.charts_folder)
        if self.text_file is not None:
            self._write_text(findings, self.text_file)
        elif not self.files and all(file is None for file in special):
            self._write_text(findings, "-")

    def write_folded(self, stacks: Sequence[tuple[str, Callable[[], bytes]]]) -> None:
        """Write folded stacks, (label, stacks) of each kernel. Raises InputError."""
        if self.folded_file is not None:
            self._write_each("--folded", self.folded_file, stacks)

    def _write_each(
        self, option: str, file: str, parts: Sequence[tuple[str, Callable[[], bytes]]]
    ) -> None:
        """One file for each kernel, with its label in the name where there are several."""
        if len(parts) > 1 and file == "-":
            raise InputError(f"{option} -: there are several kernels, whose stacks go to files")
        for label, make in parts:
            target = Path(file)
            if len(parts) > 1:
                target = target.with_name(f"{target.stem}.{label}{target.suffix}")
            write(str(target), make())

    def _write_text(self, findings: Findings, target: str) -> None:
        from profdiff.reports import text

        wide = shutil.get_terminal_size((_MAIL_WIDTH, 24)).columns
        columns = self.width or min(wide if target == "-" else _MAIL_WIDTH, _MAIL_WIDTH)
        selection = self.selection
        if not self.top_given:
            selection = replace(selection, top=_DEFAULT_TOP)
        table = text.render(findings, selection, width=columns, per_op=self.per_op)
        if self.ascii_only:
            table = units.ascii_only(table)
        if target == "-":
            terminal.say(table, end="")
        else:
            write(target, terminal.cleaned(table).encode(errors="backslashreplace"))


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
        html_file: str | None,
        folded_file: str | None,
        folded_diff_file: str | None,
        charts_folder: str | None,
        text_file: str | None,
        ascii_only: bool,
        **others: Any,
    ) -> Any:
        files = {
            form: target
            for form in _FORMS
            if (target := others.pop(f"form_{form.replace('-', '_')}")) is not None
        }
        if [*files.values(), html_file, folded_file, folded_diff_file, text_file].count("-") > 1:
            raise InputError("only one file can go to standard output (-)")
        if kernel_only and user_only:
            raise InputError("--kernel-only and --user-only exclude each other")
        side: Side | None = "kernel" if kernel_only else "user" if user_only else None
        output = Output(
            Selection(sort, top, min_delta, side),
            top is not None,
            per_op,
            width,
            files,
            html_file,
            folded_file,
            folded_diff_file,
            charts_folder,
            text_file,
            ascii_only,
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
        terminal.put(data)
        return
    try:
        write_atomic(Path(target), data, durable=False)
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror}") from error
