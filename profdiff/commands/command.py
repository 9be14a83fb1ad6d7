"""A command of profdiff: mistakes in its words that click would take for something else, or would
tell in words of its own."""

import math
import os
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from profdiff.base.outputs import descriptor
from profdiff.base.terminal import tell


class _File(click.ParamType[str]):
    """A file to write: ``-`` is standard output by whatever name, since it may be at its end."""

    name = "file"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        return "-" if descriptor(Path(str(value))) == 1 else str(value)


class _Folder(click.ParamType[Path]):
    """A folder that is made if it is not there: where a link leads, which mkdir(2) does not
    follow."""

    name = "path"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Path:
        path = Path(str(value))
        is_away = path.is_symlink() and not path.exists()
        return Path(os.path.realpath(path)) if is_away else path


OUTPUT_FILE, OUTPUT_FOLDER = _File(), _Folder()


# What a number of seconds, or any, is written with.
_SECONDS = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "ms": 1e-3}
_MANY = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}
_NUMBER = re.compile(r"\s*(\d[\d_,]*(?:\.\d+)?(?:[eE]\d{1,2})?)\s*([A-Za-z%]*)", re.ASCII)
# How click writes a range, and a whole default of a number that may have a fraction.
_RANGE = re.compile(r"(?P<before>; |  \[)(?:[\d.e+-]+<=?)?x[<>]=?[\d.e+-]+\]$", re.ASCII)
_WHOLE = re.compile(r"(default: \d+)\.0\b", re.ASCII)
# A greater maximum only guards against slips.
_GUARD = 10**6
# As much of a mistake is told.
_MAX_TEXT = 200


# Of a command's help: options by heading, the ones that most people need first.
Headings = Mapping[str, Sequence[str]]


class Command(click.Command):
    """An option is given once, and with a value that is neither empty nor another option; what
    follows a COMMAND's first word is the COMMAND's. ``headings``: of its help, before other
    options."""

    def __init__(self, *arguments: Any, headings: Headings | None = None, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.headings = headings or {}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under their headings."""
        rows = {
            max(param.opts, key=len): row
            for param in self.get_params(ctx)
            if isinstance(param, click.Option) and (row := help_record(param, ctx))
        }
        for heading, names in self.headings.items():
            if shown := [rows.pop(name) for name in names if name in rows]:
                with formatter.section(heading):
                    formatter.write_dl(shown)
        with formatter.section("Other options" if self.headings else "Options"):
            formatter.write_dl([*rows.values()])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if ctx.resilient_parsing:  # a shell that completes words wants no errors
            return super().parse_args(ctx, args)
        given = self.checked(ctx, args)
        try:
            found = super().parse_args(ctx, args)
        except click.BadParameter as error:
            parameter = error.param
            value = given.get(_name(parameter)) if parameter else None
            if value is None and ctx.default_map:
                value = ctx.default_map.get(_name(parameter))
            if not parameter or not isinstance(value, str) or not _is_number(parameter):
                raise
            raise click.UsageError(_no_number(parameter, value)) from error
        for parameter in self.params:
            value = ctx.params.get(_name(parameter))
            if isinstance(value, float) and math.isnan(value):
                raise click.UsageError(_no_number(parameter, "nan"))
        return found

    def checked(self, ctx: click.Context, args: Sequence[str]) -> Mapping[str, object]:
        """What ``args`` give, by parameter. Raises UsageError for a mistake among them."""
        self._refuse_unseparated(ctx, args)
        try:
            given, rest, order = self.make_parser(ctx).parse_args(list(args))
        except click.BadOptionUsage as error:
            raise click.UsageError(self._without_value(ctx, error)) from error
        self._refuse_given(ctx, given, order)
        if rest:
            raise click.UsageError(self.too_many(ctx, rest[0], given))
        return given

    def _refuse_unseparated(self, ctx: click.Context, args: Sequence[str]) -> None:
        """Raise UsageError where an option, or --, stands behind COMMAND's first word: whose option
        it is cannot be told."""
        if not any(param.name == "command" for param in self.params):
            return
        parser = self.make_parser(ctx)
        parser.allow_interspersed_args = False
        try:
            words = parser.parse_args(list(args))[0].get("command")
        except click.UsageError:
            return
        if not isinstance(words, tuple) or not words:
            return
        if "--" in args and list(args[args.index("--") + 1 :]) == list(words):
            return
        option = next((word for word in words if len(word) > 1 and word.startswith("-")), None)
        if option is None:
            return
        form = f"{ctx.command_path} OPTIONS -- "
        if "--" in words:
            behind = shlex.join(words[words.index("--") + 1 :])
            raise click.UsageError(
                f"{words[0]} comes before --, but no option takes it: write {form}{behind}"
            )
        whole = f"{form}{shlex.join(words)}"[:_MAX_TEXT]
        raise click.UsageError(
            f"{option} comes after the workload {words[0]}: write -- before the workload, and "
            f"profdiff's own options before that: {whole}"
        )

    def _refuse_given(
        self, ctx: click.Context, given: Mapping[str, object], order: Sequence[click.Parameter]
    ) -> None:
        times = Counter(one.name for one in order)
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        names = {name for option in options for name in (*option.opts, *option.secondary_opts)}
        for parameter in self.params:
            if parameter.name == "command":
                continue
            several = not isinstance(parameter, click.Option) or parameter.multiple
            if not several and times[parameter.name] > 1 and not _is_flag(parameter):
                told, last = _told(parameter), given.get(_name(parameter))
                # A number that stands behind another one replaces it, as in an alias.
                if not _is_number(parameter):
                    raise click.UsageError(f"{told} is given twice: write it once")
                tell(f"note: {told} is given twice: {last} counts")
            for value in _values(given.get(_name(parameter))):
                self._refuse_value(ctx, parameter, value, names)

    def _refuse_value(
        self, ctx: click.Context, parameter: click.Parameter, value: str, names: set[str]
    ) -> None:
        told, form = _told(parameter), _form(parameter)
        arguments = parameter.metavar == "ARGUMENTS"
        if not value.strip() and not arguments:
            raise click.UsageError(
                f"{told} is empty: write {form} (an unset variable of the shell is empty)"
            )
        if value == "--" or (value.partition("=")[0] in names and not arguments):
            raise click.UsageError(f"{told} lacks its value: write {form} before {value}")

    def _without_value(self, ctx: click.Context, error: click.BadOptionUsage) -> str:
        for param in self.get_params(ctx):
            if error.option_name in (*param.opts, *param.secondary_opts):
                if _is_flag(param):
                    return f"{error.option_name} takes no value: write it alone"
                return f"{error.option_name} lacks its value: write {_form(param)}"
        return error.format_message()

    def too_many(
        self, ctx: click.Context, word: str, given: Mapping[str, object] | None = None
    ) -> str:
        """What is said of an argument that the command does not take, with the option that it may
        be the value of; ``given``: what options have, by parameter."""
        takes = any(isinstance(param, click.Argument) for param in self.params)
        for option in self.params:
            lacks = not isinstance((given or {}).get(_name(option)), (str, tuple, list))
            needed = lacks and isinstance(option, click.Option) and option.required
            if needed or ("--kernel" in option.opts and not takes):
                name = _told(option)
                return f"{ctx.command_path} takes no {word} by itself: write {name} {word}"
        usage = " ".join([ctx.command_path, *self.collect_usage_pieces(ctx)])
        return f"{word} is one argument too many: {usage}"


def help_record(parameter: click.Parameter, ctx: click.Context) -> tuple[str, str] | None:
    """Its row of the help, or None if it is hidden or an argument; of a range the bounds that a
    user may meet, in words."""
    row = parameter.get_help_record(ctx)
    if row is None or not _is_number(parameter):
        return row
    bounds = _bounds(parameter.type)
    told = _WHOLE.sub(r"\1", _RANGE.sub(lambda found: _extra(found["before"], bounds), row[1]))
    return row[0], told


def _extra(before: str, bounds: str) -> str:
    """The end of an option's extras: behind others, or alone in their brackets."""
    if bounds:
        return f"{before}{bounds}]"
    return "]" if before == "; " else ""


def _bounds(kind: click.ParamType[Any]) -> str:
    assert isinstance(kind, (click.IntRange, click.FloatRange))  # noqa: S101
    if kind.max is not None and kind.max < _GUARD:
        return f"{kind.min or 0:,.15g} to {kind.max:,.15g}"
    return f"at least {kind.min:,.15g}" if kind.min is not None and kind.min > 1 else ""


command = partial(click.command, cls=Command)
"""``click.command`` for one of profdiff's."""


def _values(given: object) -> Iterator[str]:
    for one in given if isinstance(given, (list, tuple)) else [given]:
        if isinstance(one, str):
            yield one


def _name(parameter: click.Parameter | None) -> str:
    return (parameter.name if parameter else None) or ""


def _told(parameter: click.Parameter) -> str:
    """How a message names it."""
    return max(parameter.opts, key=len) if isinstance(parameter, click.Option) else _meta(parameter)


def _meta(parameter: click.Parameter) -> str:
    return parameter.metavar or (parameter.name or "").upper()


def _form(parameter: click.Parameter) -> str:
    """How it is written: ``--json FILE``."""
    if not isinstance(parameter, click.Option):
        return _meta(parameter)
    kind = parameter.type
    choices = "|".join(map(str, kind.choices)) if isinstance(kind, click.Choice) else ""
    return f"{_told(parameter)} {parameter.metavar or choices or kind.name.upper()}"


def _is_flag(parameter: click.Parameter) -> bool:
    return isinstance(parameter, click.Option) and parameter.is_flag


def _is_number(parameter: click.Parameter) -> bool:
    return isinstance(parameter.type, (click.IntRange, click.FloatRange))


def _no_number(parameter: click.Parameter, value: str) -> str:
    """What to write instead of ``value``."""
    kind = parameter.type
    assert isinstance(kind, (click.IntRange, click.FloatRange))  # noqa: S101
    whole = isinstance(kind, click.IntRange)
    what = "a whole number" if whole else "a number"
    if parameter.metavar == "SECONDS":
        what += " of seconds"
    if kind.max is not None:
        what += f" from {kind.min or 0:,.15g} to {kind.max:,.15g}"
    elif kind.min is not None:
        what += f" of at least {kind.min:,.15g}"
    meant = _meant(parameter, value)
    least, most = kind.min or 0, math.inf if kind.max is None else kind.max
    if meant is None or not least <= meant <= most or (whole and meant != int(meant)):
        return f"{_told(parameter)} {value[:_MAX_TEXT]}: write {what}"
    return f"{_told(parameter)} {value}: write {what}: {_told(parameter)} {meant:.15g}"


def _meant(parameter: click.Parameter, value: str) -> float | None:
    """The number that a number with a unit, or with separators, is."""
    match = _NUMBER.fullmatch(value)
    if not match:
        return None
    units = _SECONDS if parameter.metavar == "SECONDS" else _MANY
    number = float(re.sub("[_,]", "", match[1])) * units.get(match[2], 1)
    return None if math.isinf(number) else number
