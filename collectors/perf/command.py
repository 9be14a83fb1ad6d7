"""How perf is asked to record: the arguments of ``perf record``, and what to fall back to.

The option that names perf's events, for each collector that runs perf.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from profdiff.base.errors import InputError
from profdiff.base.metric import CLOCKS, EventName
from profdiff.base.terminal import short

# Sampled in one group, so that both count over the same time.
DEFAULT_EVENTS = ("cycles", "instructions")
# perf's own stand-in where there is no PMU.
FALLBACK_EVENT = "cpu-clock"

# Events between two samples. Primes, so that no loop of the workload runs in step with them. On a
# machine about 3,000 samples a second, as perf's own default; a guest under TCG executes a
# thousandth of what a machine does in that time. The kernel's timer for cpu-clock has a floor of
# 10,000 ns (perf_swevent_start_hrtimer()).
_HARDWARE_PERIOD, _CLOCK_PERIOD = 1_000_003, 250_007
_EMULATED_HARDWARE_PERIOD, _EMULATED_CLOCK_PERIOD = 10_007, 25_013


@dataclass(frozen=True)
class Attempt:
    """One way to record: ``arguments`` of ``perf record`` in front of ``--``."""

    events: tuple[str, ...]
    arguments: tuple[str, ...]


def attempts(options: Mapping[str, Any], *, emulated: bool) -> list[Attempt]:
    """The ways to record, best first. ``options`` are the collector's: without ``events`` cycles
    and instructions where the machine has them, else the fallback; without ``count`` and
    ``frequency`` the default period. ``emulated``: in a guest without a processor of its own."""
    if options["events"] is not None:
        named = tuple(event for word in options["events"] for event in members(word))
        return [_attempt(options, named, emulated)]
    return [_attempt(options, events, emulated) for events in (DEFAULT_EVENTS, (FALLBACK_EVENT,))]


def default_period(events: Sequence[str], *, emulated: bool) -> int:
    """Events between two samples where the user did not say."""
    if all(EventName.of(name).name in CLOCKS for name in events):
        return _EMULATED_CLOCK_PERIOD if emulated else _CLOCK_PERIOD
    return _EMULATED_HARDWARE_PERIOD if emulated else _HARDWARE_PERIOD


def _attempt(options: Mapping[str, Any], events: tuple[str, ...], emulated: bool) -> Attempt:
    rate = ["-c", str(options["count"] or default_period(events, emulated=emulated))]
    if options["frequency"] is not None:
        rate = ["-F", str(options["frequency"])]
    more = ["--call-graph", options["call_graph"], *options["perf_args"]]
    return Attempt(events, ("-e", grouped(events), *rate, *more))


def fallback_reason(used: Attempt, wanted: Attempt, refusal: str) -> str | None:
    """Why another attempt than the wanted one was used; None if it was that one."""
    if used == wanted:
        return None
    why = f" ({refusal})" if refusal else ""
    return (
        f"{' and '.join(wanted.events)} cannot be sampled there{why}; "
        f"perf sampled {' and '.join(used.events)} instead"
    )


def refusal_line(text: str) -> str:
    """The line of perf's complaint that says most."""
    lines = [line.strip() for line in text.splitlines() if line.strip() not in ("", "Error:")]
    telling = ("not supported", "paranoid", "ermission", "nvalid", "rror", "No such")
    chosen = next((line for line in lines if any(word in line for word in telling)), "")
    return short(chosen or " ".join(lines[:1]))


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
