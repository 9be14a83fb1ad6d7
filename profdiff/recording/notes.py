"""What a user must know before a recording begins: of files, of programs, of symbols."""

import shlex
from collections.abc import Sequence

from profdiff.base import units
from profdiff.collectors import registry
from profdiff.collectors.workload.workload import PreparedWorkload
from profdiff.recording.located import Located, UnbuiltKernel
from profdiff.session import inlines
from profdiff.session import manifest as m

_ALONE = "one kernel has nothing to be compared with here; profdiff compare takes two recordings"


def of(prepared: PreparedWorkload, planned: m.Manifest) -> list[str]:
    """A clause for each, "" for nothing."""
    profiles = any(registry.collector(name).profiles for name in planned.collectors)
    blind = inlines.told(planned.compared) if profiles else []
    bare = _bare(planned.kernels) if profiles and not blind else ""
    replay = planned.workload.replay
    alone = _ALONE if planned.guest and len(planned.kernels) == 1 else ""
    return [alone, replay.told if replay else "", _stay(prepared), _lacks(prepared), *blind, bare]


def _stay(prepared: PreparedWorkload) -> str:
    """Which folders a reader may have meant."""
    if not prepared.stay:
        return ""
    words = [units.printable(shlex.quote(one)) for one in prepared.stay]
    what = "folder" if len(words) == 1 else "folders"
    return (
        f"the {what} {units.listed(words)} here, which COMMAND names, "
        f"{'does' if len(words) == 1 else 'do'} not travel: --file {words[0]} adds one, "
        f"--no-file {words[0]} says that none is meant"
    )


def _lacks(prepared: PreparedWorkload) -> str:
    """Which programs the script will not find."""
    if not prepared.lacks:
        return ""
    named = [units.printable(lack) for lack in prepared.lacks]
    return (
        f"the script calls {units.listed(named)}, which guests do not have: add a program with "
        f'--file "$(command -v {named[0]})":/bin/{named[0]}, or do that work before'
    )


def _bare(kernels: Sequence[m.Kernel]) -> str:
    """Which kernels have symbols alone, and what to give."""
    own = [kernel for kernel in kernels if not kernel.twin_of and not kernel.hole]
    labels = [kernel.label for kernel in own if not inlines.all_shown([kernel])]
    if not labels:
        return ""
    return (
        f"{units.listed(labels)}: no debug information, so functions that are inlined count as "
        "part of their callers, and no source lines or types are known: name the kernel's vmlinux, "
        f"built with CONFIG_DEBUG_INFO, too: --kernel {labels[0]}=IMAGE,vmlinux=ELF"
    )


def too_few(kernels: Sequence[Located], *, toggled: bool) -> str:
    """Why nothing can be compared where some of the kernels were not built; ``toggled``: options
    may lack, else commits of a series."""
    holes = [kernel for kernel in kernels if isinstance(kernel, UnbuiltKernel)]
    what = "option" if toggled else "commit of the series"
    return f"no {what} builds; the first, {holes[0].label}: {holes[0].reason}"
