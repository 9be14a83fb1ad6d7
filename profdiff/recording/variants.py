"""What kernels of one experiment are given of their own: whether that compares, what it takes."""

from collections.abc import Callable, Sequence

from profdiff.base.errors import InputError
from profdiff.collectors import registry
from profdiff.collectors.architecture import Architecture
from profdiff.collectors.guest.qemu import Qemu
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.recording.sweep import Sweep


def models(
    kernels: Sequence[KernelFiles], emulator: Callable[[str], Qemu | None]
) -> dict[str, Qemu]:
    """By each model of a processor that a kernel is given, the ``emulator`` with it. Raises
    InputError for one that it has not."""
    found: dict[str, Qemu] = {}
    for kernel in kernels:
        model = kernel.variant.cpu
        if not model or model in found:
            continue
        try:
            qemu = emulator(model)
        except InputError as error:
            told = str(error).replace("--cpu ", "cpu=", 1)
            raise InputError(f"{kernel.label}: {told}") from error
        if qemu:
            found[model] = qemu
    return found


def refuse_cpus(
    kernels: Sequence[KernelFiles],
    asked: Sweep,
    collectors: Sequence[str],
    architecture: Architecture | None,
) -> None:
    """Raise InputError where kernels have numbers of vCPUs of their own that cannot be compared."""
    own = {kernel.label: one for kernel in kernels if (one := kernel.variant.cpus)}
    if not own:
        return
    label, number = next(iter(own.items()))
    if len(asked.cpus) > 1:
        told = ",".join(map(str, asked.cpus))
        raise InputError(
            f"{label}: cpus={number} is one kernel's, and --cpus {told} sweeps those of all: leave "
            "one of them out"
        )
    if architecture and architecture.one_vcpu and max(own.values()) > 1:
        raise InputError(f"{label}: cpus={number}: {architecture.told} guests have one vCPU")
    each = {kernel.label: kernel.variant.cpus or asked.cpus[0] for kernel in kernels}
    few = next((name for name, cpus in each.items() if cpus < asked.copies), None)
    if few:
        raise InputError(
            f"--copies {asked.copies}: {few} has cpus={each[few]}, and each copy has a vCPU of its "
            "own: give it more"
        )
    sharing = next((one for one in collectors if registry.collector(one).several_vcpus), None)
    if sharing and len(set(each.values())) > 1:
        told = ", ".join(f"{name} {cpus}" for name, cpus in each.items())
        raise InputError(
            f"--collector {sharing}: what changes hands between different numbers of vCPUs does "
            f"not compare ({told}): give all kernels one number with --cpus"
        )
