"""The kinds of SPEC, which of them a text is, and ``[LABEL=]SPEC`` taken apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from profdiff.base import bounded
from profdiff.base.errors import InputError
from profdiff.base.names import did_you_mean
from profdiff.base.outputs import place_of
from profdiff.collectors.kernels.address import LOCAL
from profdiff.collectors.kernels.debian import SUITES
from profdiff.collectors.kernels.git_spec import git_meant
from profdiff.collectors.kernels.kinds.debian import Debian, Packages
from profdiff.collectors.kernels.kinds.git import FromGit
from profdiff.collectors.kernels.kinds.machine import Machine
from profdiff.collectors.kernels.kinds.path import Folder, Image, PathSpec
from profdiff.collectors.kernels.kinds.spec import Spec
from profdiff.collectors.kernels.label import is_label, label_of, labelled
from profdiff.collectors.kernels.registered import registered
from profdiff.collectors.kernels.variant import split
from profdiff.collectors.records import NO_VARIANT, Variant

# Those that their text tells come before those that only the files tell.
KINDS: list[type[Spec]] = [Machine, FromGit, Debian, Packages, Folder, Image]


def parse(text: str) -> Spec:
    """The SPEC that ``text`` is, or stands for: a folder or file, which can be seen, comes before a
    registered name. What leads nowhere says so when it is located. What its guest is given is left
    out. Raises InputError where it is malformed."""
    return parse_varied(text)[0]


def parse_varied(text: str, names: tuple[str, ...] = ()) -> tuple[Spec, Variant]:
    """The same, and what its guest is given; what a registered name says of that comes first.
    ``names``: those that led here. Raises InputError where one of both is malformed, and for a
    machine that is given something."""
    bare, variant = split(text)
    if bare.endswith(",vmlinux="):
        raise InputError(f"{bare}: no file is named after vmlinux=")
    spec, own = _parse(bare, names)
    variant = own.also(variant)
    if isinstance(spec, Machine) and variant != NO_VARIANT:
        name = variant.words[0].partition("=")[0] if not variant.append else "append"
        raise InputError(
            f"{text}: {name}= is for a guest, and {spec} runs its kernel already: leave it out"
        )
    return spec, variant


def _parse(text: str, names: tuple[str, ...]) -> tuple[Spec, Variant]:
    for kind in KINDS:
        if (found := kind.parse(text)) is not None:
            return found, NO_VARIANT
    if is_label(text) and (known := registered().get(text)) is not None:
        if text in names:
            raise InputError(f"the name {text} refers to itself: register it again")
        return parse_varied(known, (*names, text))
    return _Nowhere(text), NO_VARIANT


def derive_label(text: str) -> str:
    """A label for a SPEC: the folder's, file's, suite's, revision's or registered name, with what
    its guest is given. Raises what ``parse`` does."""
    bare, variant = split(text)
    spec = parse(bare)
    # A name that is registered stays; a path's is its last part.
    name = bare if is_label(bare) and spec.text != bare else spec.name
    return label_of("-".join([name, *variant.words]))


def beside(text: str, folder: Path) -> str | None:
    """A SPEC in a file in ``folder``, as it is seen from the current folder; None where it may be
    a path."""
    kind = next((kind for kind in KINDS if kind.prefix and text.startswith(kind.prefix)), None)
    return kind.beside(text, folder) if kind else None


def check_name(name: str) -> None:
    """Raises InputError where ``name`` is not a label, or is a SPEC itself."""
    if not is_label(name):
        raise InputError(f"{name!r} is not a name: use letters, digits and . _ + - (at most 64)")
    if any(not issubclass(kind, PathSpec) and kind.parse(name) for kind in KINDS):
        raise InputError(f"{name} is a SPEC itself, which a name cannot replace: choose another")


@dataclass(frozen=True)
class _Nowhere(PathSpec):
    """What is none of the kinds, and not registered."""

    @classmethod
    def parse(cls, text: str) -> "_Nowhere":
        return cls(text)

    def locate(self, label: str, *, quiet: bool = False) -> NoReturn:
        meant = self._meant()
        if is_label(self.text):
            meant = meant or (
                f"profdiff kernel add {self} FOLDER registers a folder with bzImage and vmlinux; "
                "debian:SUITE needs no files"
            )
            raise InputError(
                f"{self} is not a folder or file here, and no kernel of that name is registered: "
                f"{meant}"
            )
        meant = meant or "see profdiff record --help for what a SPEC may be"
        raise InputError(f"no such kernel: {self}: {meant}")

    def _meant(self) -> str:
        """What was meant, "" if nobody can tell."""
        several = self.text.split(",")
        if len(several) > 1 and all(place_of(one).exists() for one in several):
            if len(several) == 2 and bounded.file_kind(place_of(several[1])) == "an ELF file":
                return f"did you mean {several[0]},vmlinux={several[1]}?"
            return f"write {' '.join(f'--kernel {one}' for one in several)}"
        before, colon, rest = self.text.partition(":")
        if colon:
            prefixes = [kind.prefix for kind in KINDS if kind.prefix]
            return did_you_mean(
                before, {prefix.rstrip(":"): f"{prefix}{rest}" for prefix in prefixes}
            )
        if meant := git_meant(self.text):
            return f"did you mean {meant}?"
        suites = {suite: f"{Debian.prefix}{suite}" for suite in SUITES}
        return did_you_mean(self.text, suites | {name: name for name in (LOCAL, *registered())})


@dataclass(frozen=True)
class KernelArgument:
    """A kernel as named on the command line, and what its guest is given."""

    label: str
    spec: Spec
    variant: Variant = NO_VARIANT


def parse_arguments(texts: Sequence[str], *, repeated: bool = False) -> list[KernelArgument]:
    """Kernels, each with a label. ``repeated``: a label may be given several times. Raises
    InputError for a SPEC that is empty or malformed, and for a label given twice."""
    found = labelled(texts, derive_label)
    arguments = [KernelArgument(label, *parse_varied(spec)) for label, spec in found]
    return arguments if repeated else once(arguments)


def once(arguments: Sequence[KernelArgument]) -> list[KernelArgument]:
    """``arguments``. Raises InputError for a label given twice."""
    labels = [argument.label for argument in arguments]
    if again := next((name for name in labels if labels.count(name) > 1), None):
        raise InputError(f"--kernel: the label {again} is given twice")
    return list(arguments)
