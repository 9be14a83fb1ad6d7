"""What all records have in common."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeVar

import msgspec

Side = Literal["kernel", "user"]
# By the kernels' labels, the base's first.
Counts = dict[str, int]
_Value = TypeVar("_Value")


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all records."""


def schema_of(type_: type[msgspec.Struct], title: str) -> dict[str, Any]:
    """The JSON Schema of a document whose root is this record."""
    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title}
    return {**draft, **msgspec.json.schema(type_)}


def by_label(labels: Sequence[str], values: Iterable[_Value]) -> dict[str, _Value]:
    """Values of kernels with their labels."""
    return dict(zip(labels, values, strict=True))


def counts(labels: Sequence[str], values: Any) -> Counts:
    """int64[K] with the kernels' labels."""
    return by_label(labels, values.tolist())


def side(in_kernel: bool) -> Side:
    """Where code runs."""
    return "kernel" if in_kernel else "user"


def finite(value: float | None) -> float | None:
    """The value, or None if it is infinite or NaN."""
    return None if value is None or not math.isfinite(value) else value
