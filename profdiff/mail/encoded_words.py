"""Text of headers as a stranger wrote it."""

import contextlib
from email.errors import HeaderParseError
from email.header import decode_header, make_header


def decoded(value: str) -> str:
    """``value`` without RFC 2047's encoding, on one line and without control characters. What is
    encoded in an unknown charset, or is not of its charset, stays as it stands."""
    with contextlib.suppress(HeaderParseError, LookupError, ValueError):
        value = str(make_header(decode_header(value)))
    value = value.encode(errors="replace").decode()
    return " ".join("".join(c if c.isprintable() else " " for c in value).split())
