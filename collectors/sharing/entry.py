"""The sharing collector: which lines of the cache change hands between the vCPUs of a guest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from profdiff.base.metric import TRANSFERRED, Metric
from profdiff.collectors.collector import Collector, Options

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from profdiff.collectors.architecture import Architecture
    from profdiff.collectors.guest.qemu import Qemu
    from profdiff.collectors.guest.result import Left, Result
    from profdiff.collectors.kernels.files import KernelFiles
    from profdiff.collectors.recorded import Recorded
    from profdiff.collectors.records import Value
    from profdiff.collectors.sharing.lines import SharedLines

TRANSFERS = Metric("transfers", "lines per op", kind=TRANSFERRED)
MISSES = Metric("coherence-misses", "fetches and upgrades per op", kind=TRANSFERRED)
FILE = "sharing"
_NOISE = 0.05
# A vCPU with a smaller part of the operations than this runs what is beside the workload.
_ALONE = 0.05
_FILE = "sharing.bin"


class Sharing(Collector):
    """Guests only, of several vCPUs: what is not emulated shows no accesses."""

    name = "sharing"
    kind = TRANSFERRED
    help = "which cache lines change hands between vCPUs"
    how = "every access to memory between operations of vCPUs that take turns"
    options = (
        click.Option(
            ["--line-size"],
            type=click.Choice(["64", "128"]),
            default="64",
            show_default=True,
            help="Bytes of a cache line. Some processors fetch lines in pairs: 128.",
        ),
    )
    failures = ("window",)
    several_vcpus = True

    def refusal(self, architecture: Architecture | None) -> str | None:
        if architecture is None:
            return "--collector sharing boots kernels in guests; it cannot record a machine"
        if architecture.one_vcpu:
            return f"--collector sharing needs several vCPUs: {architecture.told} guests have one"
        return None

    def settings(self, given: Mapping[str, Any]) -> dict[str, Value]:
        return {"line_size": int(given["line_size"])}

    def emulator(self, architecture: Architecture, program: Path | None) -> Qemu:
        from profdiff.collectors.guest.plugin import with_plugin

        return with_plugin(architecture, program, "sharing=64")

    def qemu_arguments(
        self,
        qemu: Qemu,
        options: Options,
        folder: Path,
        repetition: int = 1,
        kernel: KernelFiles | None = None,
    ) -> list[str]:
        from profdiff.collectors.guest.plugin import arguments

        return arguments(qemu, folder / _FILE, f"sharing={options['line_size']}")

    def judge(self, left: Left) -> Result:
        """Raises OSError and MissingError when the disk is full."""
        from profdiff.collectors.guest.plugin import recorded
        from profdiff.collectors.records import Failure, Measured
        from profdiff.collectors.sharing.lines import SharedLines

        result = super().judge(left)
        if left.failure:
            return result
        lines, result = recorded(result, left, "shared lines", _FILE, SharedLines.load)
        failure = result.failure
        least = _ALONE * int(lines.ops.max(initial=0))
        if failure is None and (lines.ops > least).sum() < 2:
            failure = Failure("window", _alone(lines.vcpus))
        result = replace(result, files={**left.files, FILE: _FILE}, failure=failure)
        if failure:
            return result
        measured = [
            Measured(
                one.name,
                one.unit,
                one.better,
                False,
                [_per_op(values, lines)],
                scheduled=lines.scheduled,
            )
            for one, values in ((TRANSFERS, lines.transfers), (MISSES, lines.line_misses))
        ]
        return replace(result, measured=measured)

    def read(self, files: Mapping[str, Path]) -> Recorded | None:
        """The instructions that access what changes hands; their counts are misses."""
        import numpy as np

        from profdiff.collectors.recorded import Recorded
        from profdiff.collectors.sharing.lines import SharedLines
        from profdiff.symbolization.places import KERNEL_HALF, Places

        if FILE not in files:
            return None
        lines = SharedLines.load(files[FILE])
        code = lines.executed.copy()
        code[lines.address >= KERNEL_HALF] = 0
        misses = np.zeros(len(lines.address), np.int64)
        np.add.at(misses, lines.access_place, lines.misses)
        places = Places.of_code(lines.address, code)
        return Recorded((MISSES,), places, lines.executed, lambda: misses[:, None])


def _per_op(values: NDArray[np.int64], lines: SharedLines) -> float:
    """The sum over lines. Lines of which each changes hands less than once in a hundred operations
    are left out where their sum is as small: ticks, and the window's ends."""
    rare = int(values[lines.summed].sum())
    every = int(values.sum())
    sure = every if rare >= _NOISE * lines.all_ops else every - rare
    return round(sure / lines.all_ops, 2)


def _alone(vcpus: int) -> str:
    if vcpus < 2:
        return "one vCPU has no other to share with: add --cpus 2"
    return (
        "only one vCPU executed operations: the workload must run a thread or process on each "
        "vCPU, or add --copies 2"
    )
