"""The session that a command shows, and the options that say what of it, and in which forms."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import click

from profdiff.base import terminal
from profdiff.base.atomic import write_atomic
from profdiff.base.errors import InputError
from profdiff.commands import complete
from profdiff.reports.forms import DEFAULT_TOP, FORMS, Asked, Files, Form, Shown, Subject
from profdiff.reports.table import MIN_WIDTH
from profdiff.views.profile.selection import Selection

SESSION = click.argument(
    "session",
    required=False,
    type=click.Path(path_type=Path),
    shell_complete=complete.sessions,
)
# Options of every text.
TOP = click.option(
    "--top",
    type=click.IntRange(0),
    metavar="N",
    help=f"Show at most N rows.  [default: {DEFAULT_TOP}]",
)
PER_OP = click.option(
    "--per-op/--absolute",
    default=None,
    help="Show counts per op, or whole counts.  [default: per op where ops are known]",
)
WIDTH = click.option(
    "--width",
    type=click.IntRange(MIN_WIDTH),
    metavar="COLUMNS",
    help="Width of the text.  [default: the terminal's; 100 in a pipe or a file]",
)
ASCII = click.option("--ascii", "ascii_only", is_flag=True, help="Write the text in ASCII only.")

_SELECTION = [
    click.option(
        "--sort",
        type=click.Choice(["delta", "total-delta", "self", "total", "name"]),
        default="delta",
        show_default=True,
        help="Sort rows by this column, largest absolute value first.",
    ),
    TOP,
    click.option(
        "--min-delta",
        type=click.IntRange(0),
        default=0,
        metavar="N",
        help="Show only rows whose delta is at least N, in units of the metric.",
    ),
    click.option("--kernel-only", is_flag=True, help="Show only kernel functions."),
    click.option("--user-only", is_flag=True, help="Show only user-space functions."),
    PER_OP,
    WIDTH,
    click.option(
        "--ratio",
        "ratios",
        is_flag=True,
        help="Show changes in tables as ratios to the base: 1.67x instead of +67.0%.",
    ),
    click.option(
        "--classes",
        is_flag=True,
        help="Show also what kind of instructions ran: loads, stores, locked, serialising, "
        "privileged, divisions, repeated, calls, branches, vector. Exact counts only.",
    ),
    ASCII,
]


class Output(NamedTuple):
    """What the options ask for. ``targets``: of each form asked for, "" for its default."""

    asked: Asked
    targets: Mapping[str, str]

    def write(self, subject: Subject) -> None:
        """Write the forms that were asked for, or else print the text. Raises InputError."""
        if self.asked.per_op and subject.ops is None:
            refuse_per_op()
        for form in FORMS:
            if form.profile and form.name in self.targets and not subject.find().comparisons:
                from profdiff.collectors import registry

                able = " or ".join(n for n, one in registry.recording().items() if one.profiles)
                raise InputError(
                    f"--{form.name} needs a profile, which no run of this session has: record with "
                    f"--collector {able}, or use --csv-experiment for what it has"
                )
        write_forms(FORMS, self.targets or {"text": "-"}, subject, subject.name)
        if "csv" in self.targets and "csv-experiment" not in self.targets:
            found = subject.find()
            if found.results.swept:
                terminal.tell(
                    f"--csv has the functions at {found.setting.title}; --csv-experiment FILE has "
                    "the metrics of every point"
                )


def refuse_per_op() -> NoReturn:
    """Raise InputError where counts are asked for per operation, and there is no number of them."""
    raise InputError("--per-op: the number of ops is unknown (record with --ops)")


def form_options(forms: Sequence[Form[Shown]]) -> list[Callable[..., Any]]:
    """The options of forms; ``targets`` takes their values."""
    optional: dict[str, Any] = {"is_flag": False, "flag_value": ""}
    return [
        click.option(
            f"--{form.name}",
            f"form_{form.name.replace('-', '_')}",
            metavar=form.takes,
            help=form.help,
            **(optional if form.default else {}),
        )
        for form in forms
    ]


def targets(forms: Sequence[Form[Shown]], values: dict[str, Any]) -> dict[str, str]:
    """Where each form that was asked for goes; the options' values are taken from ``values``."""
    given = {form.name: values.pop(f"form_{form.name.replace('-', '_')}") for form in forms}
    return {name: target for name, target in given.items() if target is not None}


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options, as one argument ``output``."""

    def with_output(
        *,
        sort: Any,
        top: int | None,
        min_delta: int,
        kernel_only: bool,
        user_only: bool,
        per_op: bool | None,
        width: int | None,
        ascii_only: bool,
        ratios: bool,
        classes: bool,
        **others: Any,
    ) -> Any:
        if kernel_only and user_only:
            raise InputError("--kernel-only and --user-only cannot be used together")
        selection = Selection(
            sort, top, min_delta, "kernel" if kernel_only else "user" if user_only else None
        )
        asked = Asked(selection, per_op, width, ascii_only, ratios, classes)
        return command(output=Output(asked, targets(FORMS, others)), **others)

    with_output.__doc__ = command.__doc__
    with_output.__name__ = command.__name__
    return with_options([*_SELECTION, *form_options(FORMS)], with_output)


def with_options(
    options: Sequence[Callable[..., Any]], command: Callable[..., Any]
) -> Callable[..., Any]:
    """Give a command options, in the order of its help."""
    for option in reversed(options):
        command = option(command)
    return command


def write_forms(
    forms: Sequence[Form[Shown]], targets: Mapping[str, str], shown: Shown, name: str = ""
) -> None:
    """Write each form that ``targets`` names. ``name``: of files that are given none, which are
    told. Raises InputError."""
    wanted = [
        (form, targets[form.name] or (form.default(name) if form.default else ""))
        for form in forms
        if form.name in targets
    ]
    if [target for _, target in wanted].count("-") > 1:
        raise InputError("only one file can go to standard output (-)")
    for form, target in wanted:
        if form.appends and not target:
            raise InputError(f"--{form.name}: name a FILE, $GITHUB_STEP_SUMMARY is not set")
        made = form.render(shown, target)
        if isinstance(made, (str, bytes)):
            write(target, made, appends=form.appends)
        elif made is not None:
            _write_parts(form, target, made)
        if not targets[form.name] and target != "-" and not form.appends:
            taken = any(other == "-" for _, other in wanted)
            (terminal.tell if taken else terminal.say)(target)


def _write_parts(form: Form[Shown], target: str, parts: Files) -> None:
    """One file for each kernel, with its label in the name where there are several."""
    if len(parts) > 1 and target == "-":
        raise InputError(f"--{form.name} -: with several kernels, stacks go to files: name a FILE")
    for label, make in parts:
        path = Path(target)
        if len(parts) > 1:
            path = path.with_name(f"{path.stem}.{label}{path.suffix}")
        write(str(path), make())


def write(target: str, data: str | bytes, *, appends: bool = False) -> None:
    """Write a file whole or not at all, or append to it; ``-`` is standard output. Raises
    InputError."""
    if target == "-":
        terminal.say(data, end="") if isinstance(data, str) else terminal.put(data)
        return
    if isinstance(data, str):
        data = terminal.cleaned(data).encode(errors="backslashreplace")
    try:
        if appends:
            with Path(target).open("ab") as file:
                file.write(data)
            return
        write_atomic(Path(target), data, durable=False)
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror}") from error
