"""A mail as it came: a stranger's bytes, of which only what is asked for is read."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import Message
from email.parser import BytesParser
from email.utils import parsedate_to_datetime

from profdiff.base.errors import InputError
from profdiff.mail.encoded_words import decoded, readable
from profdiff.mail.letter import Quote

_MAX_HEADERS = 256 * 1024
# Lists refuse mails above some 100 KB; Python's parser takes time for each line times the parts
# that are open around it.
_MAX_QUOTED_MAIL = 2**20
_MAX_MULTIPARTS = 50
# What is quoted is to be trimmed by its writer; more than this nobody trims.
_QUOTED = 200
_NEVER = datetime.min.replace(tzinfo=UTC)
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_PARSER = BytesParser()


@dataclass(frozen=True)
class ReceivedMail:
    """``headers``: names in lower case, and values on one line each, still encoded where they are;
    ``data``: the whole mail."""

    headers: Sequence[tuple[str, str]]
    data: bytes

    @staticmethod
    def of(data: bytes) -> "ReceivedMail | None":
        """None where its headers are longer than 256 KiB."""
        end = _HEAD_END.search(data, 0, _MAX_HEADERS)
        if end is None and len(data) >= _MAX_HEADERS:
            return None
        head = _PARSER.parsebytes(data[: end.end()] if end else data, headersonly=True)
        headers = [(name.lower(), _text(value)) for name, value in head.raw_items()]
        return ReceivedMail(headers, data)

    def values(self, name: str) -> list[str]:
        """Of all headers of that name."""
        return [value for known, value in self.headers if known == name.lower()]

    def value(self, name: str) -> str:
        """Of the first header of that name, "" if there is none."""
        return next(iter(self.values(name)), "")

    @property
    def id(self) -> str | None:
        """The Message-ID with its angle brackets, None if the mail has none."""
        found = re.search(r"<[^<>\s]{1,900}>", self.value("Message-ID"))
        return found[0] if found else None

    @property
    def date(self) -> datetime:
        """When it says that it was written; the year 1 where it does not say."""
        try:
            date = parsedate_to_datetime(self.value("Date"))
            # "-0000" says that the zone is unknown.
            return date.replace(tzinfo=UTC) if date.tzinfo is None else date
        except (ValueError, TypeError, IndexError, OverflowError):
            return _NEVER

    def quoted(self) -> Quote:
        """What the mail says: its first plain text, without its signature. Raises InputError when
        it has none, or is too large or too deep to be read."""
        text = self._body()
        if text is None:
            raise InputError(f"--quote: {self.id} has no plain text to quote")
        lines = text.split("\n")
        if len(lines) > _QUOTED:
            lines[_QUOTED:] = [f"[{len(lines) - _QUOTED:,} more lines]"]
        author, date = decoded(self.value("From")), decoded(self.value("Date"))
        return Quote(f"On {date[:100]}, {author[:200]} wrote:", "\n".join(lines))

    def _body(self) -> str | None:
        if len(self.data) > _MAX_QUOTED_MAIL:
            raise InputError(f"--quote: {self.id} has more than 1 MiB: quote it by hand")
        if self.data.lower().count(b"multipart/") > _MAX_MULTIPARTS:
            raise InputError(f"--quote: {self.id} has too many parts within parts")
        try:
            parts = list(_PARSER.parsebytes(self.data).walk())
        except RecursionError:
            raise InputError(f"--quote: {self.id} has too many parts within parts") from None
        for part in parts:
            payload = part.get_payload(decode=True)
            if part.get_content_type() != "text/plain" or not isinstance(payload, bytes):
                continue
            text = readable(payload, _charset(part)).replace("\r\n", "\n")
            text = re.sub(r"(?m)^>(>*From )", r"\1", text)
            return re.split(r"(?m)^-- $", text, maxsplit=1)[0].strip("\n")
        return None


def _text(value: object) -> str:
    """A header's value: RFC 5322's ASCII, RFC 6532's UTF-8, or what can be read of other octets,
    which Python's parser passes on as surrogates."""
    octets = str(value).encode(errors="surrogateescape")
    return " ".join(octets.decode(errors="replace").split())


def _charset(part: Message) -> str:
    try:
        return part.get_content_charset("utf-8")
    except (LookupError, ValueError):
        return "utf-8"
