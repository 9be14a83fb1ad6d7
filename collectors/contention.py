"""The contention collector: instructions are counted while vCPUs take turns at random places in the
kernel, also inside critical sections, so that locks are waited for. It is a model: each repetition
draws other turns."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from profdiff.base.metric import MODELLED, Metric
from profdiff.collectors.collector import Options
from profdiff.collectors.exact.entry import Exact

if TYPE_CHECKING:
    from profdiff.collectors.architecture import Architecture
    from profdiff.collectors.guest.qemu import Qemu
    from profdiff.collectors.kernels.files import KernelFiles
    from profdiff.collectors.machine.environment import Environment, Finding


class Contention(Exact):
    """Guests only, of several vCPUs."""

    name = "contention"
    kind = MODELLED
    metric = Metric("contended-instructions", "contended-instructions", kind=MODELLED)
    help = "instructions while vCPUs take turns at random places, so that locks are waited for"
    how = "every instruction, while vCPUs take turns at random places: a model of contention"
    options = ()
    several_vcpus = True

    def refusal(self, architecture: Architecture | None) -> str | None:
        if architecture is None:
            return "--collector contention boots kernels in guests; it cannot record a machine"
        if architecture.one_vcpu:
            return (
                f"--collector contention needs several vCPUs: {architecture.told} guests have one"
            )
        return None

    def qemu_arguments(
        self,
        qemu: Qemu,
        options: Options,
        folder: Path,
        repetition: int = 1,
        kernel: KernelFiles | None = None,
    ) -> list[str]:
        return self.plugin_arguments(qemu, folder, f"calls=on,turns={repetition}")

    def findings(
        self, architecture: Architecture | None, environment: Environment | None
    ) -> list[Finding]:
        return []
