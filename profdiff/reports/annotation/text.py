"""A function's code on every kernel as text: for a terminal, a pager, and a mail."""

import re
from collections.abc import Sequence

from profdiff.base import units
from profdiff.base.terminal import Styled
from profdiff.forms.columns import MIN_WIDTH
from profdiff.forms.numbers import Numbers
from profdiff.reports.annotation import lines as annotation_lines
from profdiff.reports.annotation.columns import Drawn, Look, line_table, listing_table
from profdiff.reports.annotation.figures import Figures
from profdiff.reports.annotation.head import head
from profdiff.reports.annotation.listing import ListingLine, listings
from profdiff.reports.form import Layout, ReportOptions
from profdiff.views.annotation.access import UNKNOWN
from profdiff.views.annotation.records import Annotation

# So many never-executed instructions, or lines, stand around an executed one.
_CONTEXT = {"instruction": 2, "line": 0}
# What differs in the texts of listings: a kernel's own number, a jump within the function.
_NUMBERED = re.compile(r"^\S*(line |:)[\d-]+/")
_WITHIN = re.compile(r"^\S+ +\+0x")


def render(annotation: Annotation, asked: ReportOptions) -> list[Styled]:
    """The whole text, at most ``asked.width`` columns (from ``MIN_WIDTH``)."""
    width, layout = max(asked.width or 0, MIN_WIDTH), asked.layout
    numbers = Numbers(annotation.ops if asked.per_op is not False else None)
    figures = Figures(annotation, numbers)
    look = Look(width, not numbers.ops, asked.ascii_only, layout.addresses)
    context = _CONTEXT[layout.by] if layout.context is None else layout.context
    entries: list[ListingLine]
    if layout.by == "line":
        entries = annotation_lines.entries(figures, context)
        drawn = line_table(figures, entries, look)
    else:
        shown = listings(annotation, context, cold=layout.cold)
        entries = [entry for listing in shown for entry in listing.entries]
        drawn = listing_table(figures, shown, look)
    lines = [*head(figures, width), Styled(""), *drawn.lines, Styled("")]
    lines += [Styled(text) for text in units.wrap(_legend(figures, entries, drawn, layout), width)]
    return [ascii_line(line) for line in lines] if asked.ascii_only else lines


def _legend(figures: Figures, entries: Sequence[ListingLine], drawn: Drawn, layout: Layout) -> str:
    """The legend of the signs that are shown."""
    base, *others = figures.labels
    code = [entry for entry in entries if entry.kind == "code"]
    if figures.annotation.exact:
        told = [f"counts: {figures.unit}"]
    else:
        told = [f"share: part of the function's {figures.unit}"]
        told.append("samples: how many a line's figures are known from")
    sources = [one for one in entries if one.kind == "source" or layout.by == "line"]
    if others and any(_NUMBERED.search(text) for one in sources for text in one.texts.values()):
        told.append(f"line: its number on {' / '.join(figures.labels)}, - where it has none")
    if others:
        told.append(f"delta: {figures.unit}, relative to {base}")
    if any(any(entry.accesses.values()) for entry in code):
        told.append(_accesses(code))
    if layout.by == "instruction":
        signs = {entry.sign for entry in code}
        new = others[0] if len(others) == 1 else f"not on {base}"
        told += [
            text
            for sign, text in (
                ("-", f"- only on {base}"),
                ("+", f"+ only on {new}" if len(others) == 1 else f"+ {new}"),
                ("~", "~ other operands"),
            )
            if sign in signs
        ]
        if any(_moved(entry) for entry in code):
            told.append("jumps to +0x..: within the function that a copy's line begins with")
        if drawn.arrows:
            counted = all(entry.counted for entry in code if entry.targets)
            told.append(f"arrows: jumps{' that were taken' if counted else ''}")
        if drawn.left_out:
            told.append(f"{drawn.left_out:,} arrows have no room")
        if any(entry.taken for entry in code):
            which = f" ({' / '.join(figures.labels)})" if others else ""
            told.append(f"taken: how often a conditional branch jumped{which}")
        if any(not entry.executed for entry in code):
            told.append("0: never executed")
    return f"{'; '.join(told)}."


def _accesses(code: Sequence[ListingLine]) -> str:
    """What stands behind a semicolon."""
    names = [name for entry in code for name in entry.accesses.values()]
    signs = [f"{UNKNOWN} not known which"] if UNKNOWN in names else []
    signs += ["a | b names of one place in a union"] if any(" | " in name for name in names) else []
    several = any(len(set(entry.accesses.values())) > 1 for entry in code)
    signs += ["a / b names on each kernel"] if several else []
    told = f" ({', '.join(signs)})" if signs else ""
    return f"behind a semicolon: the data that is accessed{told}"


def _moved(entry: ListingLine) -> bool:
    return any(_WITHIN.search(text) for text in entry.texts.values())


def ascii_line(line: Styled) -> Styled:
    """In ASCII; without looks where it got longer."""
    text = units.ascii_only(line.text)
    return line if text == line.text else Styled(text, line.spans if _same(line, text) else ())


def _same(line: Styled, text: str) -> bool:
    return len(text) == len(line.text)
