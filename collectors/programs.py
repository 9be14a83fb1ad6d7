"""Programs of this machine that collectors call."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from profdiff.base.errors import InputError, MissingError
from profdiff.base.outputs import place_of
from profdiff.collectors.architecture import ARCHITECTURES

# What Debian and its relatives call the package that holds a program.
_PACKAGES = {
    "perf": "linux-perf",
    "ssh": "openssh-client",
    "busybox": "busybox-static",
    "cc": "gcc libc6-dev",
    "c++": "g++",
    "ld": "binutils",
    "objcopy": "binutils",
} | {
    name: package
    for architecture in ARCHITECTURES
    for name, package in architecture.packages.items()
}
# Likewise, of programs that are workloads, or run them.
_SAME = (
    "bash bc bonnie++ dash dbench fio fish gawk gcc git hyperfine iozone3 iperf3 jq make memcached "
    "netperf nginx numactl openssl parallel perl python3 redis-server ruby sqlite3 strace stress "
    "stress-ng sudo sysbench time wrk zsh zstd"
)
_WORKLOADS = {name: name for name in _SAME.split()} | {
    "7z": "p7zip-full",
    "ab": "apache2-utils",
    "cyclictest": "rt-tests",
    "hackbench": "rt-tests",
    "iozone": "iozone3",
    "java": "default-jre-headless",
    "lua": "lua5.4",
    "memtier_benchmark": "memtier-benchmark",
    "netserver": "netperf",
    "node": "nodejs",
    "perf": "linux-perf",
    "pgbench": "postgresql-contrib",
    "php": "php-cli",
    "pi_stress": "rt-tests",
    "redis-benchmark": "redis-tools",
    "tbench": "dbench",
    "xz": "xz-utils",
}
# Releases of Debian whose backports have a QEMU that is newer by more than its fixes.
_BACKPORTED = ("bookworm",)
_DEBIANS_OWN = ("apt-get", "apt-cache", "dpkg-deb")


def fix(name: str) -> str:
    """What to do where the program ``name`` is not on PATH."""
    if name in _DEBIANS_OWN:
        return (
            "Debian's packages need Debian or a derivative; name the kernel's image and vmlinux "
            "instead"
        )
    return f"apt-get install {_PACKAGES.get(name, name)}"


def newer(name: str, release: Path = Path("/etc/os-release")) -> str:
    """What installs a newer version of the program ``name`` than this machine's Debian has by
    itself; "" where nothing is known to."""
    try:
        told = release.read_text(errors="replace")
    except OSError:
        return ""
    words = dict(line.partition("=")[::2] for line in told.splitlines())
    suite = words.get("VERSION_CODENAME", "").strip("\"'")
    if words.get("ID") != "debian" or suite not in _BACKPORTED:
        return ""
    source = f"deb http://deb.debian.org/debian {suite}-backports main"
    return (
        f"echo '{source}' > /etc/apt/sources.list.d/backports.list && apt-get update && "
        f"apt-get install -t {suite}-backports {_PACKAGES.get(name, name)}"
    )


def find_program(name: str) -> Path:
    """The program ``name`` on PATH. Raises MissingError that says what to do."""
    path = shutil.which(name)
    if path is None:
        raise MissingError(f"{name} is not installed: {fix(name)}")
    return Path(path)


def program_named(option: str, text: str) -> Path:
    """The program that ``text`` of an ``option`` names: a file, or one on PATH. Raises
    InputError."""
    path = place_of(text)
    if path.is_file() and os.access(path, os.X_OK):
        return path.absolute() if "/" not in text else path
    found = shutil.which(text) if "/" not in text else None
    if found is None:
        what = "is not a program that can be executed" if path.exists() else "is not a file here"
        where = "" if "/" in text else ", nor on PATH"
        raise InputError(f"{option} {text}: that {what}{where}: name the program's file")
    return Path(found)


def package_of(name: str) -> str:
    """What installs a program that a workload is made of, as a clause; "" where no package is
    known."""
    package = _WORKLOADS.get(name)
    return f"apt-get install {package}" if package else ""


def every_program(name: str) -> Iterator[Path]:
    """The programs of that name on PATH, and in the usual places for what no package installs; each
    once, though /bin be /usr/bin."""
    usual = ("/usr/local/bin", *sorted(map(str, Path("/opt").glob("*/bin"))))
    seen = set[Path]()
    for folder in dict.fromkeys([*os.environ.get("PATH", "").split(os.pathsep), *usual]):
        if folder and (path := shutil.which(name, path=folder)):
            if (real := Path(path).resolve()) not in seen:
                yield Path(path)
            seen.add(real)
