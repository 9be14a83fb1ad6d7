"""Paths as git prints them."""

import re

_ESCAPES = {b"n": b"\n", b"t": b"\t", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"r": b"\r"}
_ESCAPE = re.compile(rb"\\(\d{3}|.)", re.DOTALL)


def unquoted(name: bytes) -> str:
    """A path as git prints it, quoted as in C where it has odd characters."""
    if name.startswith(b'"') and name.endswith(b'"') and len(name) > 1:

        def meant(match: re.Match[bytes]) -> bytes:
            one = match[1]
            if len(one) == 3:
                return bytes([int(one, 8) & 255])
            return _ESCAPES.get(one, b"\v" if one == b"v" else one)

        name = _ESCAPE.sub(meant, name[1:-1])
    return name.decode(errors="surrogateescape")
