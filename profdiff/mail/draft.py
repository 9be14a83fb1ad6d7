"""A mail as bytes: an RFC 5322 message that ``git send-email`` takes as it is.

That program reads the headers, writes its own Date, and passes a body on as it stands while its
lines are short enough for SMTP; so nothing here needs its --compose.
"""

import subprocess
from collections.abc import Sequence
from datetime import datetime
from email import headerregistry, policy
from email.charset import QP, Charset
from email.header import Header
from email.message import EmailMessage
from email.utils import formataddr, make_msgid
from typing import Any

from profdiff.errors import InputError
from profdiff.mail import address as addresses
from profdiff.mail.address import Address, shown
from profdiff.mail.attachment import Attachment
from profdiff.mail.letter import LIMIT, Letter
from profdiff.mail.recipients import Recipients

# SMTP's longest line (RFC 5321, 4.5.3.1.6), without its end.
_MAX_LINE = 998
_MAX_SUBJECT = 500
_IDS = ("message-id", "in-reply-to", "references")
_PEOPLE = ("from", "to", "cc")
_FOLDED = 70
# Whatever other code of this process registered for utf-8 (b4 turns its encoding off).
_UTF8 = Charset("utf-8")
_UTF8.header_encoding = QP


class _Policy(policy.EmailPolicy):
    """Python's own, but that it folds lists of ids and of addresses only between them: there it
    encodes an id that is longer than a line, and then nothing threads (CPython issue 79986), and
    what it makes of a long name can read as another address (issue 121284)."""

    def fold(self, name: str, value: Any) -> str:
        end = self.linesep
        if name.lower() in _IDS:
            return f"{name}: {f'{end} '.join(value.split())}{end}"
        if name.lower() in _PEOPLE:
            return f"{name}: {f',{end} '.join(map(_person, value.addresses))}{end}"
        return str(super().fold(name, value))

    def fold_binary(self, name: str, value: Any) -> bytes:
        return self.fold(name, value).encode("ascii", "surrogateescape")


_POLICY = _Policy(cte_type="8bit", linesep="\n")


def _person(one: headerregistry.Address) -> str:
    # What looks encoded would be decoded by whoever reads it.
    if one.display_name.isascii() and "=?" not in one.display_name:
        return formataddr((one.display_name, one.addr_spec))
    return f"{Header(one.display_name, _UTF8, _FOLDED).encode()} <{one.addr_spec}>"


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
        # Of what is left out, quoted-printable had made up to three times as much, and line ends.
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
    mail["From"] = _header([sender])
    if recipients.to:
        mail["To"] = _header(recipients.to)
    if recipients.cc:
        mail["Cc"] = _header(recipients.cc)
    mail["Subject"] = subject
    mail["Date"] = date
    # The host's name is nobody's business.
    domain = sender.address.rpartition("@")[2]
    mail["Message-ID"] = make_msgid("profdiff", domain)
    if recipients.in_reply_to:
        mail["In-Reply-To"] = recipients.in_reply_to
        mail["References"] = " ".join(recipients.references)
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
        raise InputError("git config knows no user.email: say who you are with --from")
    found = addresses.one(address, "git config user.email")
    return Address(" ".join(name.split()), found.address)


def _git_config(key: str) -> str:
    try:
        result = subprocess.run(
            ["git", "config", "--get", key], capture_output=True, text=True, check=False
        )
    except (FileNotFoundError, UnicodeDecodeError):
        return ""
    return result.stdout.strip()


def _header(some: Sequence[Address]) -> list[headerregistry.Address]:
    return [headerregistry.Address(one.name, addr_spec=one.address) for one in some]


def _encoding(text: str) -> str:
    longest = max((len(line.encode()) for line in text.split("\n")), default=0)
    return "8bit" if longest <= _MAX_LINE else "quoted-printable"
