"""Layouts as JSON, ``profdiff.layout/1``."""

import json

import msgspec

from profdiff.views.layout import LayoutDocument


def render(document: LayoutDocument) -> bytes:
    """The record in ASCII, which no terminal takes for an order."""
    return json.dumps(msgspec.to_builtins(document), indent=1).encode() + b"\n"
