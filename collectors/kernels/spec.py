"""What a user writes for a kernel, ``[LABEL=]SPEC``, taken apart (``docs/kernels.md``)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from profdiff.base.errors import InputError
from profdiff.collectors.kernels.git_spec import GitSpec, is_git

_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")


@dataclass(frozen=True)
class KernelArgument:
    """A kernel as named on the command line."""

    label: str
    spec: str


def is_label(text: str) -> bool:
    """Whether ``text`` can be a kernel's label."""
    return _LABEL.fullmatch(text) is not None


def parse_arguments(
    texts: Sequence[str], option: str = "--kernel", *, repeated: bool = False
) -> list[KernelArgument]:
    """Take ``[LABEL=]SPEC`` apart; a label that is not given is derived from the spec, and unique.

    ``option`` is for messages. ``repeated``: a label may be given several times. Raises InputError
    for an empty spec and for a label given twice.
    """
    split = [_split(text, option) for text in texts]
    given = [label for label, _ in split if label]
    for name in given:
        if given.count(name) > 1 and not repeated:
            raise InputError(f"{option}: the label {name} is given twice")
    taken = set(given)
    arguments = []
    for label, spec in split:
        chosen = label or _unique(derive_label(spec), taken)
        taken.add(chosen)
        arguments.append(KernelArgument(chosen, spec))
    return arguments


def _split(text: str, option: str) -> tuple[str | None, str]:
    before, equals, after = text.partition("=")
    # In IMAGE,vmlinux=ELF and in paths, what stands before = is no label.
    labelled = bool(equals) and is_label(before)
    if equals and not labelled and "/" not in before and "," not in before:
        raise InputError(
            f"{option} {text}: {before!r} is not a valid label: use letters, digits and . _ + - "
            "(at most 64)"
        )
    if not (after if labelled else text):
        raise InputError(f"{option} {text}: no kernel or file is named")
    return (before, after) if labelled else (None, text)


def derive_label(spec: str) -> str:
    """A label for ``spec``: the folder's, file's, suite's or registered name."""
    first = _git_label(spec) or spec.split(",")[0]
    first = re.sub(r"^ssh://(?:[^@/]*@)?([^/:]*).*", r"\1", first)
    name = first.removeprefix("debian:") if first.startswith("debian:") else Path(first).name
    if first.endswith(".deb"):
        name = name.removesuffix(".deb").split("_")[0]
    elif name in ("", ".", ".."):
        name = Path(first).resolve().name
    name = name.removesuffix(".perf.data") if name != ".perf.data" else name
    name = re.sub(r"[^A-Za-z0-9._+-]+", "-", name).strip("-._+")
    return name[:60] or "kernel"


def _git_label(spec: str) -> str:
    try:
        return GitSpec.parse(spec).label.replace("/", "-") if is_git(spec) else ""
    except InputError:
        return ""


def _unique(label: str, taken: set[str]) -> str:
    number, candidate = 2, label
    while candidate in taken:
        candidate, number = f"{label}-{number}", number + 1
    return candidate
