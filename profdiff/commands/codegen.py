"""``profdiff codegen``: what several compilers make of one function."""

from __future__ import annotations

import click

from profdiff.base.errors import InputError
from profdiff.commands import complete
from profdiff.commands.command import command
from profdiff.commands.experiment.option_types import Compilers
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
@click.argument("wanted", metavar="FUNCTION|OBJECT|OBJECT:FUNCTION")
@click.argument("kernels", metavar="[[LABEL=]KERNEL...]", nargs=-1, shell_complete=complete.kernels)
@click.option(
    "--compilers",
    metavar="NAME,...",
    type=Compilers(),
    help="Compile each KERNEL (git:REPO@REV) with each of these, the base first.",
)
@click.option(
    "--cflags",
    metavar="ARGUMENTS",
    multiple=True,
    help="Compile each also with these: -Os. Can be repeated.",
)
@click.option(
    "--loop",
    type=click.IntRange(1),
    metavar="N",
    help="Show this loop of the base.  [default: the innermost, the longest of these]",
)
@CSV_ROWS
@JSON_ROWS
@WIDTH
@ASCII
def codegen(
    wanted: str,
    kernels: tuple[str, ...],
    compilers: list[str] | None,
    cflags: tuple[str, ...],
    loop: int | None,
    csv: str | None,
    json: str | None,
    width: int | None,
    ascii_only: bool,
) -> None:
    """Show what compilers make of a FUNCTION, or of all functions of an OBJECT: sizes, whether the
    code is identical, what is inlined, and a loop's instructions side by side. Nothing boots; of a
    git tree only the object files that define the function are built.

    \b
      profdiff codegen change_pte_range --compilers gcc-12,clang-19
      profdiff codegen mm/mprotect.o git:~/linux@v6.16 --compilers gcc-12 --cflags=-Os
      profdiff codegen change_pte_range old/vmlinux new/vmlinux

    KERNEL is a SPEC as in profdiff kernel --help, or an ELF file: vmlinux, a module, an object
    file.  [default: git:.]
    """
    from profdiff.commands.codegen_files import compiled
    from profdiff.forms.text import render
    from profdiff.profile.code.file_code import FileCode
    from profdiff.topics.codegen import shapes
    from profdiff.topics.codegen.measure import compiled_function, compiled_functions, hot_loop

    refuse_outputs({"csv": csv, "json": json})
    with compiled(wanted, kernels, compilers or [], cflags) as found:
        refuse_inputs([csv, json], found.files.values())
        files = {label: FileCode(path) for label, path in found.files.items()}
        if found.function:
            function = compiled_function(files, found.function, found.source)
            section = shapes.of_function(function, hot_loop(function, loop))
        elif loop:
            raise InputError("--loop shows a loop of one function: name FUNCTION")
        else:
            section = shapes.of_object(found.object, compiled_functions(files))
    options = ReportOptions(width=width, ascii_only=ascii_only)
    write_section(section, csv, json, options, lambda columns: render(section, width=columns))
