"""What was accessed in a recording and lies otherwise than on the base: as text and as CSV."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from shlex import quote
from typing import TYPE_CHECKING

from profdiff.base import units
from profdiff.forms.columns import MIN_WIDTH, Column, draw, joined
from profdiff.forms.csv import text, written
from profdiff.forms.numbers import Numbers
from profdiff.reports.form import Form, Subject
from profdiff.reports.form import text as as_text
from profdiff.reports.layout import HIDDEN, SAID, SHOWN, span
from profdiff.views.layout import Change
from profdiff.views.recorded_layout import FieldRow, RecordedLayout, TypeRow, VariableRow

if TYPE_CHECKING:
    from profdiff.evidence.findings import LazyFindings

    OfSession = Subject[LazyFindings]


_HEADER = (
    "kind",
    "name",
    "of",
    "kernel",
    "change",
    "count",
    "bit_offset",
    "bit_size",
    "line",
    "last_line",
    "section",
    "at",
    "size",
    "lines",
)


def render_csv(document: RecordedLayout) -> str:
    """Types, fields, variables and neighbours, those that did not change too."""
    return written(
        _HEADER, ([row.get(name, "") for name in _HEADER] for row in _csv_rows(document))
    )


def _csv_rows(document: RecordedLayout) -> Iterator[dict[str, object]]:
    for one in document.types:
        for label, size in one.sizes.items():
            row = {"kind": "type", "name": text(one.name), "kernel": text(label)}
            if size is not None:
                count = sum(field.counts[label] for field in one.fields) + one.elsewhere[label]
                yield {**row, "count": count, "size": size, "lines": one.lines[label]}
        for field in one.fields:
            for label, bits in field.places.items():
                if bits is not None:
                    yield {
                        "kind": "field",
                        "name": text(field.name),
                        "of": text(one.name),
                        "kernel": text(label),
                        "change": field.changes.get(label, ""),
                        "count": field.counts[label],
                        "bit_offset": bits.bit_offset,
                        "bit_size": bits.bit_size,
                        "line": bits.line,
                        "last_line": bits.last_line,
                    }
    for variable in document.variables:
        for label, place in variable.places.items():
            if place is None:
                continue
            yield {
                "kind": "variable",
                "name": text(variable.name),
                "kernel": text(label),
                "count": variable.counts[label],
                "section": text(place.section),
                "at": place.at,
                "size": place.size,
            }
            for neighbour in place.neighbours:
                came = neighbour.name in variable.came.get(label, ())
                yield {
                    "kind": "neighbour",
                    "name": text(neighbour.name),
                    "of": text(variable.name),
                    "kernel": text(label),
                    "change": "came" if came else "",
                    "size": neighbour.size,
                }


_PLACE = ("line", "offset", "size")
_NEIGHBOURS = 3


def render_text(
    document: RecordedLayout,
    specs: Mapping[str, str],
    *,
    width: int,
    top: int,
    per_op: bool | None = None,
) -> str:
    """The whole text, at most ``width`` columns (from ``MIN_WIDTH``), each table at most ``top``
    rows. ``specs``: of the kernels, by label. ``per_op``: None means where ops are known."""
    width = max(width, MIN_WIDTH)
    numbers = Numbers(document.ops if per_op is not False else None)
    parts = [
        *([[f"at {document.setting}"]] if document.setting else []),
        *([[_missing(document, specs)]] if document.no_data else []),
        *_types(document, numbers, width, top),
        *_variables(document, numbers, width, top),
        [_legend(document)],
    ]
    lines: list[str] = []
    for part in parts:
        shown = [line for one in part for line in _wrapped(one, width)]
        lines += [*([""] if lines else []), *shown]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _wrapped(text: str, width: int) -> list[str]:
    """Lines of tables fit already."""
    if units.width(text) <= width:
        return [text]
    return units.wrap(units.printable(text), width)


def _missing(document: RecordedLayout, specs: Mapping[str, str]) -> str:
    why = "; ".join(f"{label}: {one}" for label, one in document.no_data.items())
    base, other = document.labels[0], document.labels[-1]
    kernels = " ".join(quote(f"{label}={specs[label]}") for label in dict.fromkeys([base, other]))
    return (
        f"Accessed data is not known ({why}): record kernels that have a debug ELF; of types that "
        f"you name, profdiff layout {kernels} TYPE... tells"
    )


def _legend(document: RecordedLayout) -> str:
    return (
        f"Sizes and offsets are in bytes; line: the cache line of {document.line_size} bytes, of "
        "fields counted from 0, if the object is aligned to one; at: how far behind the start of a "
        "line it begins. Where something lies does not tell what it costs."
    )


def _types(document: RecordedLayout, numbers: Numbers, width: int, top: int) -> list[Sequence[str]]:
    """A heading and a table for each type that changed, and how many are not shown."""
    alone = len(document.labels) == 1
    changed = [one for one in document.types if one.changed or alone]
    parts = [_type(one, document.labels, numbers, width, top) for one in changed[:top]]
    same = sum(one.compared for one in document.types if not one.changed)
    told = _rest(
        "types not shown",
        {
            "that changed": 0 if alone else len(changed) - top,
            "more": len(changed) - top if alone else 0,
            "whose accessed fields lie in the same lines": 0 if alone else same,
            "that not all kernels accessed": 0
            if alone
            else sum(not one.compared and not one.changed for one in document.types),
        },
    )
    return [*parts, *told]


def _type(row: TypeRow, labels: Sequence[str], numbers: Numbers, width: int, top: int) -> list[str]:
    changed = [field for field in row.fields if _shown(field) or len(labels) == 1]
    most = sorted(changed, key=lambda one: -max(one.counts.values()))[:top]
    shown = [one for one in changed if one in most]
    lines = units.wrap(units.printable(_heading(row)), width)
    if shown:
        titles = [("accesses", 1), *((name, 0) for name in _PLACE)]
        columns = [
            *([Column("change", part=None)] if len(labels) == 2 else []),
            *_by_kernel(labels, titles),
            Column(f"field{numbers.title}", name=True),
        ]
        cells = [_field(one, labels, numbers) for one in shown]
        lines += joined(draw("", columns, cells, width))
    return [*lines, *_below(row, changed, len(changed) - len(shown))]


def _heading(row: TypeRow) -> str:
    """What the type is on each kernel, and in how many lines the accessed fields lie."""
    sizes = [
        f"{label} {units.counted(size, 'byte')}" if size is not None else f"not accessed on {label}"
        for label, size in row.sizes.items()
    ]
    lines = [
        f"{units.counted(number, 'line')} on {label}"
        for label, number in row.lines.items()
        if number is not None
    ]
    told = f"{row.name}: {'; '.join(sizes)}; the fields accessed lie in {units.listed(lines)}"
    return f"{told}, if objects are aligned to a line"


def _shown(row: FieldRow) -> bool:
    return any(change in SHOWN for change in row.changes.values())


def _below(row: TypeRow, changed: Sequence[FieldRow], more: int) -> list[str]:
    """What the table leaves out; ``more``: of those that changed."""
    hidden = Counter[Change]()
    for field in row.fields:
        if field not in changed:
            moved = [change for change in field.changes.values() if change != "none"]
            hidden[moved[0] if moved else "none"] += 1
    told = [f"{hidden[change]:,} {said}" for change, said in HIDDEN.items() if hidden.get(change)]
    told = [*([f"{more:,} more"] if more else []), *told]
    return [f"  fields not shown: {', '.join(told)}"] if told else []


def _field(row: FieldRow, labels: Sequence[str], numbers: Numbers) -> list[str]:
    change = row.changes.get(labels[-1])
    cells = [SAID.get(change, change) if change else "-"] if len(labels) == 2 else []
    for label, place in row.places.items():
        cells += [numbers.count(row.counts[label]), *span(place)]
    return [*cells, row.name]


def _variables(
    document: RecordedLayout, numbers: Numbers, width: int, top: int
) -> list[Sequence[str]]:
    """A table of those that have another size, or lie beside other variables."""
    alone = len(document.labels) == 1
    changed = [variable for variable in document.variables if variable.changed or alone]
    titles = [("accesses", 1), ("at", 0), ("size", 0)]
    columns = [
        *_by_kernel(document.labels, titles),
        Column("variable", name=True),
    ]
    body = [_variable(one, numbers) for one in changed[:top]]
    title = "accessed variables" if alone else "accessed variables that share lines with others"
    parts: list[Sequence[str]] = []
    if body:
        beside = [_neighbours(one) for one in changed[:top]]
        lines = [line for one in beside if one for line in units.wrap(units.printable(one), width)]
        parts.append([*joined(draw(f"{title}{numbers.title}", columns, body, width)), *lines])
    told = _rest(
        "variables not shown",
        {
            "more": len(changed) - top,
            "that share lines as before": len(document.variables) - len(changed),
        },
    )
    return [*parts, *told]


def _variable(row: VariableRow, numbers: Numbers) -> list[str]:
    cells: list[str] = []
    for label, place in row.places.items():
        shown = ["-", "-"] if place is None else [str(place.at), f"{place.size:,}"]
        cells += [numbers.count(row.counts[label]), *shown]
    return [*cells, row.name]


def _neighbours(row: VariableRow) -> str:
    """What came to its lines and what went; of the only kernel, what is there; "" for nothing."""
    places = [place for place in row.places.values() if place]
    if len(row.places) == 1:
        told = {"beside": [neighbour.name for place in places for neighbour in place.neighbours]}
    else:
        told = {
            "came": list(dict.fromkeys(name for names in row.came.values() for name in names)),
            "went": list(dict.fromkeys(name for names in row.went.values() for name in names)),
            "": _resized(row),
        }
    parts = [
        f"{word} {units.few(some, _NEIGHBOURS)}".strip() for word, some in told.items() if some
    ]
    return f"  {row.name}: {'; '.join(parts)}" if parts else ""


def _resized(row: VariableRow) -> list[str]:
    """Neighbours that are there on two kernels, with other sizes."""
    sizes: dict[str, dict[int, None]] = {}
    for place in filter(None, row.places.values()):
        for neighbour in place.neighbours:
            sizes.setdefault(neighbour.name, {})[neighbour.size] = None
    changed = {name: list(some) for name, some in sizes.items() if len(some) > 1}
    return [f"{name} {' -> '.join(map(str, some))} bytes" for name, some in changed.items()]


def _by_kernel(labels: Sequence[str], titles: Sequence[tuple[str, int]]) -> list[Column]:
    """The same columns for each kernel, a title and how well a reader can do without it."""
    several = len(labels) > 2
    return [
        Column(title, group=label, part=part if several else None, spare=spare)
        for part, label in enumerate(labels)
        for title, spare in titles
    ]


def _rest(title: str, numbers: Mapping[str, int]) -> list[list[str]]:
    """A line that says how many are not shown, and which; nothing where all are."""
    told = [f"{number:,} {what}" for what, number in numbers.items() if number > 0]
    return [[f"{title}: {', '.join(told)}"]] if told else []


def _text(subject: "OfSession", target: str) -> str:
    from profdiff.views.recorded_layout import recorded_layout

    found = subject.find().findings
    document = recorded_layout(found)
    specs = {kernel.label: kernel.spec for kernel in found.kernels}
    return as_text(
        subject.asked,
        target,
        lambda asked, width: render_text(
            document, specs, width=width, top=asked.selection.top or 0, per_op=asked.per_op
        ),
    )


def _json(subject: "OfSession", target: str) -> bytes:
    from profdiff.forms import json
    from profdiff.views.recorded_layout import recorded_layout

    return json.render(recorded_layout(subject.find().findings))


def _csv(subject: "OfSession", target: str) -> str:
    from profdiff.views.recorded_layout import recorded_layout

    return render_csv(recorded_layout(subject.find().findings))


FORMS: tuple[Form, ...] = (
    Form(
        "text",
        "Write the layout as text.",
        {"session": _text},
        "[FILE]",
        lambda _: "-",
    ),
    Form("json", "Write the layout as JSON.", {"session": _json}),
    Form("csv", "Write the layout as CSV.", {"session": _csv}),
)
