"""What is shown of code by compilers: how large it is, what is inlined, its loops, and the
instructions of one side by side. ``docs/codegen.md`` explains it."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from profdiff.base import units
from profdiff.profile.code.file_code import FileFunction, Loop
from profdiff.shapes.selected import with_sum
from profdiff.shapes.table import (
    Cells,
    Column,
    Note,
    Section,
    Table,
    by_figure,
    of_kernel,
    of_row,
    tabulate,
)
from profdiff.topics.codegen.measure import CompiledFunction, HotLoop, Sameness, sameness
from profdiff.topics.sentences import more_rows
from profdiff.topics.size.measure import rows

# The most rows of a table that readers see.
MAX_ROWS, MAX_CODE = 20, 120
_WORDS: Mapping[Sameness, str] = {
    "identical": "identical",
    "registers": "identical but for registers",
    "differs": "differs",
    "absent": "not there",
}
_MEANS = (
    "Identical code has the same instructions with the same operands in the same order; addresses "
    "are compared as symbol and offset, constants without a symbol not at all."
)
_KINDS = {
    "instructions": "",
    "loads": "load",
    "stores": "store",
    "calls": "call",
    "indirect calls": "indirect-call",
    "conditional jumps": "conditional",
    "vector instructions": "vector",
}


class _Figure(NamedTuple):
    name: str
    values: list[int]


def of_function(function: CompiledFunction, hot: HotLoop | None) -> Section:
    """A function: the base's side first."""
    labels = list(function.sides)
    tables = [_figures(function), *_inlined(function), *_loops(function)]
    if hot:
        first = hot.loops[labels[0]]
        where = _place(function.sides[labels[0]], first) if first else ""
        title = f"the loop at {where}" if where else "the loop"
        tables.append(_listing(function, "loop", title, hot.rows.tolist()))
        tables.append(_listing(function, "code", "", function.rows.tolist(), hidden=True))
    else:
        tables.append(_listing(function, "code", "code, without a loop", function.rows.tolist()))
    sentences = [
        *(_sentence(function, label) for label in labels[1:]),
        *(told for label in labels if (told := _copies(function, label))),
        *(
            f"{label} has no debug information: what is inlined is not known."
            for label in function.blind
        ),
    ]
    return Section(
        name="codegen", title="Codegen", sentences=sentences, tables=tables, notes=[_MEANS]
    )


def of_object(name: str, functions: Mapping[str, Mapping[str, FileFunction]]) -> Section:
    """All functions of an object file, by name and label, the base's first."""
    labels = list(next(iter(functions.values()))) if functions else []
    found = [
        _Row(function, [side.size for side in sides.values()], _samenesses(sides))
        for function, sides in functions.items()
    ]
    found.sort(key=lambda row: (-max(abs(size - row.sizes[0]) for size in row.sizes), row.name))
    unlike = [row for row in found if any(one != "identical" for one in row.same)]
    alike = [row for row in found if row not in unlike]

    def word(row: _Row, label: str) -> str:
        return _WORDS[row.same[labels.index(label) - 1]]

    columns = [
        *by_figure(labels, "size", lambda row, label: row.sizes[labels.index(label)], "delta"),
        *(of_kernel(label, "code", "word", word, title="code") for label in labels[1:]),
        of_row("function", "name", lambda row: row.name),
    ]
    table = tabulate(
        columns,
        name="functions",
        title="functions, in bytes",
        kernels=labels,
        ops=None,
        rows=unlike[:MAX_ROWS],
        hidden=[*unlike[MAX_ROWS:], *alike],
        by_kernel=False,
        notes=more_rows(len(unlike) - MAX_ROWS),
    )
    sentences = []
    for at, label in enumerate(labels[1:]):
        equal = sum(row.same[at] == "identical" for row in found)
        both = sum(row.same[at] != "absent" for row in found)
        before, after = (sum(row.sizes[n] for row in found) for n in (0, at + 1))
        apart = f" ({len(found) - both:,} more are in one alone)" if both < len(found) else ""
        sentences.append(
            f"{label}: {equal:,} of {units.counted(both, 'function')} of {name} are identical to "
            f"{labels[0]}'s{apart}; {after - before:+,} bytes ({units.change(before, after)})."
        )
    return Section(
        name="codegen", title="Codegen", sentences=sentences, tables=[table], notes=[_MEANS]
    )


def unlike(functions: Mapping[str, Mapping[str, FileFunction]]) -> Table:
    """Which functions are not identical to the base's, as counts, for conditions."""
    labels = list(next(iter(functions.values()))) if functions else []
    found = [
        _Figure(name, [0, *(one != "identical" for one in _samenesses(sides))])
        for name, sides in functions.items()
    ]
    return with_sum(
        tabulate(
            [
                *by_figure(labels, "unlike", lambda row, k: int(row.values[labels.index(k)])),
                of_row("function", "name", lambda row: row.name),
            ],
            found,
            name="unlike",
            title="functions that are not identical",
            kernels=labels,
            ops=None,
        )
    )


def judged(section: Section, unlike: Table) -> Section:
    """What conditions can name. All functions have a sum, figures of several kinds have none."""
    tables = {table.name: table for table in section.tables}
    some = [with_sum(tables[name]) for name in ("functions", "inlined") if name in tables]
    return replace(section, tables=[*filter(None, [tables.get("figures")]), *some, unlike])


class _Row(NamedTuple):
    name: str
    sizes: list[int]
    same: list[Sameness]


def _samenesses(sides: Mapping[str, FileFunction]) -> list[Sameness]:
    base, *others = sides.values()
    return [sameness(base, other) for other in others]


def _sentence(function: CompiledFunction, label: str) -> str:
    base = next(iter(function.sides))
    before, after = (function.sides[one] for one in (base, label))
    same = function.sameness(label)
    if same == "absent":
        lacking = label if not after.size else base
        return f"{function.name} is in no code of {lacking}."
    size = f"{after.size - before.size:+,} bytes ({units.change(before.size, after.size)})"
    if same == "differs":
        number = len(before.side.code)
        equal, shaped = function.alike(label)
        told = (
            f"{label} has {equal:,} of {base}'s {number:,} instructions as they are, and "
            f"{shaped - equal:,} with other registers"
        )
        return f"{function.name} differs, {size}: {told}."
    return f"{function.name} is {_WORDS[same]} with {base} and {label}, {size}."


def _copies(function: CompiledFunction, label: str) -> str:
    side = function.sides[label]
    if not side.into:
        return ""
    return f"{label} inlines it, into {units.few(side.into, 3)}: that is the code compared here."


def _figures(function: CompiledFunction) -> Table:
    labels, sides = list(function.sides), list(function.sides.values())
    found = [_Figure("bytes", [side.size for side in sides])]
    for name, kind in _KINDS.items():
        values = [
            sum(not kind or kind in classes for classes in side.side.decoded.classes)
            for side in sides
        ]
        found.append(_Figure(name, values))
    found.append(_Figure("loops", [len(side.loops) for side in sides]))
    return tabulate(
        [
            *by_figure(
                labels,
                "count",
                lambda row, label: row.values[labels.index(label)],
                "delta",
                "change",
            ),
            of_row("figure", "name", lambda row: row.name, title=""),
        ],
        name="figures",
        title=function.name,
        kernels=labels,
        ops=None,
        rows=[row for row in found if any(row.values)],
        by_kernel=False,
    )


def _inlined(function: CompiledFunction) -> list[Table]:
    labels, sides = list(function.sides), function.sides.values()
    if function.blind:
        return []
    found = rows([{(name,): size for name, size in side.inlined.items()} for side in sides])
    unlike = [row for row in found if not all(row.sizes)]
    others = [row for row in found if all(row.sizes)]
    return [
        tabulate(
            [
                *by_figure(labels, "size", lambda row, label: row.sizes[labels.index(label)]),
                of_row("inlined", "name", lambda row: row.names[0]),
            ],
            name="inlined",
            title="inlined by some, in bytes",
            kernels=labels,
            ops=None,
            rows=unlike[:MAX_ROWS],
            hidden=[*unlike[MAX_ROWS:], *others],
            by_kernel=False,
            notes=[] if unlike else [f"nothing; {units.counted(len(others), 'function')} by all"],
        )
    ]


def _loops(function: CompiledFunction) -> list[Table]:
    """Those of the base, which ``--loop`` chooses of, and of others."""
    found = [
        (label, number, loop.depth, len(loop.rows), _place(side, loop))
        for label, side in function.sides.items()
        for number, loop in enumerate(side.loops, 1)
    ]
    columns = [
        of_row("loop", "number", lambda row: row[1]),
        of_row("depth", "number", lambda row: row[2]),
        of_row("instructions", "number", lambda row: row[3]),
        of_row("line", "name", lambda row: row[4]),
        of_row("with", "name", lambda row: row[0]),
    ]
    return [
        tabulate(
            columns,
            name="loops",
            title="loops",
            kernels=list(function.sides),
            ops=None,
            rows=found[:MAX_ROWS],
            hidden=found[MAX_ROWS:],
        )
    ] * bool(found)


def _place(side: FileFunction, loop: Loop) -> str:
    """Where a loop is in the function's own source."""
    return next((side.sites[row] for row in loop.rows if side.sites[row]), "")


def _listing(
    function: CompiledFunction,
    name: str,
    title: str,
    pairs: Sequence[Sequence[int]],
    *,
    hidden: bool = False,
) -> Table:
    """Instructions side by side, with how alike those of a row are."""
    labels, sides = list(function.sides), list(function.sides.values())

    def line(row: Sequence[int]) -> str:
        return next(side.lines[at] for side, at in zip(sides, row, strict=True) if at >= 0)

    def text(number: int) -> Callable[[Sequence[int]], str]:
        read = sides[number].side.decoded
        around = [function.name, *sides[number].into]
        return lambda row: _local(read.text[row[number]], around) if row[number] >= 0 else ""

    def mark(row: Sequence[int]) -> str:
        reads = [side.side.decoded for side in sides]
        if -1 in row:
            return ""
        texts = {read.text[at] for read, at in zip(reads, row, strict=True)}
        keys = {read.key[at] for read, at in zip(reads, row, strict=True)}
        return "same" if len(texts) == 1 else "like" if len(keys) == 1 else ""

    columns = [
        of_row("same", "word", mark, title=""),
        *(
            Cells(Column(name="instruction", kind="name", kernel=label, title=label), text(number))
            for number, label in enumerate(labels)
        ),
        of_row("line", "name", line),
    ]
    shown = [] if hidden else list(pairs[:MAX_CODE])
    rest = pairs if hidden else pairs[MAX_CODE:]
    return tabulate(
        columns,
        name=name,
        title=title,
        kernels=labels,
        ops=None,
        rows=shown,
        hidden=list(rest),
        by_kernel=False,
        notes=more_rows(len(rest)) if shown else [],
        legend=[
            Note("same: the same instruction", "same"),
            Note("like: other registers, or another place that a jump leads to", "like"),
        ],
    )


def _local(text: str, around: Sequence[str]) -> str:
    """Text in which jumps within the function, or what it is inlined into, name the offset
    alone."""
    for name in around:
        text = text.replace(f" {name}+0x", " +0x")
    return text
