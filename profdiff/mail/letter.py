"""What a mail says, independent of sessions and of mail's own format: a subject and plain text.

Prose is wrapped, tables are not, as Documentation/process/email-clients.rst asks.
"""

import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from profdiff.base import units
from profdiff.base.errors import InputError
from profdiff.base.terminal import printable, tabbed

WIDTH = 72
# What a mail may have that a busy reader reads to its end, without what reproduces it.
LINES = 60
# The rows of a table that are kept before remarks are omitted, and where these did not suffice.
ROWS = 5
FEWEST = 2
# Of functions, whose last row sums up the others.
FEWEST_FUNCTIONS = 3
# What kernel lists take: Documentation/process/submitting-patches.rst (their limit is in octets).
LIMIT = 100_000

# What programs take for an order wherever it begins a line: git send-email's recipients (its
# process_file() reads the whole body), regzbot's commands, a signature.
_ORDER = re.compile(r"(?i)(?:[a-z][a-z-]*-by|cc):|#regzb|-- $")
# The parts of a mail that can be left out, in the order in which they stand, with what they hold.
SECTIONS = {
    "result": "the table of points, metrics or kernels",
    "bisection": "the commit that profdiff bisect found, and what its revert shows",
    "fits": "what the kernel costs more as a line over the sweep",
    "gaps": "how much later kernels win back of what the second one costs more",
    "functions": "the functions that changed most",
    "paths": "the call paths that carry most of the change, where they are at most three",
    "programs": "how user space and the kernel change, where --variant gave programs",
    "events": "events of the kernel, where one changed by more than the instructions did",
    "memory": "memory that the kernel keeps more or less of, recorded with --allocations",
    "prices": "what the change that would cost most costs, where the session has prices.json",
    "suspects": "commits whose lines executed more or less, with --repo",
    "measured": "how it was measured",
    "state": "what of the kernels' state is the same; differences are always said",
    "config": "config options that differ",
    "reproducer": "the command line and the source",
}


@dataclass(frozen=True)
class Prose:
    """A paragraph, wrapped; following lines are indented by ``indent``."""

    text: str
    indent: int = 0

    def lines(self) -> list[str]:
        """Lines of at most WIDTH characters, but for words that are longer."""
        return textwrap.wrap(
            printable(" ".join(self.text.split())),
            WIDTH,
            subsequent_indent=" " * self.indent,
            break_long_words=False,
            break_on_hyphens=False,
        )


@dataclass(frozen=True)
class Notes:
    """Several short statements without blank lines between them, each wrapped. ``dropped``: how
    many were left out from the end; ``stays``: none ever is."""

    texts: Sequence[str]
    indent: int = 2
    dropped: int = 0
    stays: bool = False

    def lines(self) -> list[str]:
        """The lines of all."""
        lines = [line for text in self.texts for line in Prose(text, self.indent).lines()]
        return [*lines, *([f"[{self.dropped:,} more left out]"] if self.dropped else [])]

    def without(self, lines: int) -> "Notes":
        """The same with so many lines less, or without any."""
        least = max(len(self.lines()) - lines, 1)
        for kept in range(len(self.texts) - 1, -1, -1):
            less = replace(self, texts=self.texts[:kept], dropped=len(self.texts) - kept)
            if len(less.lines()) <= least:
                return less
        return self


@dataclass(frozen=True)
class Table:
    """Lines that are not wrapped. Where the mail is too long, ``rows`` are left out from the end;
    ``head`` and ``foot`` stay. ``dropped``: how many rows were; ``main``: the row that goes last;
    ``least``: how many rows LINES leaves."""

    head: Sequence[str]
    rows: Sequence[str]
    foot: Sequence[str] = ()
    dropped: int = 0
    main: int = 0
    least: int = 1

    def lines(self) -> list[str]:
        """The table, and how much of it was left out."""
        if self.dropped and not (self.rows or self.foot):
            # A heading alone says nothing.
            title = f"{' '.join(self.head[:-1]).rstrip(':')}: " if self.head[1:] else ""
            return Prose(f"[{title}{units.counted(self.dropped, 'row')} left out]").lines()
        note = f"[{units.counted(self.dropped, 'more row')} left out]"
        told = [note] if self.dropped else []
        return [*map(_verbatim, (*self.head, *self.rows)), *told, *map(_verbatim, self.foot)]

    def shortened(self, excess: int) -> "Table":
        """The same, ``excess`` octets shorter, or without any rows."""
        kept = len(self.rows)
        excess += 80
        while kept and excess > 0:
            kept -= 1
            excess -= _size([_verbatim(self.rows[kept])])
        return self._with(kept)

    def without(self, lines: int, least: int) -> "Table":
        """The same with so many lines less, but with ``least`` rows if it has them."""
        # One line tells of it.
        less = lines if self.dropped else lines + 1
        shorter = self._with(min(len(self.rows), max(len(self.rows) - less, least)))
        return shorter if len(shorter.lines()) < len(self.lines()) else self

    def _with(self, count: int) -> "Table":
        rows, main = [*self.rows[:count]], self.main
        if 0 < count <= main < len(self.rows):
            rows[-1], main = self.rows[main], count - 1
        return replace(self, rows=rows, dropped=self.dropped + len(self.rows) - count, main=main)


@dataclass(frozen=True)
class Verbatim:
    """Lines as they are: a program's source, a command."""

    text: str
    indent: int = 0

    def lines(self) -> list[str]:
        """The lines; tabs stay, other control characters become escapes."""
        return [" " * self.indent + _verbatim(line) for line in self.text.splitlines()]


@dataclass(frozen=True)
class Quote:
    """What is replied to, each line after ``> ``."""

    attribution: str
    text: str

    def lines(self) -> list[str]:
        """The attribution, wrapped, and the quoted lines."""
        quoted = [f"> {_verbatim(line)}".rstrip() for line in self.text.splitlines()]
        return [*Prose(self.attribution).lines(), *quoted]


@dataclass(frozen=True)
class Title:
    """A line right above what follows."""

    text: str

    def lines(self) -> list[str]:
        """The line."""
        return [_verbatim(f"{self.text}:")]


Part = Title | Prose | Notes | Table | Verbatim | Quote


@dataclass(frozen=True)
class Section:
    """``parts`` under a title, if it has one; without parts it is left out. ``bounded``: its lines
    count for LINES."""

    title: str
    parts: Sequence[Part]
    bounded: bool = True


@dataclass(frozen=True)
class Letter:
    """``sentence``: what the mail is about, in one plain sentence; ``opening``: what a reader must
    know with it. ``trailers`` and ``regzbot`` are lines that were checked
    (profdiff.mail.recipients). ``footer`` is the signature."""

    subject: str
    sentence: str
    sections: Sequence[Section]
    trailers: Sequence[str] = ()
    regzbot: Sequence[str] = ()
    footer: Sequence[str] = ()
    quote: Quote | None = None
    opening: Sequence[Part] = ()

    def render(self, limit: int = LIMIT) -> str:
        """The text, shorter than ``limit`` octets of UTF-8 and with LINES lines beside what is not
        bounded, where `_CUTS` suffice: tables are shortened for that, then notes, the last ones
        first. Raises InputError when the rest alone is too long."""
        parts = self._bounded(self._parts())
        text = self._text(parts)
        for index in reversed(range(len(parts))):
            excess = len(text.encode()) - limit + 1
            part = parts[index]
            if excess > 0 and isinstance(part, Table):
                parts[index] = part.shortened(excess)
                text = self._text(parts)
        if len(text.encode()) >= limit:
            raise InputError(
                f"the mail is too long: {len(text.encode()):,} octets without its tables, "
                f"{max(limit - 1, 0):,} allowed: drop the quote, the attachment or the additions"
            )
        return text

    def _parts(self) -> list[Part]:
        parts: list[Part] = [self.quote] if self.quote else []
        parts += [Prose(self.sentence), *self.opening]
        for section in self.sections:
            if not section.parts:
                continue
            title = [Title(section.title)] if section.title else []
            parts += [*title, *section.parts]
        return parts

    @property
    def excess(self) -> int:
        """How many lines must be left out for LINES."""
        bare = self._bare()
        return bare._excess(bare._parts())

    @property
    def remaining(self) -> int:
        """How many lines are too many where tables and notes are as short as they become."""
        bare = self._bare()
        return bare._excess(bare._bounded(bare._parts()))

    def _excess(self, parts: Sequence[Part]) -> int:
        return max(self._text(parts).count("\n") - LINES, 0)

    def _bare(self) -> "Letter":
        """What counts for LINES."""
        sections = [section for section in self.sections if section.bounded]
        return replace(self, sections=sections, trailers=(), regzbot=(), footer=(), quote=None)

    def _bounded(self, parts: Sequence[Part]) -> list[Part]:
        """``parts`` with as few rows as LINES needs."""
        bare = self._bare()
        ours = bare._parts()
        kept = list(parts)
        for shorter in _CUTS:
            for index in reversed(range(len(kept))):
                part = kept[index]
                excess = bare._excess(ours)
                if not excess:
                    return kept
                if all(part is not own for own in ours):
                    continue
                kept[index] = shorter(part, excess)
                ours = [kept[index] if own is part else own for own in ours]
        return kept

    def _text(self, parts: Sequence[Part]) -> str:
        text = ""
        for before, part in pairwise([None, *parts]):
            # Behind no title, how many notes are left out says nothing.
            if isinstance(part, Notes) and not part.texts and not isinstance(before, Title):
                continue
            if part and (block := "\n".join(map(_inert, part.lines()))):
                text += f"{block}\n" if isinstance(part, Title) else f"{block}\n\n"
        # regzbot: "These commands need to be in their own paragraph" (handling-regressions.rst).
        text += "".join(f"{one}\n\n" for one in (*self.regzbot, "\n".join(self.trailers)) if one)
        footer = [line for said in self.footer for line in Prose(said, 2).lines()]
        signature = ["-- ", *map(_inert, footer)] if footer else []
        return "\n".join([text.rstrip("\n"), *([""] if signature else []), *signature, ""])


def _fewer_rows(least: int) -> Callable[[Part, int], Part]:
    def cut(part: Part, excess: int) -> Part:
        return part.without(excess, max(least, part.least)) if isinstance(part, Table) else part

    return cut


def _fewer_notes(part: Part, excess: int) -> Part:
    return part.without(excess) if isinstance(part, Notes) and not part.stays else part


# Results are worth more than remarks, and how they were measured more than most of their rows. A
# mail is longer than LINES rather than without a result or how it was measured.
_CUTS = (_fewer_rows(ROWS), _fewer_notes, _fewer_rows(FEWEST), _fewer_rows(0))


def _verbatim(line: str) -> str:
    return tabbed(line).rstrip(" ")


def _inert(line: str) -> str:
    """``line``, so that no program takes it for an order: only what was asked for is one."""
    return f"| {line}" if _ORDER.match(line) else line


def _size(lines: Sequence[str]) -> int:
    return sum(len(line.encode()) + 1 for line in lines)
