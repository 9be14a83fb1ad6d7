"""Trailers and regzbot's commands: each a line of its own that programs read, so each is checked.

Formats: Documentation/process/submitting-patches.rst ("Describe your changes", "Using Reported-by:
..."), scripts/checkpatch.pl, and Documentation/process/handling-regressions.rst.
"""

import difflib
import re
from urllib.parse import urlsplit

from profdiff.base.errors import InputError
from profdiff.mail import address as addresses
from profdiff.mail.address import shown

# In the order in which they stand: Closes belongs right after Reported-by.
NAMES = ("Fixes", "Reported-by", "Closes", "Link", "Cc")
_FIXES = re.compile(r'[0-9a-f]{12,40} \("\S(?:.*\S)?"\)')
_COMMIT = r"[0-9a-f]{12,40}"
_VERSION = r"v?\d+(?:\.\d+){1,3}(?:-[A-Za-z0-9.-]+)?|next-\d{8}"
_POINT = rf"(?:{_COMMIT}|{_VERSION})"
_INTRODUCED = re.compile(rf"{_POINT}(?:\.\.{_POINT})?")
_MAX_LINE = 900

_INTRODUCING = ("introduced", "^introduced")
_LINKING = ("monitor", "link", "dup-of")
_COMMANDS = (*_INTRODUCING, *_LINKING, "title", "from", "fixed-by", "invalid")


def trailer(name: str, value: str) -> str:
    """The line ``name: value``; ``name`` is one of NAMES. Raises InputError when the value is not
    what such a trailer must be."""
    option = f"--{name.lower()}"
    value = _one_line(option, value).removeprefix(f"{name}:").strip()
    if name in ("Reported-by", "Cc"):
        return f"{name}: {addresses.one(value, option)}"
    if name == "Fixes":
        if not _FIXES.fullmatch(value):
            raise InputError(
                f"{option}: {shown(value)} does not cite a commit: write 12 or more hexadecimal "
                'digits and the subject, as in 54a4f0239f2e ("mm: do it")'
            )
    else:
        _check_url(option, value.partition(" ")[0])
    return f"{name}: {value}"


def regzbot(text: str) -> str:
    """The line ``#regzbot command: value``, of a text with or without ``#regzbot``. Raises
    InputError for an unknown command, or a value that does not fit it."""
    option = "--regzbot"
    text = re.sub(r"^#regzb(?:ot)?\s+", "", _one_line(option, text))
    match = re.match(r"(\^?[a-z-]+)(?::\s*|\s+)(\S.*)", text)
    if not match:
        raise InputError(
            f"{option}: {shown(text)} is not a regzbot command: write for example "
            "'introduced: v6.16..v6.17-rc1'"
        )
    command, value = match.groups()
    if command not in _COMMANDS:
        near = difflib.get_close_matches(command, _COMMANDS, 1) or _COMMANDS
        raise InputError(f"{option}: {shown(command)} is not a regzbot command: {', '.join(near)}")
    if command in _INTRODUCING and not _INTRODUCED.fullmatch(value):
        raise InputError(
            f"{option} {command}: {shown(value)} is neither a commit (12 or more hexadecimal "
            "digits), a version (v6.17-rc1), nor a range of them (v6.16..v6.17-rc1)"
        )
    if command in _LINKING:
        _check_url(f"{option} {command}", value)
    if command == "from":
        value = str(addresses.one(value, f"{option} {command}"))
    return f"#regzbot {command}: {value}"


def _one_line(option: str, value: str) -> str:
    value = value.strip()
    if not value or not value.isprintable():
        raise InputError(f"{option}: {shown(value)} is not one line of text")
    if len(value) > _MAX_LINE:
        raise InputError(f"{option}: longer than {_MAX_LINE} characters")
    return value


def _check_url(option: str, value: str) -> None:
    try:
        url = urlsplit(value)
        good = url.scheme in ("http", "https") and "." in (url.hostname or "")
    except ValueError:
        good = False
    if not good or re.search(r"[\s<>\"]", value):
        raise InputError(
            f"{option}: {shown(value)} is not a URL: write https://..., as in "
            "https://lore.kernel.org/r/MESSAGE-ID/"
        )
