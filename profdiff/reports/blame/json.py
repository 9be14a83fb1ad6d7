"""Blame as JSON, ``profdiff.blame/1``."""

import json

import msgspec

from profdiff.views.blame import Blame


def render(blame: Blame) -> bytes:
    """The record in ASCII, which no terminal takes for an order."""
    return json.dumps(msgspec.to_builtins(blame), indent=1).encode() + b"\n"
