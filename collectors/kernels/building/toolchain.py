"""The compiler that builds a kernel, and how make is told of it."""

import functools
import hashlib
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from profdiff.base.errors import InputError, MissingError
from profdiff.base.terminal import printable
from profdiff.collectors.architecture import Architecture
from profdiff.collectors.programs import find_program, fix

_NAME = re.compile(r"[\w+.-]+")
# Their versions are options of the config, which the kernel holds (CONFIG_IKCONFIG).
_IN_CONFIG = ("pahole", "rustc")
_CLANG = re.compile(r"clang(-\d+)?")


@dataclass(frozen=True)
class Toolchain:
    """``arguments`` of make; ``version``: the first line that the compiler says of its version;
    ``others``: the same of its linker and of programs whose versions the config says, which the
    kernel may hold; "" for one that is not installed. ``digest``: of what ``program`` and, of gcc,
    the compiler behind it are: two may say the same version. ``objcopy`` is the one for its
    files."""

    program: Path
    arguments: tuple[str, ...]
    version: str
    others: tuple[str, ...]
    digest: str
    objcopy: Path


def find_toolchain(compiler: str, architecture: Architecture) -> Toolchain:
    """The one that ``compiler`` names: ``gcc-13``, ``clang-18``, a file; "" is the default gcc.

    clang comes with LLVM's own tools, as Documentation/kbuild/llvm.rst says. Raises InputError for
    what is not a compiler, MissingError where it is not installed.
    """
    cross = "" if architecture.is_host else f"{architecture.triplet}-"
    place = Path(compiler).expanduser()
    if "/" in compiler:
        if not place.is_file() or not re.fullmatch(r"[\w+./-]+", str(place)):
            raise InputError(f"cc={compiler}: there is no such compiler, or make cannot call it so")
        program = place.absolute()
    elif (compiler and not _NAME.fullmatch(compiler)) or compiler.startswith("-"):
        raise InputError(f"cc={compiler}: write cc=gcc-13, cc=clang-18 or the compiler's file")
    else:
        name = compiler or "gcc"
        whole = _CLANG.fullmatch(name) or name.startswith(cross)
        name = name if whole else f"{cross}{name}"
        program = _program(name)
    version = _first_line(program)
    called = str(program) if "/" in compiler else program.name
    wrapped = f"ccache {called}" if shutil.which("ccache") else called
    # As make itself calls this machine: tinyconfig of ARCH=x86 is for 32 bits, so that options of
    # 64 bits get their defaults with CONFIG_64BIT (vmap stacks, five levels of page tables).
    arguments = [f"ARCH={architecture.make}"]
    if "clang" in version:
        suffix = match[1] or "" if (match := _CLANG.fullmatch(program.name)) else ""
        # A file's own tools beside it, where there are some.
        beside = "/" in compiler and (program.parent / f"ld.lld{suffix}").is_file()
        linker, objcopy = (
            program.parent / name if beside else _program(name)
            for name in (f"ld.lld{suffix}", f"llvm-objcopy{suffix}")
        )
        tools = f"{program.parent}/" if beside and not suffix else suffix or "1"
        arguments += [f"LLVM={tools}", f"CC={wrapped}"]
    else:
        objcopy = _program(f"{cross}objcopy")
        linker = _program(f"{cross}ld")
        arguments += [f"CC={wrapped}", *([f"CROSS_COMPILE={cross}"] if cross else [])]
    others = (_first_line(linker), *(_version_of(name) for name in _IN_CONFIG))
    return Toolchain(program, tuple(arguments), version, others, _digest(program), objcopy)


def _version_of(name: str) -> str:
    """What a program that need not be there says of its version."""
    found = shutil.which(name)
    try:
        return _first_line(Path(found)) if found else ""
    except InputError:
        return ""


def _digest(program: Path) -> str:
    """The digest of a compiler's driver, and of the programs that it starts to compile C."""
    said = _said(program, "-print-prog-name=cc1").strip()
    # A name without a folder is what a compiler says that has no such program.
    behind = [Path(said)] if "/" in said and Path(said).is_file() else []
    digests = [_file_digest(path, path.stat().st_mtime_ns) for path in [program, *behind]]
    return "\0".join(digests)


@functools.cache
def _file_digest(path: Path, _time: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _program(name: str) -> Path:
    found = shutil.which(name)
    if found is None:
        llvm = re.fullmatch(r"(?:ld\.lld|llvm-objcopy)(-\d+)?", name)
        number = (llvm[1] if llvm else "") or ""
        package = f"apt-get install lld{number} llvm{number}" if llvm else fix(name)
        raise MissingError(f"{name} is not installed: {package}")
    return Path(found)


def _first_line(program: Path) -> str:
    lines = _said(program, "--version").splitlines()
    if not lines:
        raise InputError(f"{program} is not a compiler: {program} --version prints nothing")
    return printable(lines[0])[:200]


def _said(program: Path, question: str) -> str:
    """What it says to ``question``; "" where it fails. Raises InputError where it does not run."""
    try:
        done = subprocess.run(
            [str(program), question],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            check=False,
            timeout=60,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"{program} does not run: {error}") from error
    return "" if done.returncode else done.stdout.decode(errors="replace")


def needed(*names: str) -> None:
    """Raises MissingError for the first program that is not installed."""
    for name in names:
        find_program(name)
