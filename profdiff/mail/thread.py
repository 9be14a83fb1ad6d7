"""A thread of mails from a file, as public-inbox serves it: mbox, or mbox.gz.

lore's ``t.mbox.gz`` is mboxrd: lines of a body that begin with ``From `` have one ``>`` more.
The file is a stranger's: its size is bounded, and a mail that is no mail is passed over.
"""

import contextlib
import difflib
import gzip
import mailbox
import re
import tempfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import Message
from email.utils import parsedate_to_datetime
from pathlib import Path

from profdiff.errors import InputError
from profdiff.mail.encoded_words import decoded
from profdiff.mail.letter import Quote

# A thread of 1,000 mails with patches has some 10 MB.
_MAX_SIZE = 128 * 2**20
_MAX_MAILS = 20_000
_MAX_HEADERS = 256 * 1024
_NAMED = 3
# What is quoted is to be trimmed by its writer; more than this nobody trims.
_QUOTED = 200
_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Thread:
    """The mails of ``path``, in the file's order; at least one."""

    path: Path
    messages: Sequence[Message]

    @staticmethod
    def read(path: Path) -> "Thread":
        """Read a file. Raises InputError when it cannot be read, is no mbox, is empty or too
        large."""
        data = _unpacked(path)
        if not data.strip():
            raise InputError(f"--thread {path} is empty")
        if not data.startswith(b"From "):
            raise InputError(
                f"--thread {path} is no mbox (its first line does not begin with 'From '): take "
                "t.mbox.gz of the thread from lore.kernel.org"
            )
        with tempfile.NamedTemporaryFile(prefix="profdiff-", suffix=".mbox") as file:
            file.write(data)
            file.flush()
            box = mailbox.mbox(file.name, create=False)
            try:
                keys = box.keys()
                if len(keys) > _MAX_MAILS:
                    raise InputError(f"--thread {path} has more than {_MAX_MAILS:,} mails: refused")
                found: list[Message] = [box[key] for key in keys]
            except RecursionError:
                raise InputError(f"--thread {path} has parts within parts without end") from None
            finally:
                box.close()
        messages = [one for one in found if message_id(one) and _bounded(one)]
        if not messages:
            raise InputError(f"--thread {path} is no mbox: none of its mails has a Message-ID")
        return Thread(path, messages)

    def message(self, wanted: str | None) -> Message:
        """The mail with the id ``wanted``, with or without angle brackets, or as a URL of lore;
        None: the newest by its Date. Raises InputError when the thread does not hold it."""
        if wanted is None:
            # Of equal dates the later in the file.
            return max(enumerate(self.messages), key=lambda pair: (_date(pair[1]), pair[0]))[1]
        bare = wanted.strip().rstrip("/").rpartition("/")[2].strip("<>")
        known = {(message_id(one) or "").strip("<>"): one for one in self.messages}
        if bare in known:
            return known[bare]
        near = difflib.get_close_matches(bare[:500], list(known)[:1000], _NAMED, 0.3)
        told = ", ".join(ascii(one)[1:-1] for one in near or list(known)[:_NAMED])
        raise InputError(
            f"--reply-to {bare[:200]!a}: not among the {len(self.messages):,} mails of "
            f"{self.path}; it has {told}"
        )


def message_id(message: Message) -> str | None:
    """The id with its angle brackets, None if the mail has none."""
    found = re.search(r"<[^<>\s]{1,900}>", str(message.get("Message-ID", "")))
    return found[0] if found else None


def quoted(message: Message) -> Quote:
    """What a mail says, to be quoted: its first plain text, without its signature. Raises
    InputError when it has none."""
    text = _body(message)
    if text is None:
        raise InputError(f"--quote: {message_id(message)} has no plain text to quote")
    lines = text.split("\n")
    if len(lines) > _QUOTED:
        lines[_QUOTED:] = [f"[{len(lines) - _QUOTED:,} more lines]"]
    author, date = decoded(str(message.get("From", ""))), decoded(str(message.get("Date", "")))
    return Quote(f"On {date[:100]}, {author[:200]} wrote:", "\n".join(lines))


def _body(message: Message) -> str | None:
    for part in message.walk():
        payload = part.get_payload(decode=True)
        if part.get_content_type() != "text/plain" or not isinstance(payload, bytes):
            continue
        try:
            text = payload.decode(part.get_content_charset("utf-8"), errors="replace")
        except (LookupError, ValueError):
            text = payload.decode(errors="replace")
        text = re.sub(r"(?m)^>(>*From )", r"\1", text.replace("\r\n", "\n"))
        return re.split(r"(?m)^-- $", text, maxsplit=1)[0].strip("\n")
    return None


def _unpacked(path: Path) -> bytes:
    try:
        # Opened once: it may be a pipe.
        with path.open("rb") as file:
            packed = file.peek(2).startswith(b"\x1f\x8b")
            with gzip.open(file) if packed else contextlib.nullcontext(file) as stream:
                data = stream.read(_MAX_SIZE + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"--thread {path} is damaged: {error}") from error
    except OSError as error:
        raise InputError(f"--thread {path}: {error.strerror}") from error
    if len(data) > _MAX_SIZE:
        raise InputError(f"--thread {path} has more than {_MAX_SIZE >> 20} MiB: refused")
    return data


def _bounded(message: Message) -> bool:
    return sum(len(name) + len(str(value)) for name, value in message.raw_items()) < _MAX_HEADERS


def _date(message: Message) -> datetime:
    try:
        date = parsedate_to_datetime(str(message.get("Date", "")))
        # "-0000" says that the zone is unknown.
        return date.replace(tzinfo=UTC) if date.tzinfo is None else date
    except (ValueError, TypeError, IndexError, OverflowError):
        return _NEVER
