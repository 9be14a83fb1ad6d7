"""The experiment file: TOML whose keys are the options of ``record``, as defaults of its command.

A value is written as TOML has it; a list is what the option takes with commas or several times, a
table what it takes as NAME=VALUE. Paths that exist beside the file are meant from there.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from profdiff.base.errors import InputError
from profdiff.commands.command import Command
from profdiff.commands.suite_file import (
    SuiteEntry,
    SuiteFile,
    installed,
    is_suite,
    load,
    located,
    read,
)

DEFAULT_FILE = Path("profdiff.toml")
# Options whose values may begin with a path; LABEL= or nothing stands before it.
_PATHS = {"kernel", "series", "file", "qemu", "metric-sample", "sysroot", "variant", "replay"}
# Options that only the command line has.
_NO_KEYS = {"experiment", "everything", "yes", "suite", "only", "tags", "shard"}
# Where a context keeps the suite that its options are of, and the words that it was given.
_SUITE, _WORDS = "profdiff.suite", "profdiff.words"


@dataclass(frozen=True)
class GivenSuite:
    """A suite that was asked for. ``arguments`` of the command line; ``outer``: values by parameter
    that hold for all its workloads."""

    file: SuiteFile
    arguments: list[str]
    outer: Mapping[str, Any]

    def only(self, name: str) -> list[str]:
        """Options that choose the cells of one of its workloads."""
        others = [one.told.name for one in self.file.entries if one.told.name != name]
        alone = not any(other.startswith(name) for other in others)
        patterns = [f"{name}*"] if alone else [name, f"{name}[/@]*"]
        return [word for pattern in patterns for word in ("--only", pattern)]

    @staticmethod
    def of(ctx: click.Context) -> "GivenSuite | None":
        """The one that a command's options are of; None if they are of one workload."""
        found: GivenSuite | None = ctx.meta.get(_SUITE)
        return found

    @staticmethod
    def add(ctx: click.Context, words: list[str]) -> None:
        """Put words in front of the arguments of each workload, where there is a suite."""
        if found := GivenSuite.of(ctx):
            ctx.meta[_SUITE] = replace(found, arguments=[*words, *found.arguments])


class ExperimentCommand(Command):
    """A command whose options have their defaults from ``--experiment FILE``, or from profdiff.toml
    in the current folder where no COMMAND is given; or of which each workload of ``--suite`` has
    its own."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if ctx.resilient_parsing:
            given: Mapping[str, object] = self.make_parser(ctx).parse_args(list(args))[0]
        else:
            given = self.checked(ctx, args)
        command, file, suite = (given.get(name) for name in ("command", "experiment", "suite"))
        commanded = isinstance(command, tuple) and bool(command)
        # What was not given is neither a string nor a tuple, but click's own mark.
        if not isinstance(file, str):
            others = (suite, given.get("replay"))
            alone = not commanded and not any(isinstance(one, str) for one in others)
            by_default = alone and DEFAULT_FILE.is_file()
            file = str(DEFAULT_FILE) if by_default else None
        ctx.default_map = {}
        ctx.meta[_WORDS] = list(args)
        if file is not None:
            content = read(Path(file))
            if is_suite(content):
                self._take_suite(ctx, args, load(Path(file), self))
            else:
                ctx.default_map = self.values(Path(file), content)
        # A shell that completes words wants no errors.
        if isinstance(suite, str) and not ctx.resilient_parsing:
            if _SUITE in ctx.meta:
                raise InputError(f"{file} is a suite: leave --experiment or --suite out")
            self._take_suite(ctx, args, load(located(suite), self))
        if commanded and _SUITE in ctx.meta:
            raise InputError("a suite has commands of its own: leave COMMAND out")
        return super().parse_args(ctx, args)

    def defaults(self, file: Path) -> dict[str, Any]:
        """The values of ``file`` by parameter. Raises InputError."""
        return self.values(file, read(file))

    def _take_suite(self, ctx: click.Context, args: list[str], suite: SuiteFile) -> None:
        if "suite" not in (parameter.name for parameter in self.params):
            raise InputError(f"{ctx.command_path} records one workload, but that file has several")
        outer = {**(ctx.default_map or {}), **suite.values}
        ctx.default_map = outer
        ctx.meta[_SUITE] = GivenSuite(suite, list(args), outer)

    def values(self, file: Path, keys: Mapping[str, Any]) -> dict[str, Any]:
        """The values of a file's keys by parameter. Raises InputError."""
        return {
            parameter.name or "": _value(file, key, value, parameter)
            for key, value in keys.items()
            for parameter in [self._parameter(file, key)]
        }

    def context_of(
        self, ctx: click.Context, suite: "GivenSuite", entry: SuiteEntry
    ) -> click.Context:
        """The context with the options of one workload of the suite: those of the command line,
        then its own, then its file's. Raises InputError."""
        own = click.Context(self, info_name=ctx.info_name, parent=ctx.parent)
        own.default_map = {**suite.outer, **entry.values}
        try:
            super().parse_args(own, list(suite.arguments))
        except click.UsageError as error:
            raise InputError(f"workload {entry.told.name}: {error.format_message()}") from error
        return own

    def typed(
        self, ctx: click.Context, suite: "GivenSuite | None" = None, name: str = ""
    ) -> list[str]:
        """The words of a command line that asks for what ``ctx`` asks for, without a file; of
        the workload ``name`` of a built-in ``suite``, with that."""
        words = suite.arguments if suite else ctx.meta.get(_WORDS, [])
        given: Mapping[str, Any] = self.make_parser(ctx).parse_args(list(words))[0]
        built_in = given.get("suite") if suite and given.get("suite") in installed() else None
        left_out = _NO_KEYS | ({"output"} if suite else set())
        options = ["--suite", built_in, *suite.only(name)] if suite and built_in else []
        command: list[str] = []
        for parameter in self.params:
            key = parameter.name or ""
            source = ctx.get_parameter_source(key)
            if source is ParameterSource.COMMANDLINE:
                value = given[key]
            elif source is ParameterSource.DEFAULT_MAP and not built_in:
                value = (ctx.default_map or {})[key]
            else:
                continue
            if isinstance(parameter, click.Argument):
                command = list(value)
            elif isinstance(parameter, click.Option) and key not in left_out:
                options += _as_typed(parameter, value)
        return ["profdiff", ctx.info_name or "", *options, *(["--", *command] if command else [])]

    def _parameter(self, file: Path, key: str) -> click.Parameter:
        known: dict[str, click.Parameter] = {}
        for parameter in self.params:
            if isinstance(parameter, click.Argument):
                known["command"] = parameter
            for option in parameter.opts:
                if option.startswith("--") and parameter.name not in _NO_KEYS:
                    known[option.removeprefix("--")] = parameter
        name = key.replace("_", "-")
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f": did you mean {near[0]}?" if near else f" (known: {', '.join(sorted(known))})"
            raise InputError(f"{file}: unknown key {key}{hint}")
        return known[name]


def _as_typed(option: click.Option, value: Any) -> list[str]:
    """The words that give an option a value."""
    spelled = next((name for name in option.opts if name.startswith("--")), option.opts[0])
    if option.is_flag:
        return [spelled] if value else list(option.secondary_opts[:1])
    values = value if option.multiple else [value]
    return [word for one in values for word in (spelled, str(one))]


def _value(file: Path, key: str, value: object, parameter: click.Parameter) -> object:
    """A value as click takes a default of ``parameter``."""
    name = key.replace("_", "-")
    if name == "command":
        if not isinstance(value, list):
            raise InputError(f"{file}: {key} must be a list")
        words = _texts(file, key, value)
        return [_from(file, words[0]), *words[1:]] if words else []
    if isinstance(parameter, click.Option) and parameter.is_flag:
        if not isinstance(value, bool):
            raise InputError(f"{file}: {key} must be true or false")
        return value
    if isinstance(value, Mapping):
        texts = [f"{one}={','.join(_texts(file, key, its))}" for one, its in value.items()]
    else:
        texts = _texts(file, key, value)
    if name == "kernel":
        texts = [_kernel_from(file, text) for text in texts]
    elif name in _PATHS:
        texts = [_from(file, text) for text in texts]
    return texts if parameter.multiple else ",".join(texts)


def _texts(file: Path, key: str, value: object) -> list[str]:
    return [_text(file, key, one) for one in (value if isinstance(value, list) else [value])]


def _text(file: Path, key: str, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InputError(f"{file}: {key} holds a value that is neither text nor a number")
    # TOML's integers are of 64 bits, its parser's are not.
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise InputError(f"{file}: {key} holds a number that is too large")
    text = str(value)
    if "\0" in text:
        raise InputError(f"{file}: {key} contains a NUL character, which an argument cannot have")
    return text


def _kernel_from(file: Path, text: str) -> str:
    """The same of ``[LABEL=]SPEC``, whose guest may be given something."""
    from profdiff.collectors.kernels.variant import split, suffix

    bare, variant = split(text)
    return f"{_from(file, bare)}{suffix(variant)}"


def _from(file: Path, text: str) -> str:
    """``[LABEL=]PATH...`` with a path that exists beside ``file`` as seen from here."""
    from profdiff.collectors.kernels.kinds import registry

    label, equals, path = text.partition("=")
    # In debian:SUITE,arch=ARCH, what stands before = is not a label.
    if not equals or "/" in label or ":" in label:
        label, equals, path = "", "", text
    if (spec := registry.beside(path, file.parent)) is not None:
        return f"{label}{equals}{spec}"
    first, *rest = path.split(":" if ":" in path else ",", 1)
    beside = file.parent / first
    if first and not Path(first).is_absolute() and _exists(beside) and file.parent != Path():
        separator = path[len(first) : len(first) + 1]
        path = separator.join([os.path.relpath(beside), *rest])
        if "/" not in path:
            path = f"./{path}"
    return f"{label}{equals}{path}"


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name that is too long
        return False
