"""The code of a function under several compilers, or on several architectures,
``profdiff.joint-annotation/1``: what ``annotate --json`` writes of a folder of parts.
``docs/annotate.md`` explains it.

Each part's annotation is its own, so its counts are those of the part's session; source lines are
what the parts have in common.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from profdiff.session.held import KindName
from profdiff.views.annotation.records import Annotation, Line
from profdiff.views.record import Counts, Record, schema_of

SCHEMA: Final = "profdiff.joint-annotation/1"


class JointLine(Record, frozen=True):
    """A source line. ``line``: the number of the first kernel that has it, ``lines``: of every one;
    ``text`` and ``text_of`` as of an annotation's line. ``parts``: by part, the counts of the
    kernels whose code has the line; null where no code of the part has it."""

    file: str
    line: int
    lines: Counts
    text: str | None
    text_of: list[str]
    parts: dict[str, Counts | None]


class JointAnnotation(Record, frozen=True):
    """``names``: all parts that were asked for, in order; ``kind``: what they differ by.
    ``missing``: by part, why it has nothing; ``parts``: the annotations of the others."""

    schema: Literal["profdiff.joint-annotation/1"]
    kind: KindName
    names: Annotated[list[str], Meta(min_length=1)]
    function: str
    metric: str
    unit: str
    lines: list[JointLine]
    missing: dict[str, str]
    parts: dict[str, Annotation]


def parts_annotation(
    kind: KindName,
    names: list[str],
    parts: Mapping[str, Annotation],
    missing: Mapping[str, str],
) -> JointAnnotation:
    """The annotation of the parts that have the function, at least one."""
    first = next(iter(parts.values()))
    return JointAnnotation(
        schema=SCHEMA,
        kind=kind,
        names=names,
        function=first.function,
        metric=first.metric,
        unit=first.unit,
        lines=parts_lines(parts, names),
        missing=dict(missing),
        parts=dict(parts),
    )


def parts_lines(parts: Mapping[str, Annotation], names: list[str]) -> list[JointLine]:
    """The source lines of all parts, those that are one together, by file and number.

    Kernels of one label are of the same sources in every part, so a line has one number there. Two
    parts' lines are one where they agree on some kernel and differ on none.
    """
    merged: list[_Merged] = []
    by_number: dict[tuple[str, str, int], _Merged] = {}
    for name, annotation in parts.items():
        for line in annotation.lines:
            keys = [(line.file, label, number) for label, number in line.lines.items()]
            known = (by_number[key] for key in keys if key in by_number)
            one = next((one for one in known if name not in one.parts and one.fits(line)), None)
            if one is None:
                one = _Merged(line)
                merged.append(one)
            one.take(name, line)
            for key in keys:
                by_number.setdefault(key, one)
    order = list(dict.fromkeys(label for one in parts.values() for label in one.labels))
    return [one.line(names, order) for one in sorted(merged, key=_Merged.place)]


class _Merged:
    """A line of one part or more."""

    def __init__(self, line: Line) -> None:
        self.file, self.lines = line.file, dict(line.lines)
        self.text, self.text_of = line.text, list(line.text_of)
        self.parts: dict[str, Counts] = {}

    def fits(self, line: Line) -> bool:
        """Whether no kernel has another number."""
        return all(self.lines.get(label, number) == number for label, number in line.lines.items())

    def take(self, name: str, line: Line) -> None:
        """A part's line, which fits."""
        self.lines.update(line.lines)
        if self.text is None:
            self.text, self.text_of = line.text, list(line.text_of)
        self.parts[name] = line.count

    def place(self) -> tuple[str, int]:
        """In order."""
        return self.file, next(iter(self.lines.values()), 0)

    def line(self, names: list[str], order: list[str]) -> JointLine:
        """The record."""
        lines = {label: self.lines[label] for label in order if label in self.lines}
        return JointLine(
            file=self.file,
            line=next(iter(lines.values()), 0),
            lines=lines,
            text=self.text,
            text_of=self.text_of,
            parts={name: self.parts.get(name) for name in names},
        )


def schema() -> dict[str, Any]:
    """The JSON Schema of all documents; ``joint-annotation.schema.json`` is a copy."""
    return schema_of(JointAnnotation, SCHEMA)
