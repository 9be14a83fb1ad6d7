"""Text as a stranger wrote it: what can be read of it, whatever he says it is."""

import binascii
import codecs
import re
from itertools import groupby

# RFC 2047, 2, with RFC 2231's language; as lenient about what is between the marks as senders are.
_WORD = re.compile(r"=\?([^?*\s]+)(?:\*[^?\s]*)?\?([bBqQ])\?(.*?)\?=")
# Blanks between two encoded words are not part of the text (RFC 2047, 6.2).
_RUN = re.compile(rf"{_WORD.pattern}(?:\s*{_WORD.pattern})*")
# A header has 998 octets on a line; more than this is not text for a person.
_LONGEST = 10_000
# Not charsets of mail, and their time grows with the square of the text.
_SLOW = frozenset({"idna", "punycode"})


def decoded(value: str) -> str:
    """``value`` without RFC 2047's encoding, on one line and without control characters. What is
    not of its charset is replaced; what is not an encoding stays as it stands."""
    value = _RUN.sub(lambda run: _decode_run(run[0]), value[:_LONGEST])
    value = value.encode(errors="replace").decode()
    return " ".join("".join(c if c.isprintable() else " " for c in value).split())


def readable(data: bytes, charset: str) -> str:
    """``data`` as text. What is not of ``charset`` is replaced; of a charset that is unknown, all
    but UTF-8, which ASCII is part of."""
    try:
        name = codecs.lookup(charset).name
        return data.decode("utf-8" if name in _SLOW else name, errors="replace")
    except (LookupError, ValueError):
        return data.decode(errors="replace")


def _decode_run(run: str) -> str:
    """Words of one charset are decoded as one: a character may be cut between them."""
    try:
        words = [(m[1].lower(), _octets(m[2].lower(), m[3])) for m in _WORD.finditer(run)]
    except binascii.Error:
        return run
    charsets = groupby(words, key=lambda word: word[0])
    return "".join(readable(b"".join(part for _, part in some), name) for name, some in charsets)


def _octets(encoding: str, text: str) -> bytes:
    data = text.encode(errors="replace")
    # Padding that is missing is added; what is too much does no harm.
    return (
        binascii.a2b_qp(data, header=True)
        if encoding == "q"
        else binascii.a2b_base64(data + b"===")
    )
