"""``profdiff annotate``: the code of a function, with what each instruction costs."""

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

import click

from profdiff.base.errors import InputError
from profdiff.commands import complete
from profdiff.commands.command import command
from profdiff.commands.output import (
    ASCII,
    PER_OP,
    WIDTH,
    form_options,
    targets,
    with_options,
    write_forms,
)
from profdiff.commands.recording import CELL, find
from profdiff.reports.command_forms import ANNOTATION_FORMS
from profdiff.reports.form import Layout, ReportOptions, Subject
from profdiff.session.held import held


@command()
@click.argument(
    "session",
    required=False,
    metavar="[SESSION]",
    shell_complete=complete.sessions_or_functions,
)
@click.argument("function", required=False, metavar="FUNCTION", shell_complete=complete.functions)
@click.option(
    "--by",
    type=click.Choice(["instruction", "line"]),
    default="instruction",
    show_default=True,
    help="Show instructions with their source lines, or source lines alone.",
)
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="LABEL=TREE",
    shell_complete=complete.sources,
    help="Show source lines from this tree: a folder, or REPO@REV of a git repository. Give it "
    "once for each kernel.  [default: what profdiff built it from]",
)
@click.option(
    "--inlined-at",
    metavar="FUNCTION",
    shell_complete=complete.functions,
    help="Show only the copies that are inlined into FUNCTION, or along a path: 'A > B'.  "
    "[default: all copies]",
)
@click.option(
    "--kernel",
    "labels",
    multiple=True,
    metavar="LABEL",
    shell_complete=complete.every_label,
    help="Show only this kernel. Can be repeated; deltas are relative to the first.  [default: "
    "all kernels]",
)
@click.option(
    "--metric",
    metavar="[COLLECTOR:]NAME",
    shell_complete=complete.metrics,
    help="Show this metric.  [default: the first of the report]",
)
@click.option(
    "--at",
    metavar="NAME=VALUE,...",
    shell_complete=complete.points,
    help="Show this point of the sweep; vCPUs=N is a parameter too.  [default: the point with the "
    "largest change]",
)
@CELL
@click.option(
    "--context",
    type=click.IntRange(0),
    metavar="N",
    help="Show N never-executed instructions, or lines, around each executed one.  "
    "[default: 2 instructions, no lines]",
)
@click.option(
    "--cold",
    is_flag=True,
    help="Also show instructions that ran less than 1% as often as the function's hottest.",
)
@click.option("--addresses", is_flag=True, help="Show the addresses of instructions.")
@PER_OP
@WIDTH
@ASCII
@partial(with_options, form_options(ANNOTATION_FORMS))
def annotate(
    session: str | None,
    function: str | None,
    by: Literal["instruction", "line"],
    sources: tuple[str, ...],
    inlined_at: str | None,
    labels: tuple[str, ...],
    metric: str | None,
    at: str | None,
    cell: str | None,
    context: int | None,
    cold: bool,
    addresses: bool,
    per_op: bool | None,
    width: int | None,
    ascii_only: bool,
    **forms: str | None,
) -> None:
    """Show the code of FUNCTION on every kernel of SESSION, as it was executed: how often each
    instruction ran, which code the kernels have in common, and which source line it is. FUNCTION is
    a name as report prints it, also of a function that is inlined. SESSION defaults to the newest
    session in this folder. With several compilers or architectures, annotate shows source lines
    with columns for each, and instructions one after the other.
    """
    from profdiff.api import annotated
    from profdiff.session.parts import Parts

    if by == "line" and (addresses or cold):
        raise InputError(
            f"{'--addresses' if addresses else '--cold'} shows instructions: leave --by line out"
        )
    folder, name = _arguments(session, function)
    recording, at = find(folder, cell, at, ["session", "parts"])
    wanted = annotated.AnnotationRequest(name, at, metric, inlined_at, labels, sources)
    if isinstance(recording, Parts):
        made: Callable[[], Any] = partial(annotated.of_parts, recording, wanted, per_op=per_op)
    else:
        (only,) = recording.sessions().values()
        made = partial(annotated.of_session, only, wanted, per_op=per_op)
    layout = Layout(by, context, addresses, cold)
    asked = ReportOptions(per_op=per_op, width=width, ascii_only=ascii_only, layout=layout)
    subject = Subject(recording, cache(made), asked)
    write_forms(ANNOTATION_FORMS, targets(ANNOTATION_FORMS, forms) or {"text": "-"}, subject)


def _arguments(first: str | None, second: str | None) -> tuple[Path | None, str]:
    """The session's folder, if it is named, and the function: of one word, the function."""

    def known(word: str) -> bool:
        return held(Path(word)) is not None

    if not first or second == "":
        raise InputError("name a FUNCTION: profdiff report lists them")
    if second is None and known(first):
        raise InputError(f"name a FUNCTION of it: profdiff annotate {first} FUNCTION")
    if second is None:
        return None, first
    if not known(first) and known(second):
        raise InputError(f"SESSION comes first: profdiff annotate {second} {first}")
    return Path(first), second
