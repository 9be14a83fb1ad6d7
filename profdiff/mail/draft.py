"""A mail as bytes: an RFC 5322 message that ``git send-email`` takes as it is.

That program reads the headers, writes its own Date, and passes a body on as it stands while its
lines are short enough for SMTP; so nothing here needs its --compose.

Files that go along with a mail, where somebody asked for them: lists frown on attachments.
"""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from email import policy
from email.charset import QP, Charset
from email.header import Header
from email.message import EmailMessage
from email.utils import formataddr, make_msgid
from typing import Any, Literal

from profdiff.base.errors import InputError
from profdiff.evidence.findings import Findings
from profdiff.mail import address as addresses
from profdiff.mail.address import Address, shown
from profdiff.mail.letter import LIMIT, Letter
from profdiff.mail.recipients import Recipients
from profdiff.profile.comparison import Comparison
from profdiff.reports.exports import stacks, svg
from profdiff.views.claims import answered

Kind = Literal["folded", "svg"]


@dataclass(frozen=True)
class Attachment:
    """A file as plain text; ``note`` says in the mail what it is."""

    name: str
    text: str
    note: str


def attach(kind: Kind, findings: Findings, room: int) -> Attachment:
    """The attachment of the first metric, at most ``room`` octets. Raises InputError where there is
    nothing to show, or the picture is too large."""
    comparisons = findings.comparisons
    if not comparisons or len(comparisons[0].labels) < 2:
        what = "only one kernel" if comparisons else "no profile"
        raise InputError(f"--attach {kind}: the session has {what}, so there is no difference")
    return _svg(findings, room) if kind == "svg" else _folded(comparisons[0], room)


def _svg(findings: Findings, room: int) -> Attachment:
    text = svg.difference(findings.comparisons, answered.first(findings)).decode(
        errors="backslashreplace"
    )
    if len(text.encode()) > room:
        raise InputError(
            f"--attach svg: the picture has {len(text.encode()):,} octets, the mail has room "
            f"for {room:,}: publish it in a lasting place and link to it"
        )
    return Attachment("difference.svg", text, "difference.svg: the difference as a flamegraph")


def _folded(comparison: Comparison, room: int) -> Attachment:
    """The stacks whose counts differ most between the base and the kernel that costs most, sorted,
    as many as there is room for."""
    most = 1 + int(comparison.totals()[1:].argmax())
    label, lines = list(stacks.folded_difference(comparison))[most - 1]
    every = lines.decode().splitlines(keepends=True)
    kept = []
    for line in sorted(every, key=_difference, reverse=True):
        room -= len(line.encode())
        if room < 0:
            break
        kept.append(line)
    what = f"the {len(kept):,} of {len(every):,} stacks that differ most"
    return Attachment(
        "difference.folded",
        "".join(sorted(kept)),
        f"difference.folded: {what if len(kept) < len(every) else 'all stacks'}, with their "
        f"{comparison.metric.title} on {comparison.labels[0]} and on {label}; for flamegraph.pl",
    )


def _difference(line: str) -> int:
    _, base, other = line.rsplit(" ", 2)
    return abs(int(other) - int(base))


# SMTP's longest line (RFC 5321, 4.5.3.1.6), without its end.
_MAX_LINE = 998
_MAX_SUBJECT = 500
_GIT_SECONDS = 30
_FOLDED = 70
# Headers whose lines are made here.
_OWN = ("from", "to", "cc", "subject", "message-id", "in-reply-to", "references")
# Whatever other code of this process registered for utf-8 (b4 turns its encoding off).
_UTF8 = Charset("utf-8")
_UTF8.header_encoding = QP


class _Policy(policy.EmailPolicy):
    """Python's own, but that it takes the headers of ``_OWN`` as they are. It would decode what
    only looks encoded, encode an id that is longer than a line, after which nothing threads
    (CPython issue 79986), and what it makes of a long name can read as another address (issue
    121284)."""

    def header_store_parse(self, name: str, value: Any) -> tuple[str, Any]:
        return (name, value) if name.lower() in _OWN else super().header_store_parse(name, value)

    def header_fetch_parse(self, name: str, value: Any) -> Any:
        return value if name.lower() in _OWN else super().header_fetch_parse(name, value)

    def fold(self, name: str, value: Any) -> str:
        if name.lower() in _OWN:
            return f"{name}: {value}{self.linesep}"
        return str(super().fold(name, value))

    def fold_binary(self, name: str, value: Any) -> bytes:
        return self.fold(name, value).encode("ascii", "surrogateescape")


_POLICY = _Policy(cte_type="8bit", linesep="\n")


def _people(some: Sequence[Address]) -> str:
    """Folded only between them."""
    return ",\n ".join(map(_person, some))


def _person(one: Address) -> str:
    if _plain(one.name):
        return formataddr((one.name, one.address))
    return f"{Header(one.name, _UTF8, _FOLDED).encode()} <{one.address}>"


def _subject(text: str) -> str:
    # A word that is longer than a line would leave the first one empty.
    return Header(text, None if _plain(text) else _UTF8, _FOLDED, "Subject").encode().lstrip()


def _plain(text: str) -> bool:
    """Whether it may stand as it is: what looks encoded would be decoded by whoever reads it."""
    return text.isascii() and "=?" not in text


def compose(
    letter: Letter,
    sender: Address,
    recipients: Recipients,
    date: datetime,
    attachments: Sequence[Attachment] = (),
) -> bytes:
    """The whole message, shorter than LIMIT octets with headers and attachments; the letter's
    tables are shortened for that. ``date`` knows its zone.

    Raises InputError when there is too much of what cannot be shortened, and for a subject that is
    empty, too long or more than one line.
    """
    room = LIMIT
    while True:
        body = letter.render(room)
        data = _message(letter.subject, body, sender, recipients, date, attachments)
        excess = len(data) - LIMIT + 1
        if excess <= 0:
            return data
        # In what is left out, quoted-printable had made up to three times as much, and line ends.
        room -= excess // 4 + 1


def _message(
    subject: str,
    body: str,
    sender: Address,
    recipients: Recipients,
    date: datetime,
    attachments: Sequence[Attachment],
) -> bytes:
    if not subject.strip() or not subject.isprintable() or len(subject) > _MAX_SUBJECT:
        raise InputError(
            f"--subject: {shown(subject)} is not one line of 1 to {_MAX_SUBJECT} characters"
        )
    mail = EmailMessage(_POLICY)
    mail["From"] = _people([sender])
    if recipients.to:
        mail["To"] = _people(recipients.to)
    if recipients.cc:
        mail["Cc"] = _people(recipients.cc)
    mail["Subject"] = _subject(subject)
    mail["Date"] = date
    # The host's name is nobody's business.
    domain = sender.address.rpartition("@")[2]
    mail["Message-ID"] = make_msgid("profdiff", domain)
    if recipients.in_reply_to:
        mail["In-Reply-To"] = recipients.in_reply_to
        mail["References"] = "\n ".join(recipients.references)
    mail.set_content(body, charset="utf-8", cte=_encoding(body))
    for attachment in attachments:
        mail.add_attachment(
            attachment.text,
            charset="utf-8",
            cte=_encoding(attachment.text),
            disposition="inline",
            filename=attachment.name,
        )
    if attachments:
        # git send-email asks for the whole mail's encoding where it does not say (RFC 2045, 6.4).
        mail["Content-Transfer-Encoding"] = "8bit"
    return mail.as_bytes()


def own_address(given: str | None) -> Address:
    """Who writes: ``given`` (--from), or git's user.name and user.email. Raises InputError."""
    if given is not None:
        return addresses.one(given, "--from")
    name, address = _git_config("user.name"), _git_config("user.email")
    if not address:
        raise InputError("git config has no user.email: set it, or use --from")
    found = addresses.one(address, "git config user.email")
    return Address(" ".join(name.split()), found.address)


def _git_config(key: str) -> str:
    try:
        result = subprocess.run(
            ["git", "config", "--get", key],
            capture_output=True,
            text=True,
            check=False,
            timeout=_GIT_SECONDS,
        )
    except (FileNotFoundError, UnicodeDecodeError):
        return ""
    except subprocess.TimeoutExpired:
        raise InputError(
            f"git config --get {key} does not end: a pipe may be in place of a file of your "
            "configuration"
        ) from None
    return result.stdout.strip()


def _encoding(text: str) -> str:
    longest = max((len(line.encode()) for line in text.split("\n")), default=0)
    return "8bit" if longest <= _MAX_LINE else "quoted-printable"
