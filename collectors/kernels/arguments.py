"""What a user writes for a kernel, ``[LABEL=]SPEC``, taken apart (``docs/kernels.md``)."""

from collections.abc import Sequence
from dataclasses import dataclass

from profdiff.base.errors import InputError
from profdiff.collectors.kernels.kinds.registry import derive_label, parse
from profdiff.collectors.kernels.kinds.spec import Spec
from profdiff.collectors.kernels.label import labelled


@dataclass(frozen=True)
class KernelArgument:
    """A kernel as named on the command line."""

    label: str
    spec: Spec


def parse_arguments(texts: Sequence[str], *, repeated: bool = False) -> list[KernelArgument]:
    """Kernels, each with a label. ``repeated``: a label may be given several times. Raises
    InputError for a SPEC that is empty or malformed, and for a label given twice."""
    found = labelled(texts, derive_label)
    arguments = [KernelArgument(label, parse(spec)) for label, spec in found]
    return arguments if repeated else once(arguments)


def once(arguments: Sequence[KernelArgument]) -> list[KernelArgument]:
    """``arguments``. Raises InputError for a label given twice."""
    labels = [one.label for one in arguments]
    if again := next((name for name in labels if labels.count(name) > 1), None):
        raise InputError(f"--kernel: the label {again} is given twice")
    return list(arguments)
