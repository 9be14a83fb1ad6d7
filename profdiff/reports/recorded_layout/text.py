"""The layout of a recording as text: what lies otherwise than on the base."""

from collections.abc import Mapping
from shlex import quote

from profdiff.base import units
from profdiff.forms.columns import MIN_WIDTH
from profdiff.forms.numbers import Numbers
from profdiff.reports.recorded_layout import data
from profdiff.views.recorded_layout.records import RecordedLayout


def render(
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
        *data.types(document, numbers, width, top),
        *data.variables(document, numbers, width, top),
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
