"""Programs as the sides of an experiment: one kernel, once for each program."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from profdiff.base.errors import InputError
from profdiff.collectors import registry
from profdiff.collectors.architecture import Architecture
from profdiff.collectors.kernels.kinds.registry import KernelArgument
from profdiff.collectors.records import Variant
from profdiff.collectors.workload import sides
from profdiff.collectors.workload.sides import Side
from profdiff.collectors.workload.workload import PreparedWorkload
from profdiff.recording import plan
from profdiff.session import manifest as m


def kernels(
    arguments: Sequence[KernelArgument], wanted: Mapping[str, Side]
) -> list[KernelArgument]:
    """The one kernel, once for each side, by its label. Raises InputError for several."""
    if len(arguments) > 1:
        raise InputError(
            f"--variant compares programs on one kernel, and --kernel gives {len(arguments)}: "
            "record each into a session of its own"
        )
    (kernel,) = arguments
    return [
        replace(kernel, label=label, variant=kernel.variant.also(Variant(program=side.told)))
        for label, side in wanted.items()
    ]


def refuse(
    wanted: Mapping[str, Side], collectors: Sequence[str], architecture: Architecture | None
) -> None:
    """Raise InputError for where programs cannot be compared."""
    if not wanted:
        return
    if architecture is None:
        raise InputError("--variant is for guests: a machine runs the programs that it has")
    if next(iter(wanted.values())).kind != "environment":
        return
    if alone := [name for name in collectors if not registry.collector(name).uses_agent]:
        raise InputError(
            f"--variant: {alone[0]} starts the command itself: write env NAME=VALUE in COMMAND, or "
            f"leave --collector {alone[0]} out"
        )


def described(
    known: Sequence[m.Kernel],
    workloads: Mapping[str, PreparedWorkload],
    shared: PreparedWorkload,
) -> list[m.Kernel]:
    """Kernels as the manifest names them, each with the files that it alone has."""
    own = sides.own_files(workloads, shared)
    return [
        m.replace(one, files=plan.describe_files(own.get(one.label, ()), one.label))
        for one in known
    ]
