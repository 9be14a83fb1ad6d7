"""Debian's archive, read by apt with a state of its own in the cache.

The system's sources, lists and keys stay as they are; signatures are checked with Debian's archive
keyring.
"""

import os
import re
import subprocess
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from profdiff.base import processes
from profdiff.base.cache import cache_folder
from profdiff.base.errors import InputError, MissingError
from profdiff.base.temporary import temporary_folder
from profdiff.base.terminal import tell
from profdiff.collectors.architecture import ARCHITECTURES
from profdiff.collectors.kernels.deb_package import locked, unpack_into
from profdiff.collectors.programs import find_program

# Hooks of the system's configuration would run for this apt too, and change what is the system's:
# docker-clean empties /var/cache/apt, appstream refreshes its cache. Lists are not valid for longer
# than their archive says. #clear is for files only.
_CONFIGURATION = """\
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear Acquire::Min-ValidTime;
"""


_DEBIAN = ARCHITECTURES[0].debian
MIRROR = "http://deb.debian.org/debian"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
# Seconds that apt has for lists, and for packages as many more as a line of so many bytes a second
# takes: apt itself bounds each read alone.
_SECONDS, _SLOWEST = 900.0, 50_000


@dataclass(frozen=True)
class Package:
    """A binary package as apt lists it; ``size`` in bytes."""

    name: str
    version: str
    size: int


class Apt:
    """apt with a state of its own for the given suites and Debian architecture."""

    def __init__(self, suites: tuple[str, ...], architecture: str = _DEBIAN) -> None:
        """Fetch the suites' package lists. Raises InputError for an unknown suite, MissingError."""
        self._architecture = architecture
        foreign = [] if architecture == _DEBIAN else [architecture]
        self._folder = cache_folder("apt", "-".join([*suites, *foreign]))
        for name in ("lists/partial", "archives/partial", "parts"):
            (self._folder / name).mkdir(parents=True, exist_ok=True)
        (self._folder / "status").touch()
        find_program("apt-get")
        if not Path(KEYRING).exists():
            raise MissingError(f"{KEYRING} is missing: apt-get install debian-archive-keyring")
        tell(f"reading Debian's package lists: {', '.join(suites)}")
        with self._lists(replace=True):
            problem = None
            try:
                self._update(suites)
            except MissingError as error:
                problem = error
            self._dump = self._run(["apt-cache", "dumpavail"]).stdout
        if problem and not self._dump.strip():
            raise problem
        if problem:
            # A kernel that is in the cache is found without a network.
            tell(f"{problem}; using the lists that were fetched before")

    def _lists(self, *, replace: bool = False) -> AbstractContextManager[None]:
        """Held while the lists are read, or by the one process that may ``replace`` them."""
        return locked(self._folder / "lock", shared=not replace)

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
            "APT::Architecture": self._architecture,
            "APT::Architectures": self._architecture,
            # Whatever the system's configuration allows.
            "Acquire::AllowInsecureRepositories": "false",
            "Acquire::AllowWeakRepositories": "false",
            "Acquire::AllowDowngradeToInsecureRepositories": "false",
            "APT::Get::AllowUnauthenticated": "false",
            "Acquire::Check-Valid-Until": "true",
            "Acquire::Check-Date": "true",
            # appstream asks for descriptions of applications, a third of all that is downloaded.
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
        }
        settings = [part for key, value in options.items() for part in ("-o", f"{key}={value}")]
        return ["-c", str(folder / "apt.conf"), *settings]

    def _run(
        self,
        command: list[str],
        *,
        folder: Path | None = None,
        seconds: float = 0.0,
        pass_fds: Sequence[int] = (),
    ) -> "subprocess.CompletedProcess[str]":
        program, seconds = find_program(command[0]), _SECONDS + seconds
        try:
            return processes.run(
                [str(program), *self._options(), *command[1:]],
                seconds,
                folder=folder,
                environment={**os.environ, "LC_ALL": "C"},
                pass_fds=pass_fds,
            )
        except subprocess.TimeoutExpired:
            raise MissingError(
                f"{command[0]} took longer than {seconds / 60:,.0f} minutes: {MIRROR}, or a proxy "
                "before it, is too slow: try again later"
            ) from None

    def packages(self, pattern: str) -> list[Package]:
        """All packages whose name matches the regular expression ``pattern``."""
        found = []
        for stanza in self._dump.split("\n\n"):
            fields = dict(re.findall(r"^(Package|Version|Size): (\S+)$", stanza, re.MULTILINE))
            if len(fields) == 3 and re.fullmatch(pattern, fields["Package"]):
                found.append(Package(fields["Package"], fields["Version"], int(fields["Size"])))
        return found

    def closure(self, names: Sequence[str]) -> list[Package]:
        """The packages of those names and all that they depend on. Raises MissingError."""
        with self._lists():
            command = ["apt-get", "-s", "-q", "install", "--no-install-recommends", *names]
            result = self._run(command)
        # "Inst NAME (VERSION SUITE [ARCHITECTURE])"
        wanted = dict(re.findall(r"^Inst (\S+) \((\S+) ", result.stdout, re.MULTILINE))
        if result.returncode != 0 or not wanted:
            reason = next((x for x in result.stderr.splitlines() if x.startswith("E:")), "?")
            raise MissingError(f"Debian's archive cannot give {', '.join(names)}: {reason}")
        known = {(package.name, package.version): package for package in self.packages(".*")}
        bare = [(name.partition(":")[0], version) for name, version in wanted.items()]
        return [known[key] for key in bare if key in known]

    def download(self, what: str, packages: list[Package], folder: Path) -> list[Path]:
        """Download ``packages`` to ``folder``; signatures are checked. Raises MissingError."""
        total = sum(package.size for package in packages)
        tell(f"{what}: downloading {total / 1e6:.0f} MB from {MIRROR}")
        names = [f"{package.name}={package.version}" for package in packages]
        with self._lists():
            read, write = os.pipe()
            shown = threading.Thread(target=_show_download, args=(read, what, total))
            shown.start()
            try:
                result = self._run(
                    ["apt-get", "-q", "-o", f"APT::Status-Fd={write}", "download", *names],
                    folder=folder,
                    seconds=total / _SLOWEST,
                    pass_fds=[write],
                )
            finally:
                os.close(write)
                shown.join()
        files = sorted(folder.glob("*.deb"))
        if result.returncode != 0 or len(files) != len(packages):
            reason = next(
                (line for line in result.stderr.splitlines() if line.startswith("E:")), "?"
            )
            raise MissingError(f"{what}: the download failed ({reason}): try again")
        return files

    def unpack(
        self, what: str, packages: list[Package], target: Path, wanted: Sequence[str]
    ) -> Path:
        """The folder ``target`` with what matches ``wanted`` (tar's wildcards) of ``packages``;
        downloaded if it is not there. Raises MissingError, InputError."""
        # Whoever else wants the same waits here, and then finds it. '.NAME.lock' is unpack_into's.
        with locked(target.with_name(f".download-{target.name}.lock")):
            if not target.is_dir():
                with temporary_folder(beside=target) as folder:
                    files = self.download(what, packages, folder)
                    tell(f"{what}: unpacking")
                    unpack_into(target, files, wanted)
        return target


def _show_download(read: int, what: str, total: int) -> None:
    """A bar on a terminal, fed by apt's status lines (``dlstatus:FILE:PERCENT:TEXT``) up to their
    end."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    from profdiff.base.console import CleanConsole

    console = CleanConsole(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn()
    progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    with os.fdopen(read, errors="replace") as status, progress:
        task = progress.add_task(what, total=total)
        for line in status:
            fields = line.split(":")
            if fields[0] == "dlstatus" and len(fields) > 2:
                progress.update(task, completed=total * float(fields[2]) / 100)
