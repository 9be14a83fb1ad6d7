"""The options that say what of a recording a command shows, and in which forms."""

import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from profdiff.base import terminal, units
from profdiff.base.errors import InputError
from profdiff.commands.command import OUTPUT_FILE
from profdiff.commands.recording import works_on
from profdiff.forms.columns import MIN_WIDTH
from profdiff.reports.form import (
    DEFAULT_TOP,
    Files,
    Form,
    ReportOptions,
    Subject,
    refuse_per_op,
    text,
    write_files,
)
from profdiff.reports.forms import FORMS
from profdiff.topics.functions.selection import Selection

if TYPE_CHECKING:
    from profdiff.evidence.conditions.condition import Condition, Judgement
    from profdiff.evidence.findings import LazyFindings
    from profdiff.shapes.table import Section


# Options of every text.
TOP = click.option(
    "--top",
    type=click.IntRange(0),
    metavar="N",
    help=f"Show at most N rows.  [default: {DEFAULT_TOP}]",
)
PER_OP = works_on(
    "--per-op/--absolute",
    held=("session", "parts"),
    values=[False],
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
    works_on(
        "--sort",
        held=("session", "parts"),
        values=("total-delta", "self", "total"),
        type=click.Choice(["delta", "total-delta", "self", "total", "name"]),
        default="delta",
        show_default=True,
        help="Sort rows by this column, largest absolute value first.",
    ),
    TOP,
    works_on(
        "--min-delta",
        held=("session", "parts"),
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
    works_on(
        "--metric",
        held=["session"],
        metavar="[COLLECTOR:]NAME",
        help="Show only this metric.  [default: all; the first in a form that shows one]",
    ),
    ASCII,
]


# Forms of a session that say themselves what a reader must know.
_PROSE = {"text", "html", "json"}


class Output(NamedTuple):
    """What the options ask for. ``targets``: of each form asked for, "" for its default."""

    asked: ReportOptions
    targets: Mapping[str, str]

    def write(self, subject: Subject[Any]) -> None:
        """Write the forms that were asked for, or else print the text. Raises InputError."""
        held = subject.recording.held
        if self.asked.per_op and held != "suite" and subject.find().ops is None:
            refuse_per_op()
        if held == "session":
            self._refuse_profiles(subject)
        write_forms(FORMS, self.targets or {"text": "-"}, subject)
        if held == "session" and self.targets.keys() - _PROSE:
            _tell_blind(subject)
        if held == "session" and "csv" in self.targets and "csv-experiment" not in self.targets:
            found = subject.find().findings
            if found.results.swept:
                terminal.tell(
                    f"--csv has the functions at {found.setting.title}; --csv-experiment FILE has "
                    "the metrics of every point"
                )

    def write_instead(self, option: str, forms: Sequence[Form], subject: Subject[Any]) -> None:
        """Write what ``option`` shows instead of the report, in the forms that were asked for, or
        else as text. Raises InputError for a form that it does not have."""
        known = {form.name for form in forms}
        if self.asked.metric is not None:
            raise InputError(f"{option} does not depend on a metric: leave --metric out")
        for name in self.targets:
            if name not in known:
                able = units.listed(f"--{one}" for one in sorted(known))
                raise InputError(f"{option} cannot be written with --{name}: use {able}")
        write_forms(forms, self.targets or {"text": "-"}, subject)
        _tell_blind(subject)

    def _refuse_profiles(self, subject: "Subject[LazyFindings]") -> None:
        """Raise InputError where a form shows a profile, and there is none."""
        for form in FORMS:
            if form.profile and form.name in self.targets:
                if subject.find().findings.comparisons:
                    return
                from profdiff.collectors import registry

                able = " or ".join(n for n, one in registry.recording().items() if one.profiles)
                raise InputError(
                    f"--{form.name} needs a profile, which no run of this session has: record with "
                    f"--collector {able}, or use --csv-experiment for what it has"
                )


def _tell_blind(subject: Subject[Any]) -> None:
    """Say what no kernel shows because one lacks it, beside forms that have no place for it."""
    from profdiff.session import inlines

    for session in subject.recording.sessions().values():
        for line in inlines.told(session.compared):
            terminal.tell(f"note: {line}")


def form_options(forms: Sequence[Form]) -> list[Callable[..., Any]]:
    """The options of forms; ``targets`` takes their values."""
    optional: dict[str, Any] = {"is_flag": False, "flag_value": ""}
    return [
        works_on(
            f"--{form.name}",
            f"form_{form.name.replace('-', '_')}",
            metavar=form.takes,
            type=OUTPUT_FILE,
            help=form.help,
            held=tuple(form.render),
            instead=form.instead,
            **(optional if form.default else {}),
        )
        for form in forms
    ]


def targets(forms: Sequence[Form], values: dict[str, Any]) -> dict[str, str]:
    """Where each form that was asked for goes; the options' values are taken from ``values``."""
    given = {form.name: values.pop(f"form_{form.name.replace('-', '_')}") for form in forms}
    return {name: target for name, target in given.items() if target is not None}


def output_options(
    command: Callable[..., Any], forms: Sequence[Form] = FORMS
) -> Callable[..., Any]:
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
        metric: str | None,
        **others: Any,
    ) -> Any:
        if kernel_only and user_only:
            raise InputError("--kernel-only and --user-only cannot be used together")
        selection = Selection(
            sort, top, min_delta, "kernel" if kernel_only else "user" if user_only else None
        )
        asked = ReportOptions(selection, per_op, width, ascii_only, ratios, metric)
        return command(output=Output(asked, targets(forms, others)), **others)

    functools.update_wrapper(with_output, command)
    return with_options([*_SELECTION, *form_options(forms)], with_output)


def with_options(
    options: Sequence[Callable[..., Any]], command: Callable[..., Any]
) -> Callable[..., Any]:
    """Give a command options, in the order of its help."""
    for option in reversed(options):
        command = option(command)
    return command


def write_forms(forms: Sequence[Form], targets: Mapping[str, str], subject: Subject[Any]) -> None:
    """Write each form that ``targets`` names. Files that are given no name have the recording's,
    and are told. Raises InputError."""
    name, held = subject.recording.stem, subject.recording.held
    wanted = [
        (form, targets[form.name] or (form.default(name) if form.default else ""))
        for form in forms
        if form.name in targets
    ]
    refuse_outputs({form.name: target for form, target in wanted})
    for form, target in wanted:
        made = form.render[held](subject, target)
        if isinstance(made, (str, bytes)):
            write(target, made)
        elif made is not None:
            _write_files(form, target, made)
        if not targets[form.name] and target != "-":
            taken = any(other == "-" for _, other in wanted)
            (terminal.tell if taken else terminal.say)(target)


def refuse_outputs(targets: Mapping[str, str | None]) -> None:
    """Raise InputError where a file that one option writes would go with the next. ``targets``: by
    the option's name."""
    if [*targets.values()].count("-") > 1:
        raise InputError("only one file can go to standard output (-)")
    known: dict[Path, str] = {}
    for name, target in targets.items():
        place = Path(os.path.realpath(target or ""))
        if not target or target == "-" or (place.exists() and not place.is_file()):
            continue
        if other := known.get(place):
            raise InputError(f"--{other} and --{name} write the same file: {target}")
        known[place] = name


def refuse_inputs(outputs: Iterable[str | None], inputs: Iterable[Path]) -> None:
    """Raise InputError where a file that is read is to be written, too."""
    read = [one for one in inputs if one.is_file()]
    for path in map(Path, filter(None, outputs)):
        if path.is_file() and any(path.samefile(one) for one in read):
            raise InputError(f"cannot write {path}: this command reads it: name another file")


def write_or_show(
    files: Sequence[tuple[str | None, Callable[[], str | bytes]]],
    options: ReportOptions,
    show: Callable[[int], str],
) -> None:
    """Write the files that have a target; the text, of a width, where none has. Raises
    InputError."""
    made = [(target, make()) for target, make in files if target]
    for target, data in made:
        write(target, data)
    if not made:
        write("-", text(options, "-", lambda _, width: show(width)))


class TableOutput(NamedTuple):
    """Where a command writes tables that belong to no recording, or that it alone shows.
    ``targets``: of each form; ``conditions``: what is judged, and told in place of the text."""

    targets: Mapping[str, str | None]
    conditions: "Sequence[Condition]"
    asked: ReportOptions

    def limited(self, top: int | None) -> "TableOutput":
        """With as many rows in text and page."""
        selection = self.asked.selection._replace(top=top)
        return self._replace(asked=self.asked._replace(selection=selection))

    def write(
        self,
        section: "Section",
        heading: str,
        judge: "Callable[[Sequence[Condition]], Sequence[Judgement]]",
        *,
        suite: bool = False,
    ) -> int:
        """Write a section in the forms that were asked for, or else as text. Returns the exit
        status, of what ``judge`` makes of the conditions, where there are some. ``heading``: of the
        page; ``suite``: whether conditions are judged in its cells. Raises InputError."""
        from profdiff.evidence.conditions.condition import Checked, exit_status
        from profdiff.forms import csv, json
        from profdiff.forms import text as text_form
        from profdiff.shapes.selected import selected
        from profdiff.views.document import topic_document
        from profdiff.views.rows import judgements

        def page() -> bytes:
            from profdiff.reports.page.html import tables_page

            return tables_page(selected(section, self.asked.selection.top), heading)

        def show(width: int) -> str:
            top = self.asked.for_text("-").selection.top
            return text_form.render(selected(section, top), width=width)

        judged = judge(self.conditions) if self.conditions else []
        if self.conditions:
            taken = "-" in self.targets.values()
            say = terminal.tell if taken else terminal.say
            text = judgements.told(Checked(judged), suite=suite).removesuffix("\n")
            say(units.ascii_only(text) if self.asked.ascii_only else text)
        makes: list[Callable[[], str | bytes]] = [
            lambda: csv.tables(section.tables),
            lambda: json.render(topic_document(section)),
            page,
        ]
        files = [*zip(self.targets.values(), makes, strict=True)]
        if not self.conditions or any(self.targets.values()):
            write_or_show(files, self.asked, show)
        return exit_status(judged)


def table_options(judges: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options of tables, as one argument ``tables``. ``judges``: the help of
    its conditions."""
    forms = {"csv": "all rows as CSV", "json": "all rows as JSON", "html": "a web page"}
    options = [
        click.option(
            f"--{name}",
            metavar="FILE",
            type=OUTPUT_FILE,
            help=f"Write {what} (-: standard output).",
        )
        for name, what in forms.items()
    ]
    options.append(
        click.option("--fail-if", "texts", multiple=True, metavar="CONDITION", help=judges)
    )

    def given(command: Callable[..., Any]) -> Callable[..., Any]:
        def with_output(
            *, texts: Sequence[str], width: int | None, ascii_only: bool, **others: Any
        ) -> Any:
            from profdiff.evidence.conditions.condition import Condition

            targets = {name: others.pop(name) for name in forms}
            refuse_outputs(targets)
            asked = ReportOptions(width=width, ascii_only=ascii_only)
            conditions = [Condition.parse(text) for text in texts]
            return command(tables=TableOutput(targets, conditions, asked), **others)

        # What click knows of options that stand below.
        functools.update_wrapper(with_output, command)
        return with_options([*options, WIDTH, ASCII], with_output)

    return given


def _write_files(form: Form, target: str, files: Files) -> None:
    """One file for each kernel, with its label in the name where there are several."""
    if len(files) == 1:
        write(target, files[0][1]())
        return
    if target == "-":
        raise InputError(f"--{form.name} -: with several kernels, stacks go to files: name a FILE")
    path = Path(target)
    write_files(
        (path.with_name(f"{path.stem}.{label}{path.suffix}"), make()) for label, make in files
    )


def write(target: str, data: str | bytes) -> None:
    """Write a file whole or not at all; ``-`` is standard output. Raises InputError."""
    if target == "-":
        terminal.say(data, end="") if isinstance(data, str) else terminal.put(data)
        return
    if target.endswith("/"):
        raise InputError(f"cannot write {target}: that names a folder: name a file")
    write_files([(Path(target), data)])
