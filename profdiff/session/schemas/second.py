"""Sessions of the schema ``profdiff.session/2``, as those of today's."""

from typing import Any

import msgspec

from profdiff.collectors.records import Count, Name, Part
from profdiff.session.manifest import SCHEMA, Manifest, Point, replace

SECOND_SCHEMA = "profdiff.session/2"


class _Lengths(Part, frozen=True):
    """``parameter`` was ``short`` in one point, ``long`` in another, and the rest of both equal."""

    parameter: Name
    short: Count
    long: Count


class SecondManifest(Manifest, frozen=True, kw_only=True):
    """What it said once for all points."""

    difference: _Lengths | None = None


def decode(data: bytes) -> Manifest:
    """The manifest, from JSON of the second schema. Raises msgspec.DecodeError."""
    return updated(msgspec.json.decode(data, type=SecondManifest))


def updated(old: SecondManifest) -> Manifest:
    """Today's: each point says itself which one is subtracted from it."""
    fields: dict[str, Any] = {name: getattr(old, name) for name in Manifest.__struct_fields__}
    points = _paired(old.points, old.difference) if old.difference else old.points
    return Manifest(**fields | {"schema": SCHEMA, "points": points})


def _paired(points: list[Point], lengths: _Lengths) -> list[Point]:
    """An op was an iteration where nothing else was said."""
    rows: dict[tuple[object, ...], dict[str, int]] = {}
    for row, point in enumerate(points):
        others = {name: v for name, v in point.parameters.items() if name != lengths.parameter}
        length = point.parameters.get(lengths.parameter, "")
        rows.setdefault((*others.items(), point.cpus), {})[length] = row
    made = list(points)
    for pair in rows.values():
        short, long = pair.get(str(lengths.short)), pair.get(str(lengths.long))
        if short is None or long is None or lengths.short >= lengths.long:
            continue
        before, after = made[short].ops, made[long].ops
        if not before or not after or before >= after:
            before, after = lengths.short or None, lengths.long
        made[short] = replace(made[short], ops=before)
        made[long] = replace(made[long], ops=after, shorter=short)
    return made
