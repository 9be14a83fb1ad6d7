"""The calls in what ``strace -f`` writes, one by one. A trace may be a stranger's: lines, calls and
processes are bounded."""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from profdiff.base import bounded
from profdiff.base.errors import InputError

_MAX_LINE, _MAX_CALLS, _MAX_BEGUN = 1 << 20, 200_000, 4096
_HEAD = re.compile(
    r" *(?:\[pid +(\d{1,10})\] +|(\d{1,10}) +)?"
    r"(?:(?:\d\d:\d\d:\d\d(?:\.\d{1,9})?|\d{1,12}\.\d{1,9}) +)?(?:\[ *[0-9a-f]+\] +)?"
    r"(?:<\.\.\. (\w{1,40}) resumed>|([a-z_]\w{0,39})\()"
)
_RESULT = re.compile(r"\) *= (\?|-?\w+(?:<[^>]*>)?(?: E[A-Z0-9]+)?)")
_UNFINISHED = "<unfinished ...>"
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\([0-7]{1,3}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "v": "\v", "f": "\f"}
_OPEN, _CLOSE = "([{", ")]}"


class TracedCall(NamedTuple):
    """``begins``: it has no result yet, as a process that starts another has not when that one's
    calls come first."""

    pid: int
    name: str
    arguments: list[str]
    result: str
    begins: bool = False

    @property
    def error(self) -> str:
        """The name of its error, "" if it succeeded."""
        return self.result.partition(" ")[2] if self.result.startswith("-1 ") else ""


def read(path: Path) -> Iterator[TracedCall]:
    """The calls in the order of their ends. Raises InputError, also for a file without any."""
    begun: dict[int, tuple[str, str]] = {}
    number = 0
    try:
        with bounded.open_regular(path) as file:
            for data in iter(partial(file.readline, _MAX_LINE), b""):
                for call in _calls(data.decode("utf-8", "surrogateescape"), begun):
                    number += not call.begins
                    if number > _MAX_CALLS:
                        raise InputError(
                            f"{path} has more than {_MAX_CALLS:,} calls: replay a part of it"
                        )
                    yield call
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    if not number:
        raise InputError(f"{path} has no system calls: give what strace -f -o FILE writes")


def _calls(line: str, begun: dict[int, tuple[str, str]]) -> Iterator[TracedCall]:
    head = _HEAD.match(line)
    if head is None:
        return
    pid = int(head[1] or head[2] or 0)
    rest = line[head.end() :].rstrip("\n")
    name = head[3] or head[4]
    if head[3]:
        was, before = begun.pop(pid, ("", ""))
        if was != name:
            return
        rest = f"{before} {rest}"
    elif rest.endswith(_UNFINISHED):
        if len(begun) < _MAX_BEGUN:
            begun[pid] = name, rest.removesuffix(_UNFINISHED)
            yield TracedCall(pid, name, arguments(rest.removesuffix(_UNFINISHED)), "?", True)
        return
    ends = list(_RESULT.finditer(rest))
    if ends:
        yield TracedCall(pid, name, arguments(rest[: ends[-1].start()]), ends[-1][1])


def arguments(text: str) -> list[str]:
    """The arguments of a call, split where commas are in no string, list or structure."""
    found, depth, start, at = [], 0, 0, 0
    while at < len(text):
        letter = text[at]
        if letter == '"':
            string = _STRING.match(text, at)
            at = string.end() if string else len(text)
            continue
        if text.startswith("/*", at):
            end = text.find("*/", at)
            at = end + 2 if end >= 0 else len(text)
            continue
        if letter == "<":
            # strace -y: 3</a/file>.
            end = text.find(">", at)
            at = end + 1 if end >= 0 else len(text)
            continue
        depth += (letter in _OPEN) - (letter in _CLOSE)
        if letter == "," and depth == 0:
            found.append(text[start:at].strip())
            start = at + 1
        at += 1
    last = text[start:].strip()
    return [*found, last] if last else found


def string(text: str) -> str | None:
    """The text of a string that is whole; None for what is none."""
    found = _STRING.fullmatch(text)
    if found is None:
        return None
    # A letter's bytes are written one by one.
    data = _ESCAPE.sub(_escaped, found[1]).encode("utf-8", "surrogateescape")
    return data.decode("utf-8", "surrogateescape")


def _escaped(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "01234567":
        value = int(code, 8) & 0xFF
    elif code[0] == "x" and len(code) == 3:
        value = int(code[1:], 16)
    else:
        return _LETTERS.get(code, code)
    return bytes([value]).decode("utf-8", "surrogateescape")
