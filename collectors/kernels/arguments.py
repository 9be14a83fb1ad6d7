"""What a user writes for a kernel, ``[LABEL=]SPEC``, taken apart (``docs/kernels.md``)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from profdiff.base.errors import InputError
from profdiff.collectors.kernels.kinds.registry import derive_label, parse
from profdiff.collectors.kernels.kinds.spec import Spec
from profdiff.collectors.kernels.label import is_label


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


def labelled(
    texts: Sequence[str], derive: Callable[[str], str], option: str = "--kernel"
) -> list[tuple[str, str]]:
    """Labels, and what stands behind them in ``[LABEL=]TEXT``. A label that is not given is derived
    from the text, and unique; one that is given may come again. ``option`` is for messages. Raises
    InputError where a text or a label cannot be one."""
    split = [_split(text, option) for text in texts]
    taken = {label for label, _ in split if label}
    found = []
    for label, text in split:
        chosen = label or _unique(derive(text), taken)
        taken.add(chosen)
        found.append((chosen, text))
    return found


def _split(text: str, option: str) -> tuple[str | None, str]:
    before, equals, after = text.partition("=")
    # In IMAGE,vmlinux=ELF and in paths, what stands before = is not a label.
    is_labelled = bool(equals) and is_label(before)
    if equals and not is_labelled and "/" not in before and "," not in before:
        raise InputError(
            f"{option} {text}: {before!r} is not a valid label: use letters, digits and . _ + - "
            "(at most 64)"
        )
    if not (after if is_labelled else text):
        raise InputError(f"{option} {text}: no kernel or file is named")
    return (before, after) if is_labelled else (None, text)


def _unique(label: str, taken: set[str]) -> str:
    number, candidate = 2, label
    while candidate in taken:
        candidate, number = f"{label}-{number}", number + 1
    return candidate
