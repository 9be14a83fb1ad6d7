"""What a user asks of a workload's output: one ``--metric``, or one entry of an experiment file."""

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import get_args

from profdiff.base.errors import InputError
from profdiff.base.metric import Better
from profdiff.collectors.workload.metrics import pattern
from profdiff.collectors.workload.metrics.formats import FORMATS, PATTERN

_HEAD = re.compile(r"[^:=]*")
_MAX_NAME, _MAX_UNIT = 200, 40


@dataclass(frozen=True)
class Wanted:
    """``key`` is a name that ``format`` gives, or the pattern; None: all that it gives. ``name``,
    ``unit`` and ``better`` stand in for what the format says of the one metric.

    Raises InputError: these do not go together.
    """

    name: str | None
    unit: str | None
    better: Better | None
    format: str
    key: str | None

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise InputError(f"there is no metric format {self.format!r}: {_near(self.format)}")
        _check_text("a metric's name", self.name, _MAX_NAME)
        _check_text("a unit", self.unit, _MAX_UNIT)
        if self.better not in (None, *get_args(Better)):
            raise InputError(f"a metric's direction is lower or higher, not {self.better!r}")
        if self.name in FORMATS:
            raise InputError(f"a metric cannot be called {self.name!r}: that names a format")
        if self.name is None and (self.unit is not None or self.better is not None):
            raise InputError(
                "a metric with a unit or a direction needs a name: NAME:UNIT=FORMAT:KEY"
            )
        if self.key == "" or (self.key and not self.key.isprintable()):
            raise InputError(
                f"{self.key!r} is not a valid metric of {self.format}: it is empty or unprintable"
            )
        if self.name is not None and self.key is None:
            raise InputError(f"{self.name!r} names one metric: {self.name}={self.format}:KEY")
        if self.format == PATTERN:
            if self.key is None:
                raise InputError(f"{PATTERN} needs a regular expression: {PATTERN}:EXPRESSION")
            groups = len(pattern.compiled(self.key).groupindex)
            if self.name is not None and groups > 1:
                raise InputError(
                    f"{self.name!r} cannot name the {groups} groups of pattern {self.key!r}:"
                    " omit the name: the groups have their own"
                )

    @staticmethod
    def parse(text: str) -> "Wanted":
        """From ``[NAME[:UNIT[:lower|higher]]=]FORMAT[:KEY-OR-PATTERN]``; UNIT may be empty. A text
        that begins with a format's name has no NAME, so KEY may hold what it likes."""
        name: str | None = None
        unit: str | None = None
        better: str | None = None
        rest = text
        head = _HEAD.match(text)
        begins = head[0] if head else ""
        is_format = begins in FORMATS and text[len(begins) : len(begins) + 1] != "="
        if not is_format and "=" in text:
            named, _, rest = text.partition("=")
            name, *more = named.split(":")
            if len(more) > 2:
                raise InputError(f"{named!r} before the = is more than NAME:UNIT:lower|higher")
            unit = (more[0] or None) if more else None
            better = more[1] if len(more) > 1 else None
        format_, colon, key = rest.partition(":")
        # __post_init__ refuses a direction that is none.
        return Wanted(name, unit, better, format_, key if colon else None)  # type: ignore[arg-type]

    def __str__(self) -> str:
        parts = [self.name or "", self.unit or "", self.better or ""]
        named = ":".join(parts).rstrip(":") + "=" if self.name is not None else ""
        return named + self.format + (f":{self.key}" if self.key is not None else "")


def _check_text(what: str, text: str | None, longest: int) -> None:
    if text is None:
        return
    if not text or text != text.strip() or not text.isprintable() or set(":=") & set(text):
        raise InputError(f"{text!r} is not {what}: it is printable, without : and =, not empty")
    if len(text) > longest:
        raise InputError(f"{what} has at most {longest} characters")


def _near(name: str) -> str:
    near = get_close_matches(name, FORMATS, 1)
    return f"did you mean {near[0]}?" if near else f"there are {', '.join(FORMATS)}"
