"""The config that a kernel is built with: what is asked for, and what became of it.

The config of Debian's cloud kernel that is nearest in version to a source tree.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

from profdiff.base.atomic import write_atomic
from profdiff.base.bounded import read
from profdiff.base.cache import cache_folder
from profdiff.base.errors import InputError, told
from profdiff.base.temporary import temporary_folder
from profdiff.base.terminal import printable
from profdiff.collectors.architecture import Architecture
from profdiff.collectors.kernels.apt import Apt
from profdiff.collectors.kernels.building.make import UnfitError
from profdiff.collectors.kernels.building.prepared import Prepared
from profdiff.collectors.kernels.deb_package import unpack_into
from profdiff.collectors.kernels.debian import (
    SUITES,
    DebianKernel,
    choose,
    kernel_packages,
    releases,
)

_MAX_BYTES = 8 << 20
# As Kconfig writes them, but for blanks around.
_SET = re.compile(r'(CONFIG_\w+)=([ymn]|-?\d+|0[xX][0-9A-Fa-f]+|"(?:[^"\\]|\\.)*")')
_UNSET = re.compile(r"#\s*(CONFIG_\w+) is not set")
_LINE = re.compile(r"^(?:# )?(CONFIG_\w+)(?:=(.*)| is not set)$", re.MULTILINE)
_WHOLE = re.compile(r"\A(?:#\n)?# Automatically generated file; DO NOT EDIT")
# More than a fragment has.
_MANY = 200
# A release says neither where nor when it was built.
_ALWAYS = "CONFIG_LOCALVERSION_AUTO=n\n"
# Keys that sign modules, the order of structures' members, and noise: of what a build makes at
# random, two builds of the same differ.
_SEEDED = frozenset({"CONFIG_RANDSTRUCT_FULL", "CONFIG_RANDSTRUCT_PERFORMANCE"})
_RANDOM = dict.fromkeys((*sorted(_SEEDED), "CONFIG_GCC_PLUGIN_RANDSTRUCT"), "n") | {
    "CONFIG_GCC_PLUGIN_LATENT_ENTROPY": "n",
    "CONFIG_MODULE_SIG_KEY": '""',
}
_NEEDED = {
    "CONFIG_PRINTK": "messages",
    "CONFIG_TTY": "a console",
    "CONFIG_SERIAL_8250_CONSOLE": "a serial console",
    "CONFIG_BLK_DEV_INITRD": "an initramfs",
    "CONFIG_RD_GZIP": "a gzip initramfs",
    "CONFIG_BINFMT_ELF": "programs",
    "CONFIG_BINFMT_SCRIPT": "scripts",
    "CONFIG_PROC_FS": "/proc",
    "CONFIG_SYSFS": "/sys",
}


@dataclass(frozen=True)
class Requested:
    """``name``: where it is from, for people. ``whole``: ``text`` is a whole config; else it goes
    on top of ``tinyconfig``, and where two lines set an option, the last one holds.
    ``turned_off``: what was asked for (``CONFIG_X=y``) and a build would make at random.
    ``settings``: what is otherwise, ``CONFIG_X=y``, on top of all."""

    name: str
    whole: bool
    text: str
    turned_off: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()

    def having(self, settings: tuple[str, ...]) -> "Requested":
        """The same with ``settings``. Raises InputError for one that each build makes at random."""
        for name, _, value in (one.partition("=") for one in settings):
            if _RANDOM.get(name, value) != value:
                raise InputError(f"{name}={value}: each build generates it at random: leave it out")
        return replace(self, settings=settings)

    @property
    def asked(self) -> str:
        """All that is asked for."""
        return merged(self.text, "".join(f"{one}\n" for one in self.settings))

    @property
    def digest(self) -> str:
        """The same for the same options, whatever is said about them."""
        return self._digest(self.asked if self.settings else self.text)

    @property
    def shared(self) -> str:
        """The digest without ``settings``: of builds that go on from each other."""
        return self._digest(self.text)

    def _digest(self, text: str) -> str:
        asked = sorted(options(text).items())
        return hashlib.sha256(f"{self.whole}\0{asked}".encode()).hexdigest()


def requested(config: str, architecture: Architecture) -> Requested:
    """profdiff's own config (""), or the file ``config``: whole, or a fragment on top of profdiff's
    own. Raises InputError for a file that is not a config."""
    own = (files("profdiff.collectors.kernels") / "guest.config").read_text() + architecture.config
    if not config:
        return Requested("profdiff's own", False, own + _ALWAYS)
    path = Path(config).expanduser()
    try:
        text = read(path, _MAX_BYTES).decode(errors="replace")
    except OSError as error:
        raise InputError(f"config={config}: {told(error)}") from error
    lines = _lines(text, config)
    if not lines:
        raise InputError(f"config={config}: no line sets an option (CONFIG_X=y)")
    whole = len(lines) > _MANY or _WHOLE.match(text.replace("\r", "")) is not None
    asked = options("".join(lines))
    off = {name: value for name, value in _RANDOM.items() if asked.get(name, value) != value}
    if not _SEEDED.isdisjoint(off):
        off["CONFIG_RANDSTRUCT_NONE"] = "y"
    more = "".join([*lines, *map(_written, off, off.values()), _ALWAYS])
    turned_off = tuple(f"{name}={asked[name]}" for name in off if name in _RANDOM)
    if whole:
        return Requested(str(path), True, more, turned_off)
    return Requested(f"profdiff's own and {path}", False, own + more, turned_off)


def _lines(text: str, config: str) -> list[str]:
    """The lines of a config that say something, as Kconfig writes them. Raises InputError for one
    that Kconfig would pass over."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if match := _SET.fullmatch(line) or _UNSET.fullmatch(line):
            value = match[2] if match.re is _SET else "n"
            found.append(_written(match[1], value))
        elif line and not line.startswith("#"):
            raise InputError(
                f"config={config}, line {number}: {printable(line)[:100]} sets no option: write "
                'CONFIG_X=y, m, n, a number or "text", and nothing after it'
            )
    return found


def _written(name: str, value: str) -> str:
    return f"# {name} is not set\n" if value == "n" else f"{name}={value}\n"


def options(text: str) -> dict[str, str]:
    """The value of each option in a config; ``n`` for one that is not set."""
    return {name: value or "n" for name, value in _LINE.findall(text)}


def merged(start: str, more: str) -> str:
    """A config in which the options of ``more`` replace those of ``start``."""
    values = options(more)
    kept = (f"{line}\n" for line in start.splitlines() if _name(line) not in values)
    return "".join([*kept, *map(_written, values, values.values())])


def _name(line: str) -> str:
    match = _LINE.match(line)
    return match[1] if match else ""


def lost(asked: Mapping[str, str], got: Mapping[str, str]) -> list[str]:
    """The options that are not as they were asked for: ``CONFIG_X=y``. What is not there at all is
    not set."""
    return [f"{name}={value}" for name, value in asked.items() if got.get(name, "n") != value]


def check(got: Mapping[str, str], architecture: Architecture, name: str) -> None:
    """Raises UnfitError where a guest cannot work with the config ``got``, called ``name``."""
    needed = {**_NEEDED, **architecture.needed}
    lacking = [f"{option} ({what})" for option, what in needed.items() if got.get(option) != "y"]
    if lacking:
        raise UnfitError(
            f"config {name}: a guest needs {_listed(lacking)} built in, which the config or the "
            "source lacks"
        )


def _listed(words: Iterable[str]) -> str:
    *some, last = words
    return f"{', '.join(some)} and {last}" if some else last


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
