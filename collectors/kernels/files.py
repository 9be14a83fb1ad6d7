"""The files of one kernel, found; or the machine on which it runs already."""

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from profdiff.base.errors import InputError
from profdiff.collectors.kernels.address import Address
from profdiff.collectors.kernels.images import bootable
from profdiff.collectors.records import NO_VARIANT, BuiltFrom, Variant
from profdiff.symbolization.kernel_chains import module_name


@dataclass(frozen=True)
class KernelFiles:
    """What a spec led to: an ``image`` to boot, or a ``machine`` that runs it. ``modules`` is a
    folder that holds ``.ko`` files, at any depth; ``debug_elf`` may be compressed whole (``.zst``,
    ``.xz``). ``source``: what profdiff built it from; ``variant``: what it is given."""

    label: str
    spec: str
    image: Path | None = None
    debug_elf: Path | None = None
    config: Path | None = None
    modules: Path | None = None
    machine: Address | None = None
    # Its lists have no hash; what is equal else has the same one.
    source: BuiltFrom | None = field(default=None, hash=False)
    variant: Variant = NO_VARIANT


@cache
def module_files(folder: Path | None) -> dict[str, Path]:
    """Module files at any depth below ``folder``, by the module's name."""
    found: dict[str, Path] = {}
    for path in sorted(folder.rglob("*.ko*")) if folder else []:
        found.setdefault(module_name(path.name), path)
    return found


def unpacked(label: str, spec: str, root: Path) -> KernelFiles:
    """What was unpacked of a kernel's packages below ``root``. Raises InputError where that is not
    one kernel."""
    images = sorted([*root.glob("boot/vmlinu[xz]-*"), *root.glob("usr/lib/modules/*/vmlinuz*")])
    if not images:
        raise InputError(
            f"{spec}: none of the packages holds a kernel image; give linux-image-*.deb, since "
            "6.19 linux-binary-*.deb"
        )
    if len(images) > 1:
        raise InputError(f"{spec}: the packages hold {len(images)} kernels: name those of one")
    debug_elfs = sorted(path for path in root.glob("usr/lib/debug/**/vmlinux*") if path.is_file())
    # Not **/config*: there is a module configfs.
    configs = sorted([*root.glob("boot/config-*"), *root.glob("usr/lib/modules/*/config")])
    return KernelFiles(
        label,
        spec,
        bootable(images[0]),
        debug_elf=debug_elfs[0] if debug_elfs else None,
        config=configs[0] if configs else None,
        modules=subfolder(root, "lib/modules", "usr/lib/modules"),
    )


def subfolder(folder: Path, *names: str) -> Path | None:
    """The first of ``names`` that is a folder below ``folder``."""
    return next((folder / name for name in names if (folder / name).is_dir()), None)
