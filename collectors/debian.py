"""Kernels from Debian's archive: ``debian:SUITE`` and ``debian:VERSION``, optionally ``/FLAVOUR``.

apt does it, with a state of its own in the cache: the system's sources, lists and keys stay as they
are, and signatures are checked with Debian's archive keyring.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from profdiff.cache import cache_folder
from profdiff.collectors.deb_package import locked, unpack_into
from profdiff.collectors.programs import find_program
from profdiff.errors import InputError, MissingError

MIRROR = "http://deb.debian.org/debian"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
# Searched for a version; a suite that is named is used whether or not it is listed here.
SUITES = ("bookworm", "bookworm-backports", "trixie", "trixie-backports", "sid")
# A third of the size of plain amd64, and meant for virtual machines.
DEFAULT_FLAVOUR = "cloud-amd64"


@dataclass(frozen=True)
class Package:
    """A binary package as apt lists it; ``size`` in bytes."""

    name: str
    version: str
    size: int


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


def fetch(spec: str) -> Path:
    """The folder in the cache with the files of the kernel that ``spec`` names.

    ``debian:SUITE`` is looked up anew each time, so it may name a newer kernel tomorrow. Raises
    InputError for an unknown suite, version or flavour, MissingError without apt or network.
    """
    wanted, _, flavour = spec.removeprefix("debian:").partition("/")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.+~-]*", wanted) or not re.fullmatch(
        r"[a-z0-9-]*", flavour
    ):
        raise InputError(f"{spec}: write debian:SUITE or debian:VERSION, optionally with /FLAVOUR")
    flavour = flavour or DEFAULT_FLAVOUR
    is_version = wanted[0].isdigit()
    apt = Apt(SUITES if is_version else (wanted,))
    kernel = choose(apt.kernel_packages(), wanted if is_version else None, flavour)
    if kernel is None:
        available = ", ".join(releases(apt.kernel_packages(), flavour)[-8:]) or "none"
        raise InputError(
            f"{spec}: the archive has no such kernel of flavour {flavour}; it has {available}"
        )
    if kernel.debug is None:
        _say(
            f"{spec}: {kernel.release} has no debug symbols: inlined functions will not be visible"
        )
    name = f"debian-{kernel.release}-{kernel.image.version}{'-dbg' if kernel.debug else ''}"
    target = cache_folder("kernels") / re.sub(r"[^A-Za-z0-9.+_-]", "_", name)
    # Not '.NAME.': folders of that name are unpack_into's.
    prefix = f".download-{target.name}."
    # Whoever else wants this kernel waits here, and then finds it.
    with locked(target.with_name(f"{prefix}lock")):
        if not target.is_dir():
            for stale in target.parent.glob(f"{prefix}*/"):
                shutil.rmtree(stale, ignore_errors=True)
            with tempfile.TemporaryDirectory(dir=target.parent, prefix=prefix) as folder:
                files = apt.download(kernel, Path(folder))
                _say(f"{kernel.release}: unpacking")
                unpack_into(target.name, files)
    return target


def choose(packages: list[Package], version: str | None, flavour: str) -> DebianKernel | None:
    """The newest kernel of ``flavour`` with debug symbols, else the newest without.

    Of a given ``version`` if it is not None: ``6.17.13``, a release with or without its flavour
    (``6.1.0-50``), a package's version with or without its revision (``6.1.176-1``).
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


# Hooks of the system's configuration would run for this apt too, and change what is the system's:
# docker-clean empties /var/cache/apt, appstream refreshes its cache. #clear is for files only.
_CONFIGURATION = """\
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
"""


class Apt:
    """apt with a state of its own for the given suites."""

    def __init__(self, suites: tuple[str, ...]) -> None:
        """Fetch the suites' package lists. Raises InputError for an unknown suite, MissingError."""
        self._folder = cache_folder("apt", "-".join(suites))
        for name in ("lists/partial", "archives/partial", "parts"):
            (self._folder / name).mkdir(parents=True, exist_ok=True)
        (self._folder / "status").touch()
        find_program("apt-get")
        if not Path(KEYRING).exists():
            raise MissingError(f"{KEYRING} is missing: apt-get install debian-archive-keyring")
        _say(f"reading Debian's package lists: {', '.join(suites)}")
        with locked(self._folder / "lock"):
            problem = None
            try:
                self._update(suites)
            except MissingError as error:
                problem = error
            # Within the lock: another process may replace the lists.
            self._dump = self._run(["apt-cache", "dumpavail"]).stdout
        if problem and not self._dump.strip():
            raise problem
        if problem:
            # A kernel that is in the cache is found without a network.
            _say(f"{problem}; using the lists that were fetched before")

    def _update(self, suites: tuple[str, ...]) -> None:
        (self._folder / "apt.conf").write_text(_CONFIGURATION)
        lines = [f"deb [signed-by={KEYRING}] {MIRROR} {suite} main\n" for suite in suites]
        (self._folder / "sources.list").write_text("".join(lines))
        result = self._run(["apt-get", "-q", "update"])
        problems = [
            line for line in result.stderr.splitlines() if line.startswith(("E:", "W:", "Err:"))
        ]
        if result.returncode != 0 or any("Failed to fetch" in line for line in problems):
            text = " ".join(problems)
            if "does not have a Release file" in text or "404" in text:
                raise InputError(f"Debian's archive has no suite {' or '.join(suites)}")
            raise MissingError(f"cannot read Debian's package lists: {(problems or ['?'])[0]}")

    def _options(self) -> list[str]:
        folder = self._folder
        options = {
            "Dir::State": folder,
            "Dir::State::Lists": folder / "lists",
            "Dir::State::status": folder / "status",
            "Dir::Cache": folder,
            "Dir::Cache::Archives": folder / "archives",
            "Dir::Etc::SourceList": folder / "sources.list",
            "Dir::Etc::SourceParts": folder / "parts",
            "APT::Sandbox::User": "root" if os.geteuid() == 0 else "",
            "APT::Get::List-Cleanup": "true",
            "Acquire::Languages": "none",
            "APT::Architecture": "amd64",
            "APT::Architectures": "amd64",
            # Whatever the system's configuration allows.
            "Acquire::AllowInsecureRepositories": "false",
            "Acquire::AllowWeakRepositories": "false",
            "Acquire::AllowDowngradeToInsecureRepositories": "false",
            "APT::Get::AllowUnauthenticated": "false",
            # appstream asks for descriptions of applications, a third of all that is downloaded.
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
        }
        settings = [part for key, value in options.items() for part in ("-o", f"{key}={value}")]
        return ["-c", str(folder / "apt.conf"), *settings]

    def _run(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        program = find_program(command[0])
        return subprocess.run(
            [str(program), *self._options(), *command[1:]],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        )

    def packages(self, pattern: str) -> list[Package]:
        """All packages whose name matches the regular expression ``pattern``."""
        found = []
        for stanza in self._dump.split("\n\n"):
            fields = dict(re.findall(r"^(Package|Version|Size): (\S+)$", stanza, re.MULTILINE))
            if len(fields) == 3 and re.fullmatch(pattern, fields["Package"]):
                found.append(Package(fields["Package"], fields["Version"], int(fields["Size"])))
        return found

    def kernel_packages(self) -> list[Package]:
        """All kernel images, debug packages and configurations."""
        return self.packages(
            r"linux-(?:image|binary|base)-(?:unsigned-)?\d.*-amd64(?:-dbg|-unsigned)?"
        )

    def download(self, kernel: DebianKernel, folder: Path) -> list[Path]:
        """Download the packages of ``kernel`` to ``folder``, having said how much it is."""
        return self.download_packages(kernel.release, kernel.packages, folder)

    def download_packages(self, what: str, packages: list[Package], folder: Path) -> list[Path]:
        """Download ``packages`` to ``folder``; signatures are checked. Raises MissingError."""
        total = sum(package.size for package in packages)
        _say(f"{what}: downloading {total / 1e6:.0f} MB from {MIRROR}")
        names = [f"{package.name}={package.version}" for package in packages]
        command = [str(find_program("apt-get")), *self._options(), "-q", "download", *names]
        read, write = os.pipe()
        process = subprocess.Popen(
            [*command, "-o", f"APT::Status-Fd={write}"],
            cwd=folder,
            pass_fds=[write],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "LC_ALL": "C"},
        )
        os.close(write)
        with os.fdopen(read) as status:
            _show_download(status, what, total)
        errors = process.communicate()[1]
        files = sorted(folder.glob("*.deb"))
        if process.returncode != 0 or len(files) != len(packages):
            reason = next((line for line in errors.splitlines() if line.startswith("E:")), "?")
            raise MissingError(f"{what}: the download failed ({reason}): try again")
        return files


def _show_download(status: Iterable[str], what: str, total: int) -> None:
    """A bar on a terminal, fed by apt's status lines (``dlstatus:FILE:PERCENT:TEXT``)."""
    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn()
    progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    with progress:
        task = progress.add_task(what, total=total)
        for line in status:
            fields = line.split(":")
            if fields[0] == "dlstatus" and len(fields) > 2:
                progress.update(task, completed=total * float(fields[2]) / 100)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
