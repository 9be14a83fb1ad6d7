"""Blame as text: commits by their share of the delta, and what is not a commit's."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from profdiff.base import units
from profdiff.forms.columns import MIN_WIDTH, Block, Column, draw
from profdiff.forms.numbers import Numbers
from profdiff.reports.form import DEFAULT_TOP
from profdiff.views.blame import Blame, Pair, Row, Share, by_size

# The digits of a hash, as kernel mails write it (Documentation/process/submitting-patches.rst).
DIGITS = 12
_FUNCTIONS, _PAIRS = 3, 10
# From these widths on, the account by lines is shown, the date, and what was added and removed;
# from which room on, functions are, and what they can have of it; what subjects and functions keep.
_LINED, _DATED, _WIDE, _ENOUGH, _LEAST = 70, 104, 140, 40, 24
# What a sentence says of functions, and what their number takes.
_SAID, _MORE, _LEAST_NAME = 60, 10, 8


def render(
    blame: Blame, *, width: int, top: int | None = DEFAULT_TOP, per_op: bool | None = None
) -> str:
    """The whole text, at most ``width`` columns (from ``MIN_WIDTH``). ``top``: at most so many
    rows, None: all; ``per_op``: None means where ops are known."""
    width = max(width, MIN_WIDTH)
    numbers = Numbers(blame.ops if per_op is not False else None)
    lines = head(blame, numbers, width)
    for block in table(blame.rows, blame.delta, numbers, width, top):
        lines += ["", *block.lines]
    for note in [*_suspects(blame), *_together(blame), *blame.notes]:
        lines += ["", *units.wrap(units.printable(note), width)]
    if blame.renamed:
        lines += ["", *_renamed(blame.renamed, width)]
    lines += ["", *units.wrap(_LEGEND, width)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


_LEGEND = (
    "blame goes by source lines and is not a bisection. lines: the executed instructions of lines "
    "that a commit added, changed or removed, new minus base. effect: these, and what ran below "
    "calls that it added or removed, which no other row has then. Both add up to all."
)


def head(blame: Blame, numbers: Numbers, width: int) -> list[str]:
    """What is compared with what."""
    base, new = ((label, blame.revisions[label][:DIGITS]) for label in (blame.base, blame.new))
    return units.wrap(
        units.printable(
            f"{new[0]} ({new[1]}) against {base[0]} ({base[1]}): {numbers.delta(blame.delta)} "
            f"instructions{numbers.title}"
        ),
        width,
    )


def table(
    rows: Sequence[Row], delta: int, numbers: Numbers, width: int, top: int | None
) -> list[Block]:
    """The rows that have instructions, and what makes up the rest."""
    known = [row for row in _merged(rows) if row.instructions or row.effect]
    shown, hidden = known[:top], known[top:] if top is not None else []
    titles = ["effect", "share", "lines", "added", "removed", "commit", "date"]
    left_out = {4, 3} if width < _WIDE else set()
    left_out |= {6} if width < _DATED else set()
    left_out |= {2} if width < _LINED else set()

    def cells(some: Sequence[Row], commit: str = "", date: str = "") -> list[str]:
        sums = [sum(values) for values in zip(*map(_numbers, some), strict=True)] or [0, 0, 0, 0]
        effect, *sides = map(numbers.delta, sums)
        told = [effect, units.share(sums[0], delta), *sides, commit, date]
        return [text for at, text in enumerate(told) if at not in left_out]

    body = [
        cells([row], row.commit[:DIGITS] if row.commit else row.kind, (row.author_date or "")[:10])
        for row in shown
    ]
    tail = [(cells(rows), "all")]
    if hidden:
        text = f"{units.counted(len(hidden), 'row')} not shown"
        tail.insert(0, (cells(hidden), text))
    columns = [title for at, title in enumerate(titles) if at not in left_out]
    used = [
        max(map(units.width, column)) + 2
        for column in zip(columns, *body, *(row for row, _ in tail), strict=True)
    ]
    room = max(width - sum(used), _LEAST)
    # The beginning of a subject says most, and so do the first functions.
    longest = max((units.width(units.printable(row.subject)) for row in shown), default=0)
    alone = room < _ENOUGH
    said = max(min(longest, room if alone else max(room // 2, room - _ENOUGH)), len("subject"))
    cut = [units.ended(units.printable(row.subject), said) for row in shown]
    title, texts = "subject", cut
    if not alone:
        title = f"{'subject':{said}}  functions"
        texts = [
            f"{text}{' ' * (said - units.width(text))}  {functions(row, room - said - 2)}"
            for text, row in zip(cut, shown, strict=True)
        ]
    return draw(
        f"instructions{numbers.title} by commit",
        [*(Column(one) for one in columns), Column(title, name=True)],
        [[*row, text] for row, text in zip(body, texts, strict=True)],
        width,
        [[*row, text] for row, text in tail],
    )


def _merged(rows: Sequence[Row]) -> list[Row]:
    """Rows of a kind that differ by their suspects as one, largest first."""
    found: dict[tuple[str, str | None, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row.kind, row.commit, row.subject), []).append(row)
    merged = []
    for first, *more in found.values():
        if more:
            every = [first, *more]
            sizes: Counter[str] = Counter()
            effects: Counter[str] = Counter()
            for one in every:
                sizes.update({share.function: share.instructions for share in one.functions})
                effects.update({share.function: share.effect for share in one.functions})
            shares = [
                Share(function=name, instructions=size, effect=effects[name])
                for name, size in sizes.items()
            ]
            first = msgspec.structs.replace(
                first,
                instructions=sum(one.instructions for one in every),
                added=sum(one.added for one in every),
                removed=sum(one.removed for one in every),
                effect=sum(one.effect for one in every),
                functions=sorted(shares, key=by_size),
            )
        merged.append(first)
    return sorted(merged, key=lambda row: (-abs(row.effect), -abs(row.instructions)))


def _numbers(row: Row) -> tuple[int, int, int, int]:
    return row.effect, row.instructions, row.added, row.removed


def functions(row: Row, room: int) -> str:
    """The largest ones, as many as there is room for, and how many more."""
    names = [
        units.printable(function.function)
        for function in row.functions
        if function.instructions or function.effect
    ]
    shown = names[:1]
    for name in names[1:_FUNCTIONS]:
        if units.width(", ".join([*shown, name])) + _MORE > room:
            break
        shown.append(name)
    more = f", {len(names) - len(shown):,} more" if len(names) > len(shown) else ""
    return f"{units.ended(', '.join(shown), max(room - len(more), _LEAST_NAME))}{more}"


def _suspects(blame: Blame) -> list[str]:
    """Who may be behind what is executed more or less often, of the largest rows."""
    told: list[str] = []
    for row in blame.rows:
        if not row.suspects or not row.instructions or len(told) == _FUNCTIONS:
            continue
        who = ", ".join(commit[:DIGITS] for commit in row.suspects)
        if row.effect:
            calls = " or in what calls them" if row.kind == "more-often" else ""
            told.append(
                f"suspects for {functions(row, _SAID)}, {_what(row)}: {who} changed lines "
                f"there{calls}."
            )
        else:
            told.append(
                f"{functions(row, _SAID)}, {_what(row)}: below calls that {who} added or removed."
            )
    return told


def _together(blame: Blame) -> list[str]:
    """Which rows say something only with others."""
    told: list[str] = []
    said: set[str] = set()
    for row in blame.rows:
        if row.commit and row.together and row.instructions and row.commit not in said:
            said |= {row.commit, *row.together}
            who = [commit[:DIGITS] for commit in (row.commit, *row.together)]
            told.append(
                f"{', '.join(who[:-1])} and {who[-1]} changed the same lines one after the other: "
                "only their rows together are what that cost."
            )
    return told[:_FUNCTIONS]


def _what(row: Row) -> str:
    if row.kind == "other-code":
        return "other code"
    ways = {
        "more" if function.instructions > 0 else "less"
        for function in row.functions
        if function.instructions
    }
    return f"executed {' or '.join(sorted(ways, reverse=True))} often"


def _renamed(pairs: Sequence[Pair], width: int) -> list[str]:
    told = [f"{pair.vanished} → {pair.new}? ({units.percent(pair.alike, '.0f')})" for pair in pairs]
    text = units.few(told, _PAIRS, "; ", "; ")
    return units.wrap(units.printable(f"renamed or moved, as far as alike: {text}"), width, 2)
