"""Records as JSON."""

import json

import msgspec


def render(document: msgspec.Struct) -> bytes:
    """The record in ASCII, which no terminal takes for an order."""
    return json.dumps(msgspec.to_builtins(document), indent=1).encode() + b"\n"
