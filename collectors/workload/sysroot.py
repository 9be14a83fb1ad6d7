"""The root folder of ``--sysroot``, from which a workload's programs and libraries are taken."""

import os
from collections.abc import Sequence
from pathlib import Path

from profdiff.base.errors import InputError
from profdiff.collectors.architecture import ARCHITECTURES, Architecture, named, told_elf
from profdiff.collectors.by_architecture import value_for
from profdiff.collectors.workload.elf import read_elf
from profdiff.collectors.workload.root import Root

# What tells whose programs a root folder holds.
_WITNESSES = (
    *("/bin/sh", "/bin/bash", "/usr/bin/env", "/bin/busybox", "/lib/libc.so.6"),
    *(f"/lib/{one.triplet}/libc.so.6" for one in ARCHITECTURES),
    *(f"/usr/lib/{one.triplet}/libc.so.6" for one in ARCHITECTURES),
)


def sysroot(values: Sequence[str], architecture: Architecture) -> Root | None:
    """The root folder for an architecture among ``[ARCH=]DIR``s; None if there is none.

    Raises InputError for what is not a folder, or holds programs for another architecture.
    """
    value = value_for("--sysroot", values, architecture)
    if value is None:
        return None
    path = Path(os.path.realpath(value)) if Path(value).is_dir() else Path("/")
    if path == Path("/"):
        raise InputError(f"--sysroot {value} is not a folder with a root file system")
    root = Root(path)
    other = _holds(root)
    if other and other != architecture.elf:
        known = named(other)
        more = f", or write --sysroot {known.arch}={value}" if known else ""
        raise InputError(
            f"--sysroot {value} holds programs for {told_elf(other)}, the guest is "
            f"{architecture.told}: give one for {architecture.told}{more}"
        )
    return root


def _holds(root: Root) -> str | None:
    """Whose programs are there, as ELF names it; None if nothing tells."""
    for place in _WITNESSES:
        source = root.find(place)
        if source and (elf := read_elf(source)):
            return elf.machine
    return None
