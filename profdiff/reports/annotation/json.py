"""An annotation as JSON, ``profdiff.annotation/1``. ``profdiff/annotation.schema.json`` is made of
its records; ``docs/annotate.md`` explains it."""

import json
from typing import Any

import msgspec

from profdiff.views.annotation.records import SCHEMA, Annotation
from profdiff.views.record import Record, schema_of


def encode(annotation: Record) -> bytes:
    """An annotation, or a joint one, in ASCII, which no terminal takes for an order."""
    return json.dumps(msgspec.to_builtins(annotation), separators=(",", ":")).encode()


def schema() -> dict[str, Any]:
    """The JSON Schema of all annotations; ``annotation.schema.json`` is a copy."""
    return schema_of(Annotation, SCHEMA)
