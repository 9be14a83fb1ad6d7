"""From a spec to a kernel's files: folders, images, build trees, packages, Debian, names."""

import re
from pathlib import Path

from profdiff.base.errors import InputError
from profdiff.base.near import did_you_mean
from profdiff.collectors.architecture import ARCHITECTURES
from profdiff.collectors.kernels import registered
from profdiff.collectors.kernels.address import LOCAL, parse_address
from profdiff.collectors.kernels.build import build
from profdiff.collectors.kernels.deb_package import unpack_kernel
from profdiff.collectors.kernels.debian import SUITES, fetch
from profdiff.collectors.kernels.efi_image import bootable
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.kernels.git_spec import GitSpec, git_meant, is_git
from profdiff.collectors.kernels.spec import KernelArgument, is_label

_IMAGES = tuple(name for one in ARCHITECTURES for name in one.images)
_DEBUG_ELFS = ("vmlinux", "vmlinux.zst", "vmlinux.xz")
_CONFIGS = ("config", ".config")


def locate(argument: KernelArgument, names: tuple[str, ...] = ()) -> KernelFiles:
    """The files that ``argument`` names; downloads, unpacks and builds into the cache if it must.

    ``names`` are the registered names that led here. Raises InputError when the spec leads nowhere,
    MissingError when this machine cannot fetch.
    """
    label, spec = argument.label, argument.spec
    place, _, elf = spec.partition(",vmlinux=")
    debug_elf = Path(elf).expanduser() if elf else None
    if (machine := parse_address(place)) is not None:
        if debug_elf and not debug_elf.is_file():
            raise InputError(f"{spec}: {debug_elf} is not a file")
        return KernelFiles(label, spec, debug_elf=debug_elf, machine=machine)
    if is_git(spec):
        return build(GitSpec.parse(spec), label)
    if spec.startswith("debian:"):
        return _unpacked(label, spec, fetch(spec))
    paths = [Path(part).expanduser() for part in spec.split(",")]
    if all(path.name.endswith(".deb") for path in paths):
        return _unpacked(label, spec, unpack_kernel(paths))
    path = Path(place).expanduser()
    if path.is_dir() and not debug_elf:
        return _folder(label, spec, path)
    if path.is_file():
        return _image(label, spec, path, debug_elf)
    # Only now: a folder or file of that name, which can be seen, comes first.
    if is_label(spec) and (known := registered.registered().get(spec)) is not None:
        if spec in names:
            raise InputError(f"the name {spec} stands for itself: register it anew")
        return locate(KernelArgument(label, known), (*names, spec))
    if is_label(spec):
        meant = _meant(spec) or (
            f"profdiff kernel add {spec} FOLDER registers a folder with bzImage and vmlinux; "
            "debian:SUITE needs no files"
        )
        raise InputError(
            f"{spec} is no folder or file here, and no kernel of that name is registered: {meant}"
        )
    meant = _meant(spec) or "see profdiff record --help for what a SPEC may be"
    raise InputError(f"no such kernel: {spec}: {meant}")


def _meant(spec: str) -> str:
    """What a spec that leads nowhere was meant to be, "" if nobody can tell."""
    kind, colon, rest = spec.partition(":")
    if colon:
        return did_you_mean(kind, {one: f"{one}:{rest}" for one in ("debian", "ssh", "git")})
    if meant := git_meant(spec):
        return f"did you mean {meant}?"
    suites = {suite: f"debian:{suite}" for suite in SUITES}
    return did_you_mean(spec, suites | {name: name for name in (LOCAL, *registered.registered())})


def _folder(label: str, spec: str, folder: Path) -> KernelFiles:
    image = _first(folder, _IMAGES)
    if image is None:
        building = f", or git:{spec} builds it" if git_meant(spec) else ""
        raise InputError(
            f"{folder} holds no kernel image ({', '.join(_IMAGES)}): build it (make), or name the "
            f"image file{building}"
        )
    tree = image.parent.name == "boot"
    return KernelFiles(
        label,
        spec,
        bootable(image),
        debug_elf=_first(folder, _DEBUG_ELFS),
        config=_first(folder, _CONFIGS),
        modules=folder if tree else _subfolder(folder, "lib/modules"),
    )


def _image(label: str, spec: str, image: Path, debug_elf: Path | None) -> KernelFiles:
    if debug_elf and not debug_elf.is_file():
        raise InputError(f"{spec}: {debug_elf} is not a file")
    release = re.sub(r"^(vmlinuz|bzImage|Image)-?", "", image.name)
    config = image.with_name(f"config-{release}") if release else None
    return KernelFiles(
        label,
        spec,
        bootable(image),
        debug_elf,
        config=config if config and config.is_file() else None,
    )


def _unpacked(label: str, spec: str, root: Path) -> KernelFiles:
    """What was unpacked of a kernel's packages below ``root``."""
    images = sorted([*root.glob("boot/vmlinuz-*"), *root.glob("usr/lib/modules/*/vmlinuz*")])
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
        modules=_subfolder(root, "lib/modules", "usr/lib/modules"),
    )


def _first(folder: Path, names: tuple[str, ...]) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _subfolder(folder: Path, *names: str) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_dir()), None)
