"""What the values of an experiment's options are, as click reads them: kernels and ``--shard`` too.
A suite has its own shards (``recording.suites``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from profdiff.base import units
from profdiff.base.errors import InputError
from profdiff.collectors import registry
from profdiff.collectors.architecture import ARCHITECTURES, Architecture, named
from profdiff.commands import complete
from profdiff.commands.experiment.file import GivenSuite

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from profdiff.collectors.kernels.kinds.registry import KernelArgument
    from profdiff.collectors.workload.sides import Side
    from profdiff.recording.experiment import Experiment
    from profdiff.recording.experiments import Experiments
    from profdiff.recording.schedule import Chosen
    from profdiff.recording.shard import Shard


_MAX_NOUN = 64


class Memory(click.ParamType[int]):
    """MiB, or with a suffix: 512, 512M, 2G."""

    name = "size"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        if isinstance(value, int):
            return value
        size = units.mebibytes(str(value))
        if size is None:
            self.fail(f"{value!r} is not a size: write 512M or 2G", param, ctx)
        if size < 64:
            self.fail("a guest needs at least 64M", param, ctx)
        return size


class Noun(click.ParamType[str]):
    """What an op is: a few words on a line."""

    name = "noun"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        text = " ".join(str(value).split())
        if not text.isprintable() or len(text) > _MAX_NOUN:
            self.fail(f"give at most {_MAX_NOUN} printable characters", param, ctx)
        return text


class Collectors(click.ParamType[list[str]]):
    """Names of collectors, separated by commas."""

    name = "collectors"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[str]:
        names = value if isinstance(value, list) else str(value).split(",")
        known = registry.recording()
        if unknown := [name for name in names if name not in known]:
            self.fail(f"{unknown[0]!r} is not a collector ({', '.join(known)})", param, ctx)
        return names

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return complete.listed(incomplete, registry.recording())


class Names(click.ParamType[list[Architecture]]):
    """Names of architectures, separated by commas."""

    name = "architectures"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[Architecture]:
        names = str(value).split(",") if not isinstance(value, list) else value
        known = {name: named(name) for name in names}
        for name, one in known.items():
            if one is None:
                every = ", ".join(architecture.arch for architecture in ARCHITECTURES)
                self.fail(f"{name!r} is not an architecture ({every})", param, ctx)
        return list(dict.fromkeys(one for one in known.values() if one))

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return complete.listed(incomplete, (one.arch for one in ARCHITECTURES))


class Compilers(click.ParamType[list[str]]):
    """Names of compilers, separated by commas."""

    name = "compilers"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[str]:
        from profdiff.session.held import is_compiler

        names = str(value).split(",") if not isinstance(value, list) else value
        for name in names:
            if not is_compiler(name):
                self.fail(f"{name!r}: name a compiler as PATH has it: gcc-14", param, ctx)
        return list(dict.fromkeys(names))


class Cpus(click.ParamType[list[int]]):
    """Numbers of vCPUs, separated by commas."""

    name = "cpus"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[int]:
        if isinstance(value, list):
            return value
        numbers = [
            int(part) for part in str(value).split(",") if part.isdecimal() and len(part) < 4
        ]
        if len(numbers) != len(str(value).split(",")) or not all(0 < n < 256 for n in numbers):
            self.fail(f"{value!r}: write numbers from 1 to 255, separated by commas", param, ctx)
        return list(dict.fromkeys(numbers))


def asked_kernels(
    options: dict[str, Any], context: click.Context
) -> tuple[list[KernelArgument], frozenset[str], dict[str, Side]]:
    """The kernels of ``--series`` and ``--kernel``, the labels of those that may lack, and by label
    the programs of ``--variant``, each of which is given the kernel. Raises InputError."""
    from profdiff.collectors.workload import sides
    from profdiff.recording import programs

    wanted = sides.parse(options["variants"])
    if wanted and GivenSuite.of(context):
        raise InputError("--variant compares programs of one COMMAND: a suite has several")
    for name in ("series", "architectures", "compilers"):
        if wanted and options[name]:
            told = name.removesuffix("itectures")
            raise InputError(f"--variant compares programs on one kernel: leave --{told} out")
    found, series = _kernels(options, context)
    return programs.kernels(found, wanted) if wanted else found, series, wanted


def _kernels(
    options: dict[str, Any], context: click.Context
) -> tuple[list[KernelArgument], frozenset[str]]:
    from profdiff.collectors.kernels.kinds.registry import parse_arguments
    from profdiff.recording.series import Series

    text, kernels = options["series"], list(options["kernels"])
    # What the command line says of kernels replaces what an experiment file says of them.
    if text and kernels and _is_default(context, "kernels") != _is_default(context, "series"):
        text, kernels = (None, kernels) if _is_default(context, "series") else (text, [])
    if text:
        series = Series.parse(text).kernels()
        every = parse_arguments([*series, *kernels], repeated=True)
        return every, frozenset(one.label for one in every[1 : len(series)])
    if not kernels:
        times = "" if options["variants"] else " at least twice, or --series BASE..TIP"
        raise InputError(f"no kernel: give --kernel{times}")
    if again := next((kernel for kernel in kernels if kernels.count(kernel) > 1), None):
        raise InputError(
            f"--kernel {again} is given twice: name another kernel, or --aa N records the base "
            "against itself"
        )
    return parse_arguments(kernels, repeated=True), frozenset()


def _is_default(context: click.Context, name: str) -> bool:
    """Whether the value of an option comes from an experiment file."""
    source = context.get_parameter_source(name)
    return source is click.core.ParameterSource.DEFAULT_MAP


def wanted_shard(options: dict[str, Any]) -> Shard | None:
    """The shard that the values of ``experiment_options`` ask for, None for the whole. Where none
    is given, ``output`` becomes a folder of its own. Raises InputError."""
    from profdiff.recording.experiments import session_folder
    from profdiff.recording.shard import Shard

    if not options["shard"]:
        return None
    shard = Shard.parse(options["shard"])
    if options["output"] is None and options["command"]:
        whole = session_folder(None, options["command"])
        options["output"] = Path(f"{whole.stem}{shard.suffix}.profdiff")
    return shard


def of_shard(shard: Shard | None, asked: Experiments) -> Experiments:
    """The same, whose sessions say that they are a shard."""
    from profdiff.session import manifest as m

    if shard is None:
        return asked
    told = f"{shard.number}/{shard.of}"
    each = [replace(one, planned=m.replace(one.planned, shard=told)) for one in asked.each]
    return replace(asked, each=each)


def chosen_runs(shard: Shard | None, each: Sequence[Experiment]) -> list[Chosen | None]:
    """Which runs of each experiment are a shard's; None: all are."""
    if shard is None:
        return [None for _ in each]
    # The folder of the only one is the shard's own, of which the division knows nothing.
    plans = {one.folder.name if len(each) > 1 else "": one.planned for one in each}
    points = {name: set(range(len(plan.points))) for name, plan in plans.items()}
    runs = shard.runs(plans, points)
    return [runs[name].__contains__ for name in plans]
