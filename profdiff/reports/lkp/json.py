"""A report of the robot's as JSON, ``profdiff.lkp/1``."""

import json

import msgspec

from profdiff.views.lkp.document import LkpDocument


def render(document: LkpDocument) -> bytes:
    """The record in ASCII, which no terminal takes for an order."""
    return json.dumps(msgspec.to_builtins(document), indent=1).encode() + b"\n"
