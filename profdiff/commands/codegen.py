"""``profdiff codegen``: what several compilers make of one function."""

from __future__ import annotations

import click

from profdiff.base import units
from profdiff.base.errors import InputError
from profdiff.commands import complete
from profdiff.commands.command import command
from profdiff.commands.experiment.option_types import Compilers
from profdiff.commands.output import TableOutput, refuse_inputs, table_options


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
    help="Also compile each KERNEL with these flags: -Os. Can be repeated.",
)
@click.option(
    "--loop",
    type=click.IntRange(1),
    metavar="N",
    help="Show this loop of the base.  [default: the longest innermost loop]",
)
@table_options(
    "Instead of the tables, judge TABLE[:ROW] OPERATOR BOUND, and fail if it holds: of a FUNCTION "
    "'figures:bytes > +0' or 'inlined:NAME > +0', of an OBJECT 'functions:NAME > +5%' or, for the "
    "sum of all, 'functions > +0'; of both 'unlike > +0', how many functions are not identical. "
    "Can be repeated."
)
def codegen(
    wanted: str,
    kernels: tuple[str, ...],
    compilers: list[str] | None,
    cflags: tuple[str, ...],
    loop: int | None,
    tables: TableOutput,
) -> int:
    """Show what compilers make of a FUNCTION, or of all functions of an OBJECT: sizes, whether the
    code is identical, what is inlined, and a loop's instructions side by side. Nothing boots; of a
    git tree only the object files that define the function are built.

    \b
      profdiff codegen change_pte_range --compilers gcc-12,clang-19
      profdiff codegen mm/mprotect.o git:~/linux@v6.16 --compilers gcc-12 --cflags=-Os
      profdiff codegen change_pte_range old/vmlinux new/vmlinux

    KERNEL is a SPEC as in profdiff kernel --help, or an ELF file: vmlinux, a module, an object
    file.  [default: git:.] With --width 72 the text fits into a mail.

    With --fail-if, the exit status is 1 if a condition holds, 125 if one is inconclusive, else 0.
    """
    from profdiff.checks.rows import judge_rows
    from profdiff.commands.codegen_files import compiled
    from profdiff.profile.code.file_code import FileCode
    from profdiff.topics.codegen import shapes
    from profdiff.topics.codegen.measure import compiled_function, compiled_functions, hot_loop

    with compiled(wanted, kernels, compilers or [], cflags) as found:
        refuse_inputs(tables.targets.values(), found.files.values())
        files = {label: FileCode(path) for label, path in found.files.items()}
        if found.function:
            function = compiled_function(files, found.function, found.source)
            section = shapes.of_function(function, hot_loop(function, loop))
            unlike = shapes.unlike({function.name: function.sides})
        elif loop:
            raise InputError("--loop shows a loop of one function: name FUNCTION")
        else:
            functions = compiled_functions(files)
            section = shapes.of_object(found.object, functions)
            unlike = shapes.unlike(functions)
    return tables.write(
        section,
        f"{found.function or found.object} with {units.listed(files)}",
        lambda conditions: judge_rows(shapes.judged(section, unlike), list(files), conditions),
    )
