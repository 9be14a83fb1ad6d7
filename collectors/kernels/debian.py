"""Kernels from Debian's archive: ``debian:SUITE`` and ``debian:VERSION``, optionally ``/FLAVOUR``
and ``,arch=ARCH``.

A flavour may name the architecture as well: ``cloud-amd64``, ``arm64``.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from profdiff.base.cache import cache_folder
from profdiff.base.errors import InputError
from profdiff.base.names import did_you_mean
from profdiff.base.terminal import tell
from profdiff.base.units import listed
from profdiff.collectors.architecture import ARCHITECTURES, Architecture, named
from profdiff.collectors.kernels.apt import Apt, Package
from profdiff.collectors.kernels.deb_package import KERNEL_FILES

# Searched for a version; a suite that is named is used whether or not it is listed here.
SUITES = ("bookworm", "bookworm-backports", "trixie", "trixie-backports", "sid")


@dataclass(frozen=True)
class DebianKernel:
    """The packages of one kernel: its image, and where the archive has them, its debug symbols and
    the package with its configuration (which until 6.18 is the image's)."""

    release: str
    image: Package
    debug: Package | None
    config: Package | None

    @property
    def packages(self) -> list[Package]:
        """All of them."""
        return [package for package in (self.image, self.debug, self.config) if package]


def parse(spec: str) -> tuple[str, str, Architecture]:
    """Suite or version, flavour, and the architecture that it is for. Raises InputError for what is
    malformed, or of an architecture that profdiff does not boot."""
    place, *more = spec.removeprefix("debian:").split(",")
    wanted, _, flavour = place.partition("/")
    if (
        not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.+~-]*", wanted)
        or not re.fullmatch(r"[a-z0-9-]*", flavour)
        or len(more) > 1
        or not all(word.startswith("arch=") for word in more)
    ):
        raise InputError(
            f"{spec}: write debian:SUITE or debian:VERSION, optionally with /FLAVOUR and ,arch=ARCH"
        )
    asked = [word.removeprefix("arch=") for word in more]
    architecture = named(asked[0]) if asked else None
    if asked and not architecture:
        known = listed(one.arch for one in ARCHITECTURES)
        other = f", not {asked[0]}" if asked[0] else ": give arch= one of them"
        raise InputError(f"{spec}: profdiff boots {known}{other}")
    # Debian's flavours name the architecture: cloud-amd64, arm64-16k.
    words = flavour.split("-")
    told = next((one for one in ARCHITECTURES if one.debian in words), None)
    if told and architecture and told is not architecture:
        raise InputError(
            f"{spec}: the flavour {flavour} is for {told.arch}, not {architecture.arch}"
        )
    if flavour and not told and not architecture:
        known = " or ".join(one.debian for one in ARCHITECTURES)
        raise InputError(
            f"{spec}: the flavour names no architecture that profdiff boots ({known}): "
            "add ,arch=ARCH"
        )
    architecture = architecture or told or ARCHITECTURES[0]
    if not told:
        flavour = f"{flavour}-{architecture.debian}" if flavour else architecture.flavour
    return wanted, flavour, architecture


def fetch(spec: str) -> Path:
    """The folder in the cache with the files of the kernel that ``spec`` names.

    ``debian:SUITE`` is looked up anew each time, so it may name a newer kernel tomorrow. Raises
    InputError for an unknown suite, version or flavour, MissingError without apt or network.
    """
    wanted, flavour, architecture = parse(spec)
    is_version = wanted[0].isdigit()
    try:
        apt = Apt(SUITES if is_version else (wanted,), architecture.debian)
    except InputError as error:
        meant = did_you_mean(wanted, SUITES)
        raise InputError(f"{error}: {meant}" if meant else str(error)) from error
    packages = kernel_packages(apt, architecture.debian)
    kernel = choose(packages, wanted if is_version else None, flavour)
    if kernel is None:
        available = ", ".join(releases(packages, flavour)[-8:]) or "none"
        raise InputError(
            f"{spec}: the archive has no such kernel with flavour {flavour}; it has {available}"
        )
    if kernel.debug is None:
        tell(
            f"{spec}: {kernel.release} has no debug symbols: inlined functions will not be visible"
        )
    name = f"debian-{kernel.release}-{kernel.image.version}{'-dbg' if kernel.debug else ''}"
    target = cache_folder("kernels") / re.sub(r"[^A-Za-z0-9.+_-]", "_", name)
    return apt.unpack(kernel.release, kernel.packages, target, KERNEL_FILES)


def choose(packages: list[Package], version: str | None, flavour: str) -> DebianKernel | None:
    """The newest kernel of ``flavour`` with debug symbols, else the newest without.

    It has the given ``version``, if that is not None: ``6.17.13``, a release with or without its
    flavour (``6.1.0-50``), a package's version with or without its revision (``6.1.176-1``).
    """
    by_name = {package.name: package for package in packages}
    found: list[DebianKernel] = []
    for release in releases(packages, flavour):
        image = next(
            by_name[name]
            for name in _image_names(release)
            if name in by_name and by_name[name].size > _META_PACKAGE
        )
        if version and version not in _versions(release, image, flavour):
            continue
        debug = by_name.get(f"linux-image-{release}-dbg")
        found.append(DebianKernel(release, image, debug, by_name.get(f"linux-base-{release}")))
    with_debug = [kernel for kernel in found if kernel.debug]
    newest = with_debug or found
    return newest[-1] if newest else None


def _versions(release: str, image: Package, flavour: str) -> set[str]:
    """What a user may call the kernel."""
    abi = release.removesuffix(f"-{flavour}")
    return {release, abi, abi.split("+")[0], image.version, image.version.rpartition("-")[0]}


# Since 6.19 the image is in linux-binary-*, and linux-image-* is an empty package of 2 kB.
_META_PACKAGE = 100_000


def _image_names(release: str) -> list[str]:
    # The signed image first; the unsigned one is the same kernel without its signature.
    return [
        f"linux-binary-{release}",
        f"linux-image-{release}",
        f"linux-binary-unsigned-{release}",
        f"linux-image-{release}-unsigned",
    ]


def releases(packages: list[Package], flavour: str) -> list[str]:
    """Releases of ``flavour`` that have an image, oldest first."""
    found: set[str] = set()
    for package in packages:
        match = re.fullmatch(
            r"linux-(?:image|binary)-(?:unsigned-)?(\d.*?)(?:-unsigned)?", package.name
        )
        if match and package.size > _META_PACKAGE and _flavour(match[1]) == flavour:
            found.add(match[1])
    return sorted(found, key=version_key)


def _flavour(release: str) -> str:
    """``cloud-amd64`` of ``6.12.95+deb12-cloud-amd64`` and of ``6.1.0-50-cloud-amd64``."""
    return re.sub(r"^[\d.]+(~rc\d+)?(\+deb[\d.a-z]+)?-(\d+-)?", "", release)


def version_key(version: str) -> list[tuple[list[int], int]]:
    """Sorts as ``dpkg --compare-versions`` does a version without epoch and revision.

    Parts without and with digits by turns; ``~`` before the end, the end before letters, those
    before all else (deb-version(7)).
    """
    weights = {"~": -1}
    return [
        (
            [*(weights.get(c, ord(c) if c.isalpha() else ord(c) + 256) for c in text), 0],
            int(digits or 0),
        )
        for text, digits in re.findall(r"([^0-9]*)([0-9]*)", version)
    ]


def kernel_packages(apt: Apt, architecture: str) -> list[Package]:
    """All kernel images, debug packages and configurations."""
    kinds = "(?:image|binary|base)-(?:unsigned-)?"
    # arm64 has a flavour with pages of 16 KiB: arm64-16k.
    return apt.packages(rf"linux-{kinds}\d.*-{architecture}(?:-\d+k)?(?:-dbg|-unsigned)?")
