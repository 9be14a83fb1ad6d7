"""The option that names perf's events, for each collector that runs perf."""

import re
from collections.abc import Sequence

import click

from profdiff.base.errors import InputError

EVENTS = click.Option(
    ["--event", "events"],
    metavar="EVENT,...",
    help="Events that perf samples, in one group, and that stat counts; {A,B} counts both over the "
    "same time.  [default: cycles,instructions; stat adds branches and software events; without a "
    "PMU cpu-clock, or software events]",
)
# A comma in a PMU's event belongs to it: cpu/event=0x3c,umask=0x1/ (perf-list(1)).
_EVENT = re.compile(r"[^,{}/\s]+(?:/[^{}/\s]*/[A-Za-z]*)?")
_GROUPED = re.compile(rf"\{{\s*({_EVENT.pattern}(?:,{_EVENT.pattern})*)\s*\}}(:[A-Za-z]+)?")
_WORD = re.compile(rf"{_GROUPED.pattern}|{_EVENT.pattern}")


def words(text: str | None) -> list[str] | None:
    """Events and groups, one each: ``["{cycles,instructions}", "cpu/event=1,umask=2/"]``; None
    where no event is named. Raises InputError."""
    if not text:
        return None
    found, at = list[str](), 0
    while at <= len(text):
        match = _WORD.match(text, at)
        if match is None or (match.end() < len(text) and text[match.end()] != ","):
            raise InputError(
                f"--event {text}: separate events by commas, and put those of a group into braces: "
                "'{cycles,instructions},page-faults'"
            )
        found.append(match.group())
        at = match.end() + 1
    return found


def members(word: str) -> list[str]:
    """The events of a group, or the one that a word is."""
    match = _GROUPED.fullmatch(word)
    return _EVENT.findall(match.group(1)) if match else [word]


def grouped(events: Sequence[str]) -> str:
    """Events as one group; a single one needs none."""
    return "{" + ",".join(events) + "}" if len(events) > 1 else events[0]
