"""The files of one kernel, found; or the machine on which it runs already."""

from dataclasses import dataclass, field
from pathlib import Path

from profdiff.collectors.kernels.address import Address
from profdiff.collectors.kernels.built_from import BuiltFrom
from profdiff.symbolization.kernel_chains import module_name


@dataclass(frozen=True)
class KernelFiles:
    """What a spec led to: an ``image`` to boot, or a ``machine`` that runs it. ``modules`` is a
    folder that holds ``.ko`` files, at any depth; ``debug_elf`` may be compressed whole (``.zst``,
    ``.xz``). ``source``: what profdiff built it from."""

    label: str
    spec: str
    image: Path | None = None
    debug_elf: Path | None = None
    config: Path | None = None
    modules: Path | None = None
    machine: Address | None = None
    # Its lists have no hash; what is equal else has the same one.
    source: BuiltFrom | None = field(default=None, hash=False)


def module_files(folder: Path | None) -> dict[str, Path]:
    """Module files at any depth below ``folder``, by the module's name."""
    found: dict[str, Path] = {}
    for path in sorted(folder.rglob("*.ko*")) if folder else []:
        found.setdefault(module_name(path.name), path)
    return found
