"""Where kernels ran and how runs followed each other: what a result means depends on it."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal

from profdiff.base import units
from profdiff.collectors.architecture import named
from profdiff.evidence.findings import Findings
from profdiff.session.manifest import Manifest, Run
from profdiff.views.record import Record


class Machine(Record, frozen=True):
    """``architecture``: "" if it is not known. ``kind``: guests of profdiff's own run on an
    ``emulator``, whose time is none, or in a ``virtual machine``."""

    architecture: str
    kind: Literal["emulator", "virtual machine", "machine"]

    def __str__(self) -> str:
        """For a sentence: ``arm64 under an emulator``; "" where nothing is known."""
        where = {"emulator": " under an emulator", "virtual machine": " in a virtual machine"}
        return f"{arch(self.architecture)}{where.get(self.kind, '')}".strip()


def arch(architecture: str) -> str:
    """An architecture's name as people type it, whatever it was called."""
    known = named(architecture)
    return known.arch if known else architecture


def guest_arch(runs: Iterable[Run]) -> str | None:
    """The architecture of guests; None where no run says it. All guests of a session have one."""
    names = (run.qemu.architecture for run in runs if run.qemu)
    return next((arch(name) for name in names if name), None)


def guest(manifest: Manifest, runs: Sequence[Run], cpus: int | None) -> str:
    """The machine that guests had: ``arm64 neoverse-n1, 2 vCPU, 512 MiB``, ``without`` features of
    its processor, ``restored`` if they did not boot for each run; "" without a guest."""
    described = manifest.guest
    if described is None:
        return ""
    told = " ".join(filter(None, [guest_arch(runs), described.cpu]))
    without = dict.fromkeys(one for run in runs if run.qemu for one in run.qemu.without)
    size = f"{cpus} vCPU, {described.memory} MiB"
    if without:
        size = f"without {' and '.join(without)}, {size}"
    if described.restored:
        size += ", restored"
    return units.printable(f"{told}, {size}" if told else size)


def machine(findings: Findings) -> Machine:
    """What the finished runs ran on."""
    emulators = [run.qemu for run in findings.manifest.runs if run.qemu]
    finished = [run.qemu for run in finished_runs(findings) if run.qemu]
    told = [own.get("architecture") for own in findings.facts.machines.values()]
    names = [*filter(None, told), *(one.architecture for one in emulators if one.architecture)]
    emulated = any(one.accelerator != "kvm" for one in finished)
    # What QEMU's own processors call themselves, in recordings that others made in a guest.
    processors = [own.get("processor") or "" for own in findings.facts.machines.values()]
    emulated = emulated or any(one.startswith("QEMU TCG") for one in processors)
    return Machine(
        architecture=units.printable(names[0]) if names else "",
        kind="emulator" if emulated else "virtual machine" if finished else "machine",
    )


def finished_runs(findings: Findings) -> list[Run]:
    """Those with a result."""
    return [run for run in findings.manifest.runs if not run.failure]


def interleaved(runs: Sequence[Run]) -> bool:
    """Whether no kernel's runs were over before another's began."""
    labels = [run.kernel for run in sorted(runs, key=lambda run: run.started)]
    blocks = sum(a != b for a, b in pairwise(labels)) + 1
    return len(set(labels)) > 1 and blocks > len(set(labels))


def in_blocks(findings: Findings) -> list[str]:
    """The collectors whose runs were meant to be interleaved, and were not."""
    if not findings.results.repeated:
        return []
    found: list[str] = []
    for collector in findings.manifest.collectors:
        runs = [run for run in finished_runs(findings) if run.collector == collector]
        if len({run.kernel for run in runs}) > 1 and not interleaved(runs):
            found.append(collector)
    return found
