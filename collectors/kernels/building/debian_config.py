"""The config of Debian's cloud kernel that is nearest in version to a source tree."""

import re
from pathlib import Path

from profdiff.base.atomic import write_atomic
from profdiff.base.cache import cache_folder
from profdiff.base.errors import InputError
from profdiff.base.temporary import temporary_folder
from profdiff.collectors.architecture import Architecture
from profdiff.collectors.kernels.apt import Apt
from profdiff.collectors.kernels.building.config import Requested, merged
from profdiff.collectors.kernels.building.prepared import Prepared
from profdiff.collectors.kernels.deb_package import unpack_into
from profdiff.collectors.kernels.debian import (
    SUITES,
    DebianKernel,
    choose,
    kernel_packages,
    releases,
)

# Debian's keys are not in the source, and types for BPF take pahole and minutes.
_WITHOUT = """\
CONFIG_SYSTEM_TRUSTED_KEYS=""
CONFIG_SYSTEM_REVOCATION_KEYS=""
CONFIG_MODULE_SIG_KEY=""
CONFIG_MODULE_SIG=n
CONFIG_DEBUG_INFO_BTF=n
CONFIG_BUILD_SALT=""
CONFIG_LOCALVERSION_AUTO=n
"""
_CONFIG = ("./boot/config-*", "./usr/lib/modules/*/config")


def debian_config(prepared: Prepared, architecture: Architecture) -> Requested:
    """Downloads it, the first time for a version; then it stays the same. Raises InputError where
    the tree says no version, MissingError without apt or network."""
    version = source_version(prepared)
    if known := known_debian_config(version, architecture):
        return known
    release, text = _fetch(version, architecture)
    write_atomic(_place(version, architecture, release), text.encode())
    return _requested(release, text)


def known_debian_config(version: tuple[int, int], architecture: Architecture) -> Requested | None:
    """The one that was downloaded for that version."""
    any_release = _place(version, architecture, "*")
    for path in sorted(any_release.parent.glob(any_release.name)):
        return _requested(path.name.partition("@")[2], path.read_text(errors="replace"))
    return None


def _place(version: tuple[int, int], architecture: Architecture, release: str) -> Path:
    name = f"debian-{version[0]}.{version[1]}-{architecture.debian}@{release}"
    return cache_folder("builds", "configs") / name


def _requested(release: str, text: str) -> Requested:
    return Requested(f"Debian's {release}", True, merged(text, _WITHOUT))


def source_version(prepared: Prepared) -> tuple[int, int]:
    """VERSION and PATCHLEVEL of the tree's Makefile."""
    said = prepared.git.succeeds("cat-file", "blob", f"{prepared.tree}:Makefile") or b""
    text = said.decode(errors="replace")
    found = [re.search(rf"^{name} = (\d+)$", text, re.MULTILINE) for name in _NAMES]
    numbers = [int(one[1]) for one in found if one]
    if len(numbers) != len(_NAMES):
        raise InputError(f"{prepared.git.shown}: its Makefile sets no VERSION: is it a Linux tree?")
    return numbers[0], numbers[1]


_NAMES = ("VERSION", "PATCHLEVEL")


def _fetch(version: tuple[int, int], architecture: Architecture) -> tuple[str, str]:
    flavour = architecture.flavour
    apt = Apt(SUITES, architecture.debian)
    packages = kernel_packages(apt, architecture.debian)
    # If several have that version, take the newest.
    newest_first = reversed(releases(packages, flavour))
    nearest = min(newest_first, key=lambda one: _far(one, version), default=None)
    kernel = choose(packages, nearest, flavour) if nearest else None
    if kernel is None:
        raise InputError(f"Debian's archive has no kernel {flavour}")
    return kernel.release, _config_of(apt, kernel)


def _far(release: str, version: tuple[int, int]) -> tuple[int, int]:
    numbers = [int(word) for word in re.findall(r"\d+", release)[:2]]
    return abs(numbers[0] - version[0]), abs(numbers[1] - version[1])


def _config_of(apt: Apt, kernel: DebianKernel) -> str:
    with temporary_folder() as folder:
        package = kernel.config or kernel.image
        files = apt.download(f"the config of {kernel.release}", [package], folder)
        unpack_into(Path(folder) / "unpacked", files, _CONFIG)
        found = [path for path in (folder / "unpacked").rglob("config*") if path.is_file()]
        if not found:
            raise InputError(f"{package.name} holds no config")
        return found[0].read_text(errors="replace")
