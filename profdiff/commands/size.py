"""``profdiff size``: how many bytes two or more kernels take."""

from __future__ import annotations

import click

from profdiff.base import units
from profdiff.base.errors import InputError
from profdiff.commands import complete
from profdiff.commands.command import command
from profdiff.commands.output import TableOutput, refuse_inputs, table_options


@command()
@click.argument(
    "kernels",
    metavar="[LABEL=]KERNEL [LABEL=]KERNEL...",
    nargs=-1,
    required=True,
    shell_complete=complete.kernels,
)
@table_options(
    "Instead of the tables, judge TABLE[:ROW] OPERATOR BOUND of sections, functions, inlined "
    "and types, for example 'functions:change_pte_range > +5%' or 'types:\"struct page\" > +0', "
    "and fail if it holds. Without ROW, it is about the sum of all rows. Can be repeated."
)
def size(kernels: tuple[str, ...], tables: TableOutput) -> int:
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
    from profdiff.topics.size.measure import KernelSizes
    from profdiff.topics.size.shapes import section

    if len(kernels) < 2:
        raise InputError("one kernel cannot be compared: give two or more, the base first")
    files = {one.label: one.spec.elf(one.label) for one in parse_arguments(kernels)}
    refuse_inputs(tables.targets.values(), files.values())
    sizes = {label: KernelSizes.of(file) for label, file in files.items()}
    return tables.write(
        section(sizes),
        f"Sizes of {units.listed(files)}",
        lambda conditions: judge_rows(section(sizes, whole=True), list(files), conditions),
    )
