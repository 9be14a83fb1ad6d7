"""Layouts as JSON."""

import json

import msgspec

from profdiff.views.record import Record


def render(document: Record) -> bytes:
    """The record in ASCII, which no terminal takes for an order."""
    return json.dumps(msgspec.to_builtins(document), indent=1).encode() + b"\n"
