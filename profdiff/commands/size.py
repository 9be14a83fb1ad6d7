"""``profdiff size``: how many bytes two or more kernels take."""

from __future__ import annotations

import click

from profdiff.base.errors import InputError
from profdiff.commands import complete
from profdiff.commands.command import command
from profdiff.commands.output import (
    ASCII,
    CSV_ROWS,
    JSON_ROWS,
    WIDTH,
    refuse_inputs,
    refuse_outputs,
    write_section,
)
from profdiff.reports.form import ReportOptions


@command()
@click.argument(
    "kernels",
    metavar="[LABEL=]KERNEL [LABEL=]KERNEL...",
    nargs=-1,
    required=True,
    shell_complete=complete.kernels,
)
@CSV_ROWS
@JSON_ROWS
@click.option(
    "--fail-if",
    "texts",
    multiple=True,
    metavar="CONDITION",
    help="Instead of the tables, judge TABLE[:ROW] OPERATOR BOUND of sections, functions, inlined "
    "and types, for example 'functions:change_pte_range > +5%' or 'types:\"struct page\" > +0', "
    "and fail if it holds. Without ROW, it is about the sum of all rows. Can be repeated.",
)
@WIDTH
@ASCII
def size(
    kernels: tuple[str, ...],
    csv: str | None,
    json: str | None,
    texts: tuple[str, ...],
    width: int | None,
    ascii_only: bool,
) -> int:
    """Show how many bytes sections, functions and types take on each KERNEL, the base first, and
    what inlining changed. Nothing is recorded, and nothing boots.

    \b
      profdiff size debian:trixie debian:trixie-backports
      profdiff size old/vmlinux new/vmlinux --csv size.csv

    KERNEL is a SPEC as in profdiff kernel --help, or an ELF file: vmlinux, or a module. The text
    shows the 20 rows of each table that differ most; with --width 72 it fits into a mail.

    With --fail-if, the exit status is 1 if a condition holds, 125 if one is inconclusive, else 0.
    """
    from profdiff.checks.rows import judge_rows
    from profdiff.collectors.kernels.kinds.registry import parse_arguments
    from profdiff.commands.layout import debug_elf
    from profdiff.evidence.conditions.condition import Condition, exit_status
    from profdiff.forms.text import render
    from profdiff.topics.size.measure import KernelSizes
    from profdiff.topics.size.shapes import section
    from profdiff.views.rows.judgements import told

    conditions = [Condition.parse(text) for text in texts]
    refuse_outputs({"csv": csv, "json": json})
    if len(kernels) < 2:
        raise InputError("one kernel has nothing to be compared with: give two or more, base first")
    files = {}
    for kernel in parse_arguments(kernels):
        found = debug_elf(kernel)
        if found is None:
            raise InputError(
                f"{kernel.spec} is not an ELF file and has no debug ELF: give its vmlinux"
            )
        files[kernel.label] = found
    refuse_inputs([csv, json], files.values())
    sizes = {label: KernelSizes.of(file) for label, file in files.items()}
    shown = section(sizes)
    judged = judge_rows(section(sizes, whole=True), list(files), conditions) if conditions else []
    options = ReportOptions(width=width, ascii_only=ascii_only)
    write_section(
        shown,
        csv,
        json,
        options,
        lambda columns: told(judged) if judged else render(shown, width=columns),
    )
    return exit_status(judged)
