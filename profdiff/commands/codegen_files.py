"""The files whose code ``profdiff codegen`` compares: those that are there, and object files and
kernels that are built for it."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from profdiff.base.errors import InputError
from profdiff.base.outputs import place_of
from profdiff.base.temporary import temporary_folder
from profdiff.collectors.kernels.building.job import BuildJob
from profdiff.collectors.kernels.kinds.git import FromGit
from profdiff.collectors.kernels.kinds.registry import KernelArgument, parse_arguments
from profdiff.collectors.kernels.kinds.spec import Spec
from profdiff.collectors.kernels.label import label_of
from profdiff.collectors.kernels.objects import build_objects
from profdiff.profile.code.file_code import FileCode
from profdiff.symbolization.type_layout import is_symbol_file


@dataclass(frozen=True)
class CodeFiles:
    """``files``: by label, the base's first. ``function``: "" for all functions of the ``object``.
    ``source``: the file that declares it, without a suffix, "" for any."""

    files: dict[str, Path]
    function: str
    object: str
    source: str = ""


@contextmanager
def compiled(
    wanted: str, kernels: Sequence[str], compilers: Sequence[str], cflags: Sequence[str]
) -> Iterator[CodeFiles]:
    """Yield the files, of which those that were built go at the end. Raises InputError, and what
    building a kernel does."""
    if not wanted.isprintable():
        raise InputError(f"{wanted!r} is not a function or an object")
    if is_symbol_file(place_of(wanted.rpartition("=")[2])):
        wanted, kernels = "", [wanted, *kernels]
    sides = _sides(parse_arguments(kernels or ["git:."]), compilers, cflags)
    if len(sides) < 2:
        raise InputError(
            "there is nothing to compare with: name --compilers gcc-12,clang-19, --cflags "
            "or another KERNEL"
        )
    name, function = _parsed(wanted)
    with temporary_folder() as folder:
        files = _files(sides, name, function, folder)
        source = name.removesuffix(".o") if function else ""
        yield CodeFiles(files, function, name or "the files", source)


@dataclass(frozen=True)
class _Side:
    label: str
    spec: Spec
    flags: str


def _sides(
    arguments: Sequence[KernelArgument], compilers: Sequence[str], cflags: Sequence[str]
) -> list[_Side]:
    """Each kernel with each compiler, with each of the flags behind that without."""
    found = []
    for argument in arguments:
        several = [argument.label] if len(arguments) > 1 else []
        spec = argument.spec
        if not (compilers or cflags):
            found.append(_Side(argument.label, spec, ""))
            continue
        if not isinstance(spec, FromGit):
            raise InputError(
                f"{argument.label} ({spec}) is already built: --compilers and --cflags are for "
                "git:REPO@REV"
            )
        if compilers and spec.git.compiler:
            raise InputError(f"{spec}: leave out cc= or --compilers")
        for compiler in compilers or [spec.git.compiler]:
            git = FromGit.of(replace(spec.git, compiler=compiler))
            for flags in ["", *cflags]:
                words = [*several, *([compiler] if compilers else []), flags.strip(" -")]
                label = label_of("-".join(filter(None, words)) or "base")
                found.append(_Side(label, git, flags))
    labels = [side.label for side in found]
    if again := next((label for label in labels if labels.count(label) > 1), None):
        raise InputError(f"two sides have the label {again}: name each compiler and --cflags once")
    return found


def _parsed(wanted: str) -> tuple[str, str]:
    """An object, and a function; "" for what is not named."""
    name, colon, function = wanted.partition(":")
    if not colon:
        return (wanted, "") if wanted.endswith(".o") else ("", wanted)
    if not name.endswith(".o") or not function:
        raise InputError(f"{wanted}: write OBJECT:FUNCTION, as in mm/mprotect.o:change_pte_range")
    return name, function


def _files(sides: Sequence[_Side], name: str, function: str, folder: Path) -> dict[str, Path]:
    if name and (not re.fullmatch(r"[\w+./-]+", name) or ".." in name.split("/")):
        raise InputError(f"{name} is not an object file of a tree, as mm/mprotect.o is")
    found: dict[str, Path] = {}
    jobs = {}
    for side in sides:
        if isinstance(side.spec, FromGit) and not side.spec.git.link_time:
            jobs[side.label] = BuildJob.of(side.spec.git)
    for side in sides:
        job = jobs.get(side.label)
        if job is None:
            if side.flags:
                raise InputError(f"{side.spec}: --cflags is for object files: leave lto= out")
            found[side.label] = side.spec.elf(side.label)
            continue
        built = build_objects(job, side.label, name or function, folder, flags=side.flags)
        found[side.label] = _one(built, folder / side.label, function)
    return {side.label: found[side.label] for side in sides}


def _one(built: Sequence[Path], folder: Path, function: str) -> Path:
    """The object file that has the function, of several that seemed to."""
    if len(built) == 1:
        return built[0]
    having = [path for path in built if function in FileCode(path).by_name] or list(built)
    if len(having) > 1:
        names = [str(path.relative_to(folder)) for path in having]
        raise InputError(f"{function} is in {', '.join(names)}: name one: {names[0]}:{function}")
    return having[0]
