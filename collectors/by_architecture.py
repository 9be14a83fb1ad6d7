"""What an option says of one architecture, ``[ARCH=]VALUE``: paths and models that differ."""

from collections.abc import Sequence

from profdiff.base.errors import InputError
from profdiff.collectors.architecture import Architecture, named


def value_for(option: str, texts: Sequence[str], architecture: Architecture) -> str | None:
    """The value of ``option`` for an architecture: the one that names it, or else the one that
    names none; None where it has neither. Raises InputError when it is given twice, or empty."""
    own: dict[Architecture | None, str] = {}
    for text in texts:
        one, value = _split(text)
        if not value:
            raise InputError(f"{option} {text}: no value is given")
        if one in own:
            known = f" for {one.arch}" if one else ""
            raise InputError(f"{option} is given twice{known}: {own[one]} and {value}")
        own[one] = value
    return own.get(architecture, own.get(None))


def unnamed(texts: Sequence[str]) -> list[str]:
    """Those of ``texts`` that name no architecture."""
    return [text for text in texts if _split(text)[0] is None]


def _split(text: str) -> tuple[Architecture | None, str]:
    before, equals, after = text.partition("=")
    one = named(before) if equals else None
    return (one, after) if one else (None, text)
