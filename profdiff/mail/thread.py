"""A thread of mails from a file, as public-inbox serves it: mbox, or mbox.gz.

lore's ``t.mbox.gz`` is mboxrd: lines of a body that begin with ``From `` have one ``>`` more.
The file is a stranger's: its size is bounded, what is not a mail is passed over, and of the
others only what is asked for is read.

A thread by the Message-ID of one of its mails: b4, the kernel maintainers' own tool, fetches
it.
"""

import difflib
import gzip
import io
import re
import subprocess
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import Message
from email.parser import BytesParser
from email.utils import parsedate_to_datetime
from pathlib import Path
from urllib.parse import unquote, urlsplit

from profdiff.base import processes
from profdiff.base.errors import InputError, MissingError
from profdiff.base.temporary import temporary_folder
from profdiff.mail.address import decoded, readable, shown
from profdiff.mail.letter import Quote

# A thread of 1,000 mails with patches has some 10 MB.
_MAX_SIZE = 128 * 2**20
_MAX_MAILS = 20_000
_MAX_NAMES = 3
_POSTMARK = re.compile(rb"(?m)^From .*\n?")
_MAX_HEADERS = 256 * 1024
# Lists refuse mails above some 100 KB; Python's parser takes time for each line times the parts
# that are open around it.
_MAX_READ_MAIL = 2**20
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
        """The values of all headers of that name."""
        return [value for known, value in self.headers if known == name.lower()]

    def value(self, name: str) -> str:
        """The value of the first header of that name, "" if there is none."""
        return next(iter(self.values(name)), "")

    @property
    def id(self) -> str | None:
        """The Message-ID with its angle brackets, None if the mail has none."""
        match = re.search(r"<[^<>\s]{1,900}>", self.value("Message-ID"))
        return match[0] if match else None

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
        try:
            text = self.text()
        except InputError as error:
            raise InputError(f"--quote: {error}: quote it by hand") from error
        if text is None:
            raise InputError(f"--quote: {self.id} has no plain text to quote")
        lines = text.split("\n")
        if len(lines) > _QUOTED:
            lines[_QUOTED:] = [f"[{len(lines) - _QUOTED:,} more lines]"]
        author, date = decoded(self.value("From")), decoded(self.value("Date"))
        return Quote(f"On {date[:100]}, {author[:200]} wrote:", "\n".join(lines))

    def text(self) -> str | None:
        """Its first plain text, without its signature; None if it has none. Raises InputError where
        it is too large or too deep."""
        named = self.id or "the mail"
        if len(self.data) > _MAX_READ_MAIL:
            raise InputError(f"{named} has more than 1 MiB")
        if self.data.lower().count(b"multipart/") > _MAX_MULTIPARTS:
            raise InputError(f"{named} has too many parts within parts")
        try:
            parts = list(_PARSER.parsebytes(self.data).walk())
        except RecursionError:
            raise InputError(f"{named} has too many parts within parts") from None
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


@dataclass(frozen=True)
class Thread:
    """The mails of ``name``, a file or the id of one of them, in the file's order; at least one."""

    name: str
    messages: Sequence[ReceivedMail]

    @staticmethod
    def read(path: Path, name: str | None = None) -> "Thread":
        """Read a file; ``name``: what errors call it. Raises InputError when it cannot be read, is
        not an mbox, is empty or too large."""
        name = name or str(path)
        data = unpacked(path)
        if not data.strip():
            raise InputError(f"{name} is empty")
        if not is_mbox(data):
            raise InputError(
                f"{name} is not an mbox (its first line does not begin with 'From '): "
                "take t.mbox.gz of the thread from lore.kernel.org"
            )
        return Thread.of(data, name)

    @staticmethod
    def of(data: bytes, name: str) -> "Thread":
        """Read an mbox. Raises InputError where it has too many mails, or none."""
        # The octets of that line are nobody's: some programs put a name there, in any charset.
        starts = [(one.start(), one.end()) for one in _POSTMARK.finditer(data)]
        if len(starts) > _MAX_MAILS:
            raise InputError(f"{name} has more than {_MAX_MAILS:,} mails: refused")
        ends = [start for start, _ in starts[1:]] + [len(data)]
        mails = (
            ReceivedMail.of(data[begin:end]) for (_, begin), end in zip(starts, ends, strict=True)
        )
        messages = [mail for mail in mails if mail and mail.id]
        if not messages:
            raise InputError(
                f"{name} is not an mbox: none of its mails has a Message-ID and headers smaller "
                "than 256 KiB"
            )
        return Thread(name, messages)

    def message(self, wanted: str | None) -> ReceivedMail:
        """The mail with the id ``wanted``, with or without angle brackets, or as a URL of lore;
        None: the newest by its Date. Raises InputError when the thread does not hold it."""
        if wanted is None:
            # If dates are equal, the later mail in the file.
            return max(enumerate(self.messages), key=lambda pair: (pair[1].date, pair[0]))[1]
        bare = wanted.strip().rstrip("/").rpartition("/")[2].strip("<>")
        known = {(one.id or "").strip("<>"): one for one in self.messages}
        if bare in known:
            return known[bare]
        near = difflib.get_close_matches(bare[:500], list(known)[:1000], _MAX_NAMES, 0.3)
        told = ", ".join(ascii(one)[1:-1] for one in near or list(known)[:_MAX_NAMES])
        raise InputError(
            f"--reply-to {bare[:200]!a}: not among the {len(self.messages):,} mails of "
            f"{self.name}; it has {told}"
        )


def is_mbox(data: bytes) -> bool:
    """Whether a file with this content is one, and not a single mail."""
    return data.startswith(b"From ")


def unpacked(path: Path) -> bytes:
    """A file's content, unpacked where gzip packed it; it may be a pipe. Raises InputError where it
    cannot be read, is damaged or too large."""
    try:
        # Opened once: it may be a pipe. What is packed is bounded as well: of nothing there can be
        # any amount.
        with path.open("rb") as file:
            data = file.read(_MAX_SIZE + 1)
        if data.startswith(b"\x1f\x8b") and len(data) <= _MAX_SIZE:
            with gzip.open(io.BytesIO(data)) as stream:
                data = stream.read(_MAX_SIZE + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path} is damaged: {error}") from error
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    if len(data) > _MAX_SIZE:
        raise InputError(f"{path} has more than {_MAX_SIZE >> 20} MiB: refused")
    return data


_SECONDS = 120
_NAME = "thread"
# What b4 would take for an option has no way in.
_ID = re.compile(r"[A-Za-z0-9_.%+=!#$&'*/?^`{|}~][!-;=?A-~]{0,500}@[!-;=?-~]{1,500}")


def message_id(text: str) -> str | None:
    """The Message-ID in ``text``, without angle brackets: as it is, or in a URL of lore or another
    public-inbox; None where it holds none."""
    bare = text.strip()
    if re.match(r"https?://", bare):
        # https://lore.kernel.org/LIST/ID/ or .../ID/t.mbox.gz, ID as URLs write it.
        parts = [unquote(part) for part in urlsplit(bare).path.split("/")]
        bare = next((part for part in reversed(parts) if "@" in part), "")
    bare = bare.removeprefix("<").removesuffix(">")
    return bare if _ID.fullmatch(bare) else None


def fetch(wanted: str) -> Thread:
    """The thread of the mail with the id ``wanted``. Raises MissingError without b4, and InputError
    where it finds nothing or takes longer than two minutes."""
    with temporary_folder() as folder:
        command = ["b4", "--no-interactive", "mbox", "-o", str(folder), "-n", _NAME, wanted]
        try:
            result = processes.run(command, _SECONDS)
        except FileNotFoundError:
            raise MissingError(
                "b4 is not installed, which fetches a thread by its Message-ID (pip install b4); "
                f"without it: curl -LO 'https://lore.kernel.org/all/{wanted}/t.mbox.gz', then name "
                "t.mbox.gz"
            ) from None
        except subprocess.TimeoutExpired:
            raise InputError(f"{wanted}: b4 took longer than {_SECONDS} s") from None
        file = _written(folder)
        if result.returncode or file is None:
            said = result.stderr.strip().splitlines()
            why = f": {shown(said[-1])}" if said else ""
            raise InputError(f"{wanted}: b4 found no such thread{why}")
        return Thread.read(file, wanted)


def _written(folder: Path) -> Path | None:
    """The mbox: b4 adds an ending of its own."""
    found = sorted(entry for entry in folder.iterdir() if entry.name.startswith(_NAME))
    return found[0] if found and found[0].is_file() else None
