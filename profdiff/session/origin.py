"""Where a run's values come from: the one place that reads it from the collector's name and from
QEMU's arguments."""

from typing import Literal, NamedTuple

from profdiff.session.manifest import Run


class Kind(NamedTuple):
    """``words`` stand behind a metric in tables. ``verb``: how a sentence says a sum of its values:
    a kernel *executes* 5 % more instructions, *takes* more cycles. ``repeatable``: the same guest
    under an emulated clock gives the same values again. ``profiles``: functions are known."""

    words: str
    verb: Literal["executes", "takes", "has"]
    repeatable: bool
    profiles: bool


_KINDS = {
    "exact": Kind("exact counts", "executes", repeatable=True, profiles=True),
    "perf": Kind("sampled", "takes", repeatable=False, profiles=True),
    "timed": Kind("timed", "has", repeatable=True, profiles=False),
    "import": Kind("imported", "takes", repeatable=False, profiles=True),
}


def kind(collector: str) -> Kind:
    """The kind of a collector's values."""
    return _KINDS[collector]


class Emulator(NamedTuple):
    """``architecture``: "" if unknown. ``virtual_clock``: the guest's time counts instructions."""

    accelerator: Literal["kvm", "tcg"]
    architecture: str
    virtual_clock: bool


def emulator(run: Run) -> Emulator | None:
    """What ran the guest; None for a run on a machine."""
    if run.qemu is None:
        return None
    arguments = run.qemu.arguments
    name = arguments[0].rpartition("qemu-system-")[2] if arguments else ""
    return Emulator(
        "kvm" if "kvm" in arguments else "tcg",
        name if name.isidentifier() else "",
        "-icount" in arguments,
    )
