"""A thread of mails from a file, as public-inbox serves it: mbox, or mbox.gz.

lore's ``t.mbox.gz`` is mboxrd: lines of a body that begin with ``From `` have one ``>`` more.
The file is a stranger's: its size is bounded, and a mail that is no mail is passed over.
"""

import difflib
import gzip
import io
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from profdiff.base.errors import InputError
from profdiff.mail.received_mail import ReceivedMail

# A thread of 1,000 mails with patches has some 10 MB.
_MAX_SIZE = 128 * 2**20
_MAX_MAILS = 20_000
_NAMED = 3
_POSTMARK = re.compile(rb"(?m)^From .*\n?")


@dataclass(frozen=True)
class Thread:
    """The mails of ``path``, in the file's order; at least one."""

    path: Path
    messages: Sequence[ReceivedMail]

    @staticmethod
    def read(path: Path) -> "Thread":
        """Read a file. Raises InputError when it cannot be read, is not an mbox, is empty or too
        large."""
        data = _unpacked(path)
        if not data.strip():
            raise InputError(f"--thread {path} is empty")
        if not data.startswith(b"From "):
            raise InputError(
                f"--thread {path} is not an mbox (its first line does not begin with 'From '): "
                "take t.mbox.gz of the thread from lore.kernel.org"
            )
        # The octets of that line are nobody's: some programs put a name there, in any charset.
        starts = [(one.start(), one.end()) for one in _POSTMARK.finditer(data)]
        if len(starts) > _MAX_MAILS:
            raise InputError(f"--thread {path} has more than {_MAX_MAILS:,} mails: refused")
        ends = [start for start, _ in starts[1:]] + [len(data)]
        mails = (
            ReceivedMail.of(data[begin:end]) for (_, begin), end in zip(starts, ends, strict=True)
        )
        messages = [one for one in mails if one and one.id]
        if not messages:
            raise InputError(
                f"--thread {path} is not an mbox: none of its mails has a Message-ID and headers "
                "smaller than 256 KiB"
            )
        return Thread(path, messages)

    def message(self, wanted: str | None) -> ReceivedMail:
        """The mail with the id ``wanted``, with or without angle brackets, or as a URL of lore;
        None: the newest by its Date. Raises InputError when the thread does not hold it."""
        if wanted is None:
            # Of equal dates the later in the file.
            return max(enumerate(self.messages), key=lambda pair: (pair[1].date, pair[0]))[1]
        bare = wanted.strip().rstrip("/").rpartition("/")[2].strip("<>")
        known = {(one.id or "").strip("<>"): one for one in self.messages}
        if bare in known:
            return known[bare]
        near = difflib.get_close_matches(bare[:500], list(known)[:1000], _NAMED, 0.3)
        told = ", ".join(ascii(one)[1:-1] for one in near or list(known)[:_NAMED])
        raise InputError(
            f"--reply-to {bare[:200]!a}: not among the {len(self.messages):,} mails of "
            f"{self.path}; it has {told}"
        )


def _unpacked(path: Path) -> bytes:
    try:
        # Opened once: it may be a pipe. What is packed is bounded as well: of nothing there can be
        # any amount.
        with path.open("rb") as file:
            data = file.read(_MAX_SIZE + 1)
        if data.startswith(b"\x1f\x8b") and len(data) <= _MAX_SIZE:
            with gzip.open(io.BytesIO(data)) as stream:
                data = stream.read(_MAX_SIZE + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"--thread {path} is damaged: {error}") from error
    except OSError as error:
        raise InputError(f"--thread {path}: {error.strerror}") from error
    if len(data) > _MAX_SIZE:
        raise InputError(f"--thread {path} has more than {_MAX_SIZE >> 20} MiB: refused")
    return data
