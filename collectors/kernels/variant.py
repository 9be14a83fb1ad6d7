"""Options of any SPEC that say what its guest is given otherwise than those of other kernels:
``SPEC,append=ARGUMENTS,memory=SIZE,cpus=N,cpu=MODEL``, in any order.

A value ends before the next option of a SPEC. One that holds such an option's name stands in
quotes: ``append='a=1,cpus=2'``, which a shell must leave.
"""

import re

from profdiff.base.errors import InputError
from profdiff.base.outputs import place_of
from profdiff.base.units import mebibytes
from profdiff.collectors.records import MAX_APPEND, NO_VARIANT, Variant

_NAMES = ("append", "memory", "cpus", "cpu")
_OPTION = re.compile(rf",({'|'.join(_NAMES)})=")
# Those of kinds of SPEC, too.
_CODE = "opt|lto|cfi|autofdo"
_NEXT = re.compile(
    rf",(?=(?:{'|'.join(_NAMES)}|vmlinux|config|cc|arch|{_CODE}|CONFIG_[A-Za-z0-9_]+)=)"
)
_QUOTES = "'\""
LEAST_MEMORY = 64
"""MiB."""
MOST_CPUS = 255


def split(text: str) -> tuple[str, Variant]:
    """A SPEC without these options, and what they give. What exists by the whole name has none.
    Raises InputError for a value that is malformed."""
    if not _OPTION.search(text) or _exists(text):
        return text, NO_VARIANT
    given: dict[str, list[str]] = {}
    rest, at = "", 0
    while match := _OPTION.search(text, at):
        value, end = _value(text, match)
        given.setdefault(match[1], []).append(value)
        rest, at = rest + text[at : match.start()], end
    return rest + text[at:], _variant(text, given)


def suffix(variant: Variant) -> str:
    """The options that give it: ``split`` reads them again."""
    append = variant.append
    quoted = f"'{append}'" if _NEXT.search(append) or append.startswith(tuple(_QUOTES)) else append
    memory = f"{variant.memory}M" if variant.memory else ""
    told = {"append": quoted, "memory": memory, "cpus": variant.cpus, "cpu": variant.cpu}
    return "".join(f",{name}={value}" for name, value in told.items() if value)


def _value(text: str, match: re.Match[str]) -> tuple[str, int]:
    """The value of an option, and where it ends."""
    start, quote = match.end(), text[match.end() : match.end() + 1]
    if quote and quote in _QUOTES:
        closed = re.compile(rf"{quote}(?=,|\Z)").search(text, start + 1)
        if not closed:
            raise InputError(
                f"{text}: {match[1]}= has no closing {quote} before a comma or the end"
            )
        return text[start + 1 : closed.start()], closed.end()
    following = _NEXT.search(text, start)
    end = following.start() if following else len(text)
    return text[start:end], end


def _variant(text: str, given: dict[str, list[str]]) -> Variant:
    for name, values in given.items():
        if not all(value.strip() for value in values):
            raise InputError(f"{text}: {name}= has no value")
        if name != "append" and len(values) > 1:
            raise InputError(f"{text}: {name}= is given twice")
    append = " ".join(value.strip() for value in given.get("append", ()))
    if not append.isprintable() or "'" in append:
        raise InputError(
            f"{text!r}: append= has a control character or a single quote: write arguments as a "
            "kernel reads them, whose quotes are double"
        )
    if len(append) > MAX_APPEND:
        raise InputError(
            f"append= has {len(append):,} characters: a kernel is given at most {MAX_APPEND:,}"
        )
    (memory,), (cpus,), (cpu,) = (given.get(name, [""]) for name in _NAMES[1:])
    if memory and (mebibytes(memory) or 0) < LEAST_MEMORY:
        raise InputError(
            f"{text}: memory={memory} is not a size of at least {LEAST_MEMORY}M: write 512M or 2G"
        )
    if cpus and not (re.fullmatch("[0-9]{1,3}", cpus) and 0 < int(cpus) <= MOST_CPUS):
        raise InputError(
            f"{text}: cpus={cpus} is not one number from 1 to {MOST_CPUS}; --cpus N,... sweeps "
            "those of all kernels"
        )
    return Variant(
        append=append,
        memory=mebibytes(memory) if memory else None,
        cpus=int(cpus) if cpus else None,
        cpu=cpu or None,
    )


def _exists(text: str) -> bool:
    try:
        return place_of(text).exists()
    except (OSError, ValueError):  # a name that is too long, or holds NUL
        return False
