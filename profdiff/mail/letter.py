"""What a mail says, independent of sessions and of mail's own format: a subject and plain text.

Prose is wrapped, tables are not, as Documentation/process/email-clients.rst asks.
"""

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace

from profdiff.base.errors import InputError
from profdiff.base.terminal import printable, tabbed

WIDTH = 72
# What kernel lists take: Documentation/process/submitting-patches.rst (their limit is in octets).
LIMIT = 100_000
_GLUE = "\ue000"

# What programs take for an order wherever it begins a line: git send-email's recipients (its
# process_file() reads the whole body), regzbot's commands, a signature.
_ORDER = re.compile(r"(?i)(?:[a-z][a-z-]*-by|cc):|#regzb|-- $")


@dataclass(frozen=True)
class Prose:
    """A paragraph, wrapped; following lines are indented by ``indent``."""

    text: str
    indent: int = 0

    def lines(self) -> list[str]:
        """Lines of at most WIDTH characters, but for words that are longer."""
        # No line ends between a number and its unit. The glue is none of printable()'s characters.
        lines = textwrap.wrap(
            printable(" ".join(self.text.split())).replace(" %", f"{_GLUE}%"),
            WIDTH,
            subsequent_indent=" " * self.indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        return [line.replace(_GLUE, " ") for line in lines]


@dataclass(frozen=True)
class Notes:
    """Several short statements without blank lines between them, each wrapped."""

    texts: Sequence[str]
    indent: int = 2

    def lines(self) -> list[str]:
        """The lines of all."""
        return [line for text in self.texts for line in Prose(text, self.indent).lines()]


@dataclass(frozen=True)
class Table:
    """Lines that are not wrapped. Where the mail is too long, ``rows`` are left out from the end;
    ``head`` and ``foot`` stay. ``dropped``: how many rows were."""

    head: Sequence[str]
    rows: Sequence[str]
    foot: Sequence[str] = ()
    dropped: int = 0

    def lines(self) -> list[str]:
        """The table, and how much of it was left out."""
        note = f"[{self.dropped:,} more rows omitted: the mail would be too long]"
        told = [note] if self.dropped else []
        return [*map(_verbatim, (*self.head, *self.rows)), *told, *map(_verbatim, self.foot)]

    def shortened(self, excess: int) -> "Table":
        """The same, ``excess`` octets shorter, or without any rows."""
        kept = list(self.rows)
        excess += 80
        while kept and excess > 0:
            excess -= _size([_verbatim(kept.pop())])
        return replace(self, rows=kept, dropped=self.dropped + len(self.rows) - len(kept))


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


Part = Prose | Notes | Table | Verbatim | Quote


@dataclass(frozen=True)
class Section:
    """``parts`` under a title; without parts it is left out."""

    title: str
    parts: Sequence[Part]


@dataclass(frozen=True)
class Letter:
    """``sentence``: what the mail is about, in one plain sentence; ``opening``: what a reader must
    know with it. ``trailers`` and ``regzbot`` are lines that were checked (profdiff.mail.trailers).
    ``footer`` is the signature."""

    subject: str
    sentence: str
    sections: Sequence[Section]
    trailers: Sequence[str] = ()
    regzbot: Sequence[str] = ()
    footer: Sequence[str] = ()
    quote: Quote | None = None
    opening: Sequence[Part] = ()

    def render(self, limit: int = LIMIT) -> str:
        """The text, shorter than ``limit`` octets of UTF-8; tables are shortened for that, the last
        one first. Raises InputError when the rest alone is too long."""
        parts = self._parts()
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
            parts += [Verbatim(f"{section.title}\n{'=' * len(section.title)}"), *section.parts]
        return parts

    def _text(self, parts: Sequence[Part]) -> str:
        blocks = ["\n".join(map(_inert, part.lines())) for part in parts]
        # regzbot: "These commands need to be in their own paragraph" (handling-regressions.rst).
        blocks += [*self.regzbot, "\n".join(self.trailers)]
        text = "\n\n".join(block for block in blocks if block)
        footer = [line for said in self.footer for line in Prose(said, 2).lines()]
        signature = "\n".join(["-- ", *map(_inert, footer)]) if footer else ""
        return f"{text}\n\n{signature}\n" if footer else f"{text}\n"


def _verbatim(line: str) -> str:
    return tabbed(line).rstrip(" ")


def _inert(line: str) -> str:
    """``line``, so that no program takes it for an order: only what was asked for is one."""
    return f"| {line}" if _ORDER.match(line) else line


def _size(lines: Sequence[str]) -> int:
    return sum(len(line.encode()) + 1 for line in lines)
