"""The kernels that a user named, found: for one experiment, or for one on each architecture."""

from collections.abc import Sequence

from profdiff.base.errors import InputError
from profdiff.collectors.architecture import ARCHITECTURES, Architecture, of_image
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.kernels.registered import absolute
from profdiff.collectors.kernels.source import locate
from profdiff.collectors.kernels.spec import KernelArgument, parse_arguments


def together(texts: Sequence[str]) -> tuple[list[KernelFiles], Architecture | None]:
    """The kernels of one experiment, and the architecture of the guests that boot them all; None
    where machines run them. Raises InputError when they run in places that do not compare, and as
    ``locate``."""
    kernels = [locate(argument) for argument in _arguments(texts)]
    machines = [kernel for kernel in kernels if kernel.machine is not None]
    if machines and len(machines) < len(kernels):
        raise InputError(
            f"{machines[0].label} is a machine, other kernels boot in guests: their costs cannot "
            "be compared"
        )
    if machines:
        return kernels, None
    found: dict[Architecture, str] = {}
    for kernel in kernels:
        if kernel.image:
            found.setdefault(of_image(kernel.image), kernel.label)
    if len(found) > 1:
        told = ", ".join(f"{label} is for {one.arch}" for one, label in found.items())
        names = ",".join(one.arch for one in found)
        raise InputError(
            f"the kernels are for different architectures ({told}): to record each, add --arch "
            f"{names} and give each label a kernel for each"
        )
    return kernels, next(iter(found), ARCHITECTURES[0])


def _arguments(texts: Sequence[str]) -> list[KernelArgument]:
    try:
        return parse_arguments(texts)
    except InputError as error:
        parse_arguments(texts, repeated=True)  # what is malformed is told as it is
        raise InputError(f"{error} (with --arch, once for each architecture)") from None


def for_each(
    texts: Sequence[str], architectures: Sequence[Architecture]
) -> dict[Architecture, list[KernelFiles]]:
    """The kernels by architecture, with the same labels in the same order for each.

    A kernel of Debian is taken for each architecture unless its SPEC says for which; what else is
    named is for one, as its image says, and is left out where that is not asked for. Raises
    InputError when a label has no kernel for an architecture, or two, or is a machine; and as
    ``locate``.
    """
    arguments = parse_arguments(texts, repeated=True)
    found: dict[tuple[Architecture, str], KernelFiles] = {}
    for argument in arguments:
        for one in _specified(argument, architectures):
            kernel = locate(one)
            if kernel.image is None:
                raise InputError(
                    f"{kernel.label} is a machine, which has one architecture: leave --arch out"
                )
            key = of_image(kernel.image), kernel.label
            if key in found:
                raise InputError(
                    f"--kernel: the label {kernel.label} is given twice for {key[0].arch}: "
                    f"{found[key].spec} and {kernel.spec}"
                )
            found[key] = kernel
    labels = dict.fromkeys(argument.label for argument in arguments)
    for architecture in architectures:
        for label in labels:
            if (architecture, label) not in found:
                raise InputError(
                    f"{label} has no kernel for {architecture.arch}: add --kernel {label}=SPEC "
                    f"with one that is for {architecture.arch}, or leave {architecture.arch} out "
                    "of --arch"
                )
    return {one: [found[one, label] for label in labels] for one in architectures}


def _specified(
    argument: KernelArgument, architectures: Sequence[Architecture]
) -> list[KernelArgument]:
    """``argument``, or the same for each architecture where it says none."""
    spec = absolute(argument.spec)
    flavour = spec.partition("/")[2].split("-")
    told = "," in spec or any(one.debian in flavour for one in ARCHITECTURES)
    if not spec.startswith("debian:") or told:
        return [argument]
    return [KernelArgument(argument.label, f"{spec},arch={one.arch}") for one in architectures]
