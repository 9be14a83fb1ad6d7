"""What a user asks of a workload's output: one ``--metric``, or one entry of an experiment file."""

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import get_args

from profdiff.base.errors import InputError
from profdiff.base.metric import Better
from profdiff.collectors.workload.metrics import pattern
from profdiff.collectors.workload.metrics.formats import FORMATS, PATTERN

_SOURCE = re.compile(
    r"(?P<format>[\w-]+)(?:@(?P<heading>[^:]*)|\[(?P<number>[1-9]\d{0,5})\])?(?::(?P<key>.*))?",
    re.ASCII | re.DOTALL,
)
_PLAIN = re.compile(r"\w+", re.ASCII)
_MAX_NAME, _MAX_UNIT = 200, 40


@dataclass(frozen=True)
class Wanted:
    """``key`` is a name that ``format`` gives, or the pattern; None: all that it gives. ``name``,
    ``unit`` and ``better`` stand in for what the format says of the one metric. For what a pattern
    matches, only what stands below ``heading``, or only the match of that ``number``, from 1.

    Raises InputError: these do not go together.
    """

    name: str | None
    unit: str | None
    better: Better | None
    format: str
    key: str | None
    heading: str | None = None
    number: int | None = None

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
        if (self.heading, self.number) != (None, None) and self.format != PATTERN:
            there = f"{self.heading}/NAME" if self.heading else f"NAME[{self.number}]"
            raise InputError(
                f"only {PATTERN} takes @HEADING or [N]: write {self.format}:{there} with the NAME "
                "of a metric"
            )
        _check_heading(self.heading)
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
        """From ``[NAME[:UNIT[:lower|higher]]=]FORMAT[:KEY]``; UNIT may be empty. A pattern has the
        form ``pattern[@HEADING|[N]]:EXPRESSION``. A text that begins with a format's name has no
        NAME, so KEY may hold what it likes."""
        name: str | None = None
        unit: str | None = None
        better: str | None = None
        rest = text
        whole = _SOURCE.fullmatch(text)
        is_format = whole is not None and whole["format"] in FORMATS
        if not is_format and "=" in text:
            named, _, rest = text.partition("=")
            name, *more = named.split(":")
            if len(more) > 2:
                raise InputError(f"{named!r} before the = is more than NAME:UNIT:lower|higher")
            unit = (more[0] or None) if more else None
            better = more[1] if len(more) > 1 else None
        source = _SOURCE.fullmatch(rest)
        if source is None:
            raise InputError(f"there is no metric format {rest[:_MAX_NAME]!r}: {_near(rest)}")
        number = int(source["number"]) if source["number"] else None
        key, heading = source["key"], source["heading"]
        # __post_init__ refuses a direction that is none.
        return Wanted(name, unit, better, source["format"], key, heading, number)  # type: ignore[arg-type]

    def __str__(self) -> str:
        parts = [self.name or "", self.unit or "", self.better or ""]
        named = ":".join(parts).rstrip(":") + "=" if self.name is not None else ""
        which = f"[{self.number}]" if self.number is not None else ""
        which = f"@{self.heading}" if self.heading is not None else which
        return named + self.format + which + (f":{self.key}" if self.key is not None else "")


def _check_text(what: str, text: str | None, longest: int) -> None:
    if text is None:
        return
    if not text or text != text.strip() or not text.isprintable() or set(":=") & set(text):
        raise InputError(f"{text!r} is not {what}: it is printable, without : and =, not empty")
    if len(text) > longest:
        raise InputError(f"{what} has at most {longest} characters")


def _check_heading(text: str | None) -> None:
    if text is not None and not (text.strip() and text == text.strip() and text.isprintable()):
        raise InputError(f"{text!r} is not a heading: it is printable, without :, not empty")


def _near(name: str) -> str:
    near = get_close_matches(name, FORMATS, 1)
    if near:
        return f"did you mean {near[0]}?"
    there = f"there are {', '.join(FORMATS)}"
    return f"{there}; a name in the output is values:{name}" if _PLAIN.fullmatch(name) else there
