"""The kernels that a user named, found: for one experiment, or for one on each architecture, or
under each compiler."""

import time
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from profdiff.base import units
from profdiff.base.errors import InputError
from profdiff.base.terminal import tell
from profdiff.collectors.architecture import ARCHITECTURES, Architecture, host, of_image
from profdiff.collectors.kernels.building.make import BuildError
from profdiff.collectors.kernels.building.toolchain import find_toolchain
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.kernels.kinds.git import FromGit
from profdiff.collectors.kernels.kinds.registry import KernelArgument, once
from profdiff.collectors.kernels.kinds.spec import Spec
from profdiff.collectors.records import NO_VARIANT, Variant

# What takes less was built before; so many builds tell what the next ones take.
_BUILT, _LATEST = 0.5, 4


@dataclass(frozen=True)
class UnbuiltKernel:
    """A kernel that there is not: ``reason`` says why it could not be built, in one line;
    ``variant``: what it would be given."""

    label: str
    spec: Spec
    reason: str
    variant: Variant = NO_VARIANT


Located = KernelFiles | UnbuiltKernel


def built(kernels: Sequence[Located]) -> list[KernelFiles]:
    """Those that there are."""
    return [kernel for kernel in kernels if not isinstance(kernel, UnbuiltKernel)]


def together(
    arguments: Sequence[KernelArgument], holes: Set[str] = frozenset()
) -> tuple[list[Located], Architecture | None]:
    """The kernels of one experiment, and the architecture of the guests that boot them all; None
    where machines run them. Those with a label of ``holes`` may fail to build. Raises InputError
    when they run in places that do not compare, or a label is given twice, and as ``locate``."""
    try:
        once(arguments)
    except InputError as error:
        raise InputError(f"{error} (with --arch, once for each architecture)") from None
    every = _located(arguments, holes)
    return every, _architecture(built(every))


def _located(arguments: Sequence[KernelArgument], holes: Set[str]) -> list[Located]:
    """The kernels in their order. What is built comes last, so that a mistake in any SPEC shows
    before hours of building."""
    found: dict[int, Located] = {}
    building: dict[int, KernelArgument] = {}
    for at, argument in enumerate(arguments):
        if argument.spec.is_built:
            building[at] = argument
            # A series has checked its commits, and all have the options of its base.
            if argument.label not in holes:
                argument.spec.prepare()
        else:
            found[at] = _locate(argument, holes)
    took: list[float] = []
    for number, (at, argument) in enumerate(building.items(), 1):
        began = time.monotonic()
        found[at] = _locate(argument, holes)
        took.append(time.monotonic() - began)
        if argument.label in holes:
            _tell_left(len(building) - number, took)
    return [found[at] for at in range(len(arguments))]


def _tell_left(left: int, took: Sequence[float]) -> None:
    """How long the rest of a series takes to build, by the latest builds; the base's, which began
    with nothing, says nothing of it."""
    if not left or len(took) < 2 or took[-1] < _BUILT:
        return
    latest = [one for one in took[1:] if one >= _BUILT][-_LATEST:]
    span = units.span(left * min(latest), left * max(latest))
    tell(f"{left:,} left to build: {span} if they take as long as the latest")


def not_built(
    arguments: Sequence[KernelArgument],
    architectures: Sequence[Architecture],
    compilers: Sequence[str],
) -> list[str]:
    """The kernels, ``LABEL=SPEC``, that may have to be built before they are there: those that are
    not in the cache, or of which only the build tells. Nothing is run of their trees, and nothing
    is written. Raises InputError for what there is not."""
    if compilers:
        every = [one for some in specified(arguments, compilers).values() for one in some]
    elif architectures:
        every = [one for argument in arguments for one in _for_each(argument, architectures)]
    else:
        every = list(arguments)
    return [
        f"{one.label}={one.spec.absolute()}"
        for one in every
        if one.spec.is_built and not one.spec.is_here()
    ]


def _locate(argument: KernelArgument, holes: Set[str]) -> Located:
    try:
        return replace(argument.spec.locate(argument.label), variant=argument.variant)
    except BuildError as error:
        if argument.label not in holes:
            raise
        tell(f"{argument.label}: not built; recording the others: {error.first}")
        return UnbuiltKernel(argument.label, argument.spec, error.first, argument.variant)


def _architecture(kernels: Sequence[KernelFiles]) -> Architecture | None:
    machines = [kernel for kernel in kernels if kernel.machine is not None]
    if machines and len(machines) < len(kernels):
        raise InputError(
            f"{machines[0].label} is a machine, other kernels boot in guests: their costs cannot "
            "be compared"
        )
    if machines:
        return None
    labels: dict[Architecture, str] = {}
    for kernel in kernels:
        if kernel.image:
            labels.setdefault(of_image(kernel.image), kernel.label)
    if len(labels) > 1:
        told = ", ".join(f"{label} is for {one.arch}" for one, label in labels.items())
        names = ",".join(one.arch for one in labels)
        raise InputError(
            f"the kernels are for different architectures ({told}): to record each, add --arch "
            f"{names} and give each label a kernel for each"
        )
    return next(iter(labels), ARCHITECTURES[0])


def for_each(
    arguments: Sequence[KernelArgument],
    architectures: Sequence[Architecture],
    holes: Set[str] = frozenset(),
) -> dict[Architecture, list[Located]]:
    """The kernels by architecture, with the same labels in the same order for each.

    A kernel of Debian or of a git repository is taken for each architecture unless its SPEC says
    for which; what else is named is for one, as its image says, and is left out where that is not
    asked for. Those with a label of ``holes`` may fail to build. Raises InputError when a label
    has no kernel for an architecture, or two, or is a machine; and as ``locate``.
    """
    found: dict[tuple[Architecture, str], Located] = {}
    every = [one for argument in arguments for one in _for_each(argument, architectures)]
    for kernel in _located(every, holes):
        key = _architecture_of(kernel), kernel.label
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


def _architecture_of(kernel: Located) -> Architecture:
    """The one that a kernel is for, or would be. Raises InputError for a machine's."""
    if isinstance(kernel, UnbuiltKernel):
        return _built_for(kernel.spec)
    if kernel.image is None:
        raise InputError(
            f"{kernel.label} is a machine, which has one architecture: leave --arch out"
        )
    return of_image(kernel.image)


def _for_each(
    argument: KernelArgument, architectures: Sequence[Architecture]
) -> list[KernelArgument]:
    return [replace(argument, spec=one) for one in argument.spec.for_each(architectures)]


def _built_for(spec: Spec) -> Architecture:
    named = spec.git.architecture if isinstance(spec, FromGit) else None
    return named or host()


def specified(
    arguments: Sequence[KernelArgument], compilers: Sequence[str]
) -> dict[str, list[KernelArgument]]:
    """The kernels that are to be built by each compiler, with the same labels in the same order for
    each. Raises InputError for a kernel that is not built from git, for one whose SPEC names its
    compiler, and for a label given twice."""
    found: dict[str, list[KernelArgument]] = {name: [] for name in compilers}
    for argument in once(arguments):
        label, spec = argument.label, argument.spec
        if not isinstance(spec, FromGit):
            raise InputError(
                f"{label} ({spec}) is already built: --compilers builds kernels from git "
                "(git:REPO@REV)"
            )
        if named := spec.git.compiler:
            raise InputError(f"{label} says cc={named}: leave out that or --compilers")
        for name, each in found.items():
            each.append(replace(argument, spec=FromGit.of(replace(spec.git, compiler=name))))
    return found


def only_architecture(arguments: Sequence[KernelArgument]) -> Architecture:
    """The one that kernels from git are built for, before they are. Raises InputError for
    several."""
    found = {_built_for(argument.spec): argument.label for argument in arguments}
    if len(found) > 1:
        told = ", ".join(f"{label} is for {one.arch}" for one, label in found.items())
        raise InputError(f"the kernels are for different architectures ({told})")
    return next(iter(found))


def check_compilers(compilers: Sequence[str], architecture: Architecture) -> None:
    """Raise MissingError for the first that is not installed, before any of them builds."""
    for compiler in compilers:
        find_toolchain(compiler, architecture)


def under_each(
    arguments: Mapping[str, Sequence[KernelArgument]], holes: Set[str] = frozenset()
) -> dict[str, list[Located]]:
    """The kernels by compiler, built. Those with a label of ``holes`` may fail to build. Raises
    what ``locate`` does."""
    found: dict[str, list[Located]] = {name: [] for name in arguments}
    for argument in (one for every in arguments.values() for one in every):
        if argument.label not in holes:
            argument.spec.prepare()
    # A revision is checked out once, and then built by all.
    for of_one in zip(*arguments.values(), strict=True):
        for name, argument in zip(found, of_one, strict=True):
            found[name].append(_locate(argument, holes))
    return found
