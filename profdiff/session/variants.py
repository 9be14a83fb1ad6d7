"""What kernels of a session are given of their own, and what they differ in by it, as intended."""

import re
from collections.abc import Mapping, Sequence
from itertools import combinations

import msgspec

from profdiff.collectors.records import NO_VARIANT, Guest, Variant, arguments
from profdiff.session.manifest import Manifest

# Which arguments choose a setting (Documentation/admin-guide/kernel-parameters.txt).
_SETTINGS = {
    "transparent_hugepage": ("transparent_hugepage",),
    "mm/transparent_hugepage/shmem_enabled": ("transparent_hugepage_shmem",),
    "mm/transparent_hugepage/": ("transparent_hugepage",),
    "kernel/numa_balancing": ("numa_balancing", "numa"),
    "numa_balancing": ("numa_balancing", "numa"),
    "nmi_watchdog": ("nmi_watchdog", "nowatchdog"),
    "vm/nr_hugepages": ("hugepages", "hugepagesz", "default_hugepagesz"),
}


def variants(manifest: Manifest) -> dict[str, Variant]:
    """By label of the kernels that were compared, with the memory, vCPUs and processor that each
    really had; none where no kernel was given anything."""
    guest, kernels = manifest.guest, manifest.compared
    if guest is None or all(kernel.variant == NO_VARIANT for kernel in kernels):
        return {}
    cpus = manifest.points[0].cpus
    return {kernel.label: _resolved(kernel.variant, guest, cpus) for kernel in kernels}


def _resolved(own: Variant, guest: Guest, cpus: int | None) -> Variant:
    return msgspec.structs.replace(
        own,
        memory=own.memory or guest.memory,
        cpus=own.cpus or cpus,
        cpu=own.cpu or guest.cpu,
    )


# What a workload does and is given by what it does, as ``session.state`` names it: another
# program's is its own.
_PROGRAMS = re.compile(
    "system call .*|vmstat .*|(minor|major)_faults|(in)?voluntary_switches|processes|"
    "anon_huge_kib|resident_kib|huge_page_requests"
)


def differences(known: Mapping[str, Variant], base: str, label: str) -> list[str]:
    """What a kernel is given that the base is not, in words; ``without ARGUMENT`` of what only the
    base is."""
    if base not in known or label not in known:
        return []
    ours, theirs = known[base], known[label]
    before, after = arguments(ours.append), arguments(theirs.append)
    found = [word for word in after if word not in before]
    given = {word.partition("=")[0] for word in after}
    found += [
        f"without {word}"
        for word in before
        if word not in after and word.partition("=")[0] not in given
    ]
    if before != after and not found:
        found.append(f"another order: {theirs.append}")
    if ours.memory != theirs.memory:
        found.append(f"memory={theirs.memory}M")
    if ours.cpus != theirs.cpus:
        found.append(f"cpus={theirs.cpus}")
    if ours.cpu != theirs.cpu:
        found.append(f"cpu={theirs.cpu or 'default'}")
    if ours.program != theirs.program:
        found.append(theirs.program or "another program")
    return found


def built_otherwise(known: Mapping[str, Sequence[str]], base: str, label: str) -> list[str]:
    """What a SPEC says of how a kernel's code is made that the base's does not: ``cc=clang-19``;
    ``without cc=gcc-11`` of what only the base's does."""
    before, after = known.get(base, ()), known.get(label, ())
    given = {word.partition("=")[0] for word in after}
    lacking = [word for word in before if word.partition("=")[0] not in given]
    return [
        *(word for word in after if word not in before),
        *(f"without {word}" for word in lacking),
    ]


def without(line: str, variant: Variant) -> str:
    """A kernel's command line without the arguments that it alone was given, which end it, to be
    compared. One that ends otherwise is like no other: the kernel did not get what was meant."""
    own = variant.append
    if not own:
        return line
    return line[: -len(own)].rstrip() if line.endswith(f" {own}") else f"{line} without {own}"


def is_consequence(name: str, known: Mapping[str, Variant]) -> bool:
    """Whether what kernels differ in, a setting or what a machine says of itself under ``name``,
    follows from what some of them are given."""
    return any(_follows(name, one, other) for one, other in combinations(known.values(), 2))


def _follows(name: str, one: Variant, other: Variant) -> bool:
    if one.program != other.program and _PROGRAMS.fullmatch(name):
        return True
    if name in ("cpus", "smt"):
        return one.cpus != other.cpus
    if name == "processor":
        return one.cpu != other.cpu
    if name.startswith("mitigation"):
        return (one.append, one.cpu, one.cpus) != (other.append, other.cpu, other.cpus)
    unlike = {*arguments(one.append)} ^ {*arguments(other.append)}
    given = {word.partition("=")[0] for word in unlike}
    return any(
        name.startswith(start) and not given.isdisjoint(parameters)
        for start, parameters in _SETTINGS.items()
    ) or f"sysctl.{name.replace('/', '.')}" in {word.replace("/", ".") for word in given}
