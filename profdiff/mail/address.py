"""An address with a name: checked, since what is written here decides who gets the mail; and what
can be read of a stranger's encoded words."""

import binascii
import codecs
import re
from collections.abc import Iterable
from dataclasses import dataclass
from email.utils import getaddresses
from itertools import groupby

from profdiff.base.errors import InputError

# RFC 2047, 2, with RFC 2231's language; as lenient about what is between the marks as senders are.
_WORD = re.compile(r"=\?([^?*\s]+)(?:\*[^?\s]*)?\?([bBqQ])\?(.*?)\?=")
# Blanks between two encoded words are not part of the text (RFC 2047, 6.2).
_RUN = re.compile(rf"{_WORD.pattern}(?:\s*{_WORD.pattern})*")
# A header has 998 octets on a line; more than this is not text for a person.
_MAX_TEXT = 10_000
# Not charsets of mail, and their time grows with the square of the text.
_SLOW = frozenset({"idna", "punycode"})


def decoded(value: str) -> str:
    """``value`` without RFC 2047's encoding, on one line and without control characters. What is
    not of its charset is replaced; what is not an encoding stays as it stands."""
    value = _RUN.sub(lambda run: _decode_run(run[0]), value[:_MAX_TEXT])
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


# A dot-atom at a domain with a dot (RFC 5322, 3.4.1), as much of it as git send-email takes
# (extract_valid_address). Kernel lists have no other kinds.
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_ADDRESS = re.compile(rf"{_ATOM}(?:\.{_ATOM})*@{_LABEL}(?:\.{_LABEL})+")
# How archives hide addresses: marc, spinics, lkml.org, Google Groups, GNU's lists, Cloudflare.
_MASKED = re.compile(
    r"(?i)(?<!x)x{3,}@x{3,}|@x{3,}(?:\.[\w.]*)?$|^x{4,}@|\.\.\.|…|\*{2,}|[\[({<]\s?at\s?[\])}>]|@hidden"
    r"|email.protected|^\S+ \(\) "
)
_MAX_ADDRESS, _MAX_NAME = 254, 200
# What mail servers take at once (Postfix's smtpd_recipient_limit).
_MAX_RECIPIENTS = 1_000


@dataclass(frozen=True)
class Address:
    """``name`` may be empty; ``address`` is well-formed ASCII."""

    name: str
    address: str

    @property
    def key(self) -> str:
        """The same for the same mailbox."""
        return self.address.lower()

    def __str__(self) -> str:
        return f"{self.name} <{self.address}>" if self.name else self.address


def one(text: str, where: str) -> Address:
    """The one address in ``text``: ``Name <user@example.org>`` or ``user@example.org``. ``where``
    names the option for errors. Raises InputError."""
    found = several([text], where)
    if len(found) != 1:
        raise InputError(f"{where}: {shown(text)} holds {len(found)} addresses: give exactly one")
    return found[0]


def several(texts: Iterable[str], where: str) -> list[Address]:
    """All addresses in headers' values, as To and Cc have them; empty groups
    (``undisclosed-recipients:;``) are none. Raises InputError for a masked or malformed one."""
    found: list[Address] = []
    for text in texts:
        # Some of Python's parsers take what stands behind the last comma for an address.
        text = " ".join(text.split()).rstrip(" ,")
        # Masks need not parse as addresses, so they are looked for first.
        for part in text.split(","):
            _refuse_masked(part.strip(), where)
        if re.fullmatch(r"[\w -]*:\s*;?", text) or not text:
            continue
        try:
            pairs = getaddresses([text])
        except RecursionError:  # Comments within comments, groups within groups.
            pairs = []
        if len(found) + len(pairs) > _MAX_RECIPIENTS:
            raise InputError(f"{where}: more than {_MAX_RECIPIENTS:,} addresses: refused")
        if not pairs:
            raise InputError(f"{where}: {shown(text)} is not an address")
        found += [_checked(name, address, text, where) for name, address in pairs]
    return found


def _checked(name: str, address: str, text: str, where: str) -> Address:
    _refuse_masked(address, where)
    # Python's parser reads over blanks and comments within an address; nobody writes those.
    # What looks encoded may not stand in an address (RFC 2047, 5).
    fits = len(address) <= _MAX_ADDRESS and _ADDRESS.fullmatch(address) and "=?" not in address
    if not fits or address not in text:
        raise InputError(
            f"{where}: {shown(address or text)} is not an address: write user@example.org or "
            "Name <user@example.org>"
        )
    return Address(decoded(name)[:_MAX_NAME], address)


def _refuse_masked(text: str, where: str) -> None:
    bare = text.rpartition("<")[2].rstrip("> ") if "<" in text else text
    if _MASKED.search(bare):
        raise InputError(
            f"{where}: {shown(text)} is masked, as some archives do: take the thread from "
            "lore.kernel.org (t.mbox.gz), which has the addresses"
        )


def shown(text: str) -> str:
    """``text`` for an error: quoted, escaped, and not longer than a line."""
    return ascii(text if len(text) <= 80 else f"{text[:77]}...")
