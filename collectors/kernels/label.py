"""What a kernel is called in a session."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from profdiff.base.errors import InputError

_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")


def is_label(text: str) -> bool:
    """Whether ``text`` can be a kernel's label."""
    return _LABEL.fullmatch(text) is not None


def label_of(name: str) -> str:
    """A label of the characters of ``name``."""
    return re.sub(r"[^A-Za-z0-9._+-]+", "-", name).strip("-._+")[:60] or "kernel"


def name_of(path: str) -> str:
    """The name of the file or folder that ``path`` leads to."""
    name = Path(path).name
    return name if name not in ("", "..") else Path(path).resolve().name


def labelled(
    texts: Sequence[str], derive: Callable[[str], str], option: str = "--kernel"
) -> list[tuple[str, str]]:
    """Labels, and what stands behind them in ``[LABEL=]TEXT``. A label that is not given is derived
    from the text, and unique; one that is given may come again. ``option`` is for messages. Raises
    InputError where a text or a label cannot be one."""
    split = [_split(text, option) for text in texts]
    taken = {label for label, _ in split if label}
    found = []
    for label, text in split:
        chosen = label or _unique(derive(text), taken)
        taken.add(chosen)
        found.append((chosen, text))
    return found


def _split(text: str, option: str) -> tuple[str | None, str]:
    before, equals, after = text.partition("=")
    # In IMAGE,vmlinux=ELF and in paths, what stands before = is not a label.
    is_labelled = bool(equals) and is_label(before)
    if equals and not is_labelled and "/" not in before and "," not in before:
        raise InputError(
            f"{option} {text}: {before!r} is not a valid label: use letters, digits and . _ + - "
            "(at most 64)"
        )
    if not (after if is_labelled else text):
        raise InputError(f"{option} {text}: no kernel or file is named")
    return (before, after) if is_labelled else (None, text)


def _unique(label: str, taken: set[str]) -> str:
    number, candidate = 2, label
    while candidate in taken:
        candidate, number = f"{label}-{number}", number + 1
    return candidate
