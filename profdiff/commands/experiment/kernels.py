"""The kernels that the options of ``record`` and ``plan`` ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from profdiff.base.errors import InputError

if TYPE_CHECKING:
    from profdiff.collectors.kernels.arguments import KernelArgument


def asked_kernels(
    options: dict[str, Any], context: click.Context
) -> tuple[list[KernelArgument], frozenset[str]]:
    """The kernels of ``--series`` and ``--kernel``, and the labels of those that may lack. Raises
    InputError when there are none."""
    from profdiff.collectors.kernels.arguments import parse_arguments
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
        raise InputError("no kernel: give --kernel at least twice, or --series BASE..TIP")
    if again := next((one for one in kernels if kernels.count(one) > 1), None):
        raise InputError(
            f"--kernel {again} is given twice: name another kernel, or --aa N records the base "
            "against itself"
        )
    return parse_arguments(kernels, repeated=True), frozenset()


def _is_default(context: click.Context, name: str) -> bool:
    """Whether the value of an option comes from an experiment file."""
    source = context.get_parameter_source(name)
    return source is click.core.ParameterSource.DEFAULT_MAP
