"""``profdiff size``: how many bytes two or more kernels take."""

from __future__ import annotations

import click

from profdiff.base.errors import InputError
from profdiff.commands import complete
from profdiff.commands.command import command
from profdiff.commands.output import ASCII, WIDTH, refuse_inputs, refuse_outputs, write_or_show
from profdiff.commands.output_types import OUTPUT_FILE
from profdiff.reports.form import ReportOptions


@command()
@click.argument(
    "kernels",
    metavar="[LABEL=]KERNEL [LABEL=]KERNEL...",
    nargs=-1,
    required=True,
    shell_complete=complete.kernels,
)
@click.option(
    "--csv",
    metavar="FILE",
    type=OUTPUT_FILE,
    help="Write all rows as CSV (-: standard output).",
)
@click.option(
    "--json",
    metavar="FILE",
    type=OUTPUT_FILE,
    help="Write all rows as JSON (-: standard output).",
)
@WIDTH
@ASCII
def size(
    kernels: tuple[str, ...],
    csv: str | None,
    json: str | None,
    width: int | None,
    ascii_only: bool,
) -> None:
    """Show how many bytes sections, functions and types take on each KERNEL, the base first, and
    what inlining changed. Nothing is recorded, and nothing boots.

    \b
      profdiff size debian:trixie debian:trixie-backports
      profdiff size old/vmlinux new/vmlinux --csv size.csv

    KERNEL is a SPEC as in profdiff kernel --help, or an ELF file: vmlinux, or a module. The text
    shows the 20 rows of each table that differ most.
    """
    from profdiff.collectors.kernels.kinds.registry import parse_arguments
    from profdiff.commands.layout import debug_elf
    from profdiff.forms import csv as csv_form
    from profdiff.forms import json as json_form
    from profdiff.forms.text import render
    from profdiff.topics.size.measure import KernelSizes
    from profdiff.topics.size.shapes import section
    from profdiff.views.document import topic_document

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
    shown = section({label: KernelSizes.of(file) for label, file in files.items()})
    options = ReportOptions(width=width, ascii_only=ascii_only)
    write_or_show(
        [
            (csv, lambda: csv_form.tables(shown.tables)),
            (json, lambda: json_form.render(topic_document(shown))),
        ],
        options,
        lambda columns: render(shown, width=columns),
    )
