"""``profdiff layout``: where the fields of types lie on two kernels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from profdiff.base.errors import InputError
from profdiff.commands import complete
from profdiff.commands.command import OUTPUT_FILE, command
from profdiff.commands.output import ASCII, WIDTH, refuse_inputs, refuse_outputs, write_or_show
from profdiff.reports.form import ReportOptions

if TYPE_CHECKING:
    from profdiff.collectors.kernels.kinds.registry import KernelArgument

_BTF = Path("/sys/kernel/btf/vmlinux")


@command()
@click.argument("base", metavar="[LABEL=]KERNEL", shell_complete=complete.kernels)
@click.argument("new", metavar="[LABEL=]KERNEL", shell_complete=complete.kernels)
@click.argument("types", metavar="TYPE...", nargs=-1, required=True)
@click.option(
    "--all",
    "every",
    is_flag=True,
    help="Show all fields.  [default: fields that are new or gone, or changed their line or size]",
)
@click.option(
    "--csv",
    metavar="FILE",
    type=OUTPUT_FILE,
    help="Write all fields as CSV (-: standard output).",
)
@click.option(
    "--json",
    metavar="FILE",
    type=OUTPUT_FILE,
    help="Write all fields as JSON, profdiff.layout/1 (-: standard output).",
)
@WIDTH
@ASCII
def layout(
    base: str,
    new: str,
    types: tuple[str, ...],
    every: bool,
    csv: str | None,
    json: str | None,
    width: int | None,
    ascii_only: bool,
) -> None:
    """Show which fields of TYPE moved to another cache line from one KERNEL to another. Nothing is
    recorded.

    \b
      profdiff layout debian:trixie debian:trixie-backports mm_struct vm_area_struct
      profdiff layout old/vmlinux new/vmlinux task_struct.se spinlock_t

    TYPE is a struct, a union, a typedef of one, or a member that is one. KERNEL is a SPEC as in
    profdiff kernel --help, or a file with DWARF or BTF: vmlinux, a module, a file in
    /sys/kernel/btf.
    """
    from profdiff.collectors.kernels.kinds.registry import parse_arguments
    from profdiff.forms import json as json_form
    from profdiff.reports.layout import render_csv, render_text
    from profdiff.symbolization.type_layout import layouts
    from profdiff.views import layout as views

    refuse_outputs({"csv": csv, "json": json})
    names = list(dict.fromkeys(_name(one) for one in types))
    kernels = parse_arguments([base, new])
    files = {kernel.label: _file(kernel) for kernel in kernels}
    refuse_inputs([csv, json], files.values())
    found = {label: layouts(file, names) for label, file in files.items()}
    for number, name in enumerate(names):
        if not any(one.found[number] for one in found.values()):
            raise InputError(
                f"{name}: neither kernel has a struct, union or typedef of this name with fields; "
                "a module's types are in the module's file"
            )
    document = views.build(names, {kernel.label: str(kernel.spec) for kernel in kernels}, found)
    options = ReportOptions(width=width, ascii_only=ascii_only)
    write_or_show(
        [(csv, lambda: render_csv(document)), (json, lambda: json_form.render(document))],
        options,
        lambda columns: render_text(document, width=columns, every=every),
    )


def _name(typed: str) -> str:
    """A type without the word that C puts in front of it."""
    words = typed.split()
    name = words[-1] if words else ""
    if not name or words[:-1] not in ([], ["struct"], ["union"]) or "" in name.split("."):
        raise InputError(f"{typed!r} is not a type: give a name, like mm_struct or task_struct.se")
    return name


def _file(kernel: KernelArgument) -> Path:
    """The file that has the types of a kernel. Raises InputError."""
    if found := kernel.spec.symbol_file(kernel.label):
        return found
    machine = kernel.spec.locate(kernel.label).machine
    if machine and not machine.host and _BTF.is_file():
        return _BTF
    raise InputError(
        f"{kernel.spec}: no debug ELF, so its types are not known: give its vmlinux, or BTF as in "
        f"{_BTF.parent}"
    )
