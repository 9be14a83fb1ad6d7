"""Whose inlined functions nothing tells. Where one kernel lacks them and another has them, the
functions of both compare only as symbols."""

from collections.abc import Iterable, Mapping, Sequence

from profdiff.base import units
from profdiff.session.manifest import Kernel

VMLINUX = "vmlinux"
_MAX_NAMES = 4


def folded(kernels: Iterable[Kernel]) -> dict[str, list[str]]:
    """The objects of which some of the kernels lacks what was inlined, and another one has it, with
    the labels of those that lack it."""
    known = {kernel.label: _told(kernel) for kernel in kernels}
    found: dict[str, list[str]] = {}
    for name in sorted({name for told in known.values() for name in told}):
        lacking = [label for label, told in known.items() if not told.get(name, True)]
        if lacking and any(told.get(name, False) for told in known.values()):
            found[name] = lacking
    return found


def all_shown(kernels: Iterable[Kernel]) -> bool:
    """Whether the inlined functions of every kernel's own code are known."""
    return all(_told(kernel).get(VMLINUX, True) for kernel in kernels)


def shown(kernels: Sequence[Kernel], label: str) -> dict[str, bool]:
    """By object, whether the inlined functions of one of the kernels are shown."""
    folds = folded(kernels)
    known = next((_told(kernel) for kernel in kernels if kernel.label == label), {})
    return {name: tells and name not in folds for name, tells in known.items()}


def told(kernels: Iterable[Kernel]) -> list[str]:
    """What a reader must know of it, a line for each group of kernels that lack the same."""
    lacking: dict[tuple[str, ...], list[str]] = {}
    for name, labels in folded(kernels).items():
        lacking.setdefault(tuple(labels), []).append(name)
    return [
        units.printable(
            f"{units.listed(labels)}: no debug information tells what is inlined in "
            f"{units.few(names, _MAX_NAMES)}, so that on every kernel functions inlined there "
            "count as part of their callers"
        )
        for labels, names in lacking.items()
    ]


def joined(every: Iterable[Mapping[str, bool] | None]) -> dict[str, bool]:
    """What several recordings of one kernel tell."""
    found: dict[str, bool] = {}
    for told in every:
        for name, known in (told or {}).items():
            found[name] = known and found.get(name, True)
    return found


def _told(kernel: Kernel) -> Mapping[str, bool]:
    if kernel.inlines is not None:
        return kernel.inlines
    # Nothing of it is kept yet.
    return {VMLINUX: kernel.debug_elf is not None}
