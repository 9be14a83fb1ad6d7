"""Who gets a mail, and where it stands in a thread."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from profdiff.base.errors import InputError
from profdiff.mail import address as addresses
from profdiff.mail.address import Address, decoded
from profdiff.mail.thread import ReceivedMail

# git send-email writes References on one line, and SMTP takes lines of 998 octets (RFC 5321,
# 4.5.3.1.6).
_MAX_REFERENCES = 900
# The first part has no @, so that a search takes time in proportion to the text.
_ID = re.compile(r"<[!-;=?A-~]+@[!-;=?-~]+>")
_REPLY = re.compile(r"(?i)^(?:\s*(?:re|aw|sv|fwd?)\s*:)+\s*")
_LONGEST_SUBJECT = 500


@dataclass(frozen=True)
class Recipients:
    """``to`` and ``cc`` share no address. ``in_reply_to`` and ``references`` are ids with angle
    brackets, the latter from the thread's first mail on; ``subject``: the parent mail's, with one
    ``Re: ``; None where the mail is not a reply."""

    to: Sequence[Address] = ()
    cc: Sequence[Address] = ()
    in_reply_to: str | None = None
    references: Sequence[str] = ()
    subject: str | None = None

    def with_more(self, to: Sequence[Address], cc: Sequence[Address]) -> "Recipients":
        """The same with further recipients; who is To is not Cc as well."""
        all_to, all_cc = _distinct([*self.to, *to], [*self.cc, *cc], None)
        return replace(self, to=all_to, cc=all_cc)


def reply_to_all(message: ReceivedMail, own: Address) -> Recipients:
    """Reply to ``message`` as mail programs do: its author (or Reply-To) becomes To, everybody else
    Cc; ``own`` is left out. A reply to one's own mail goes to whom that went.

    Raises InputError for addresses that are masked or malformed, and for a mail without an id.
    """
    where = f"the mail {ascii(message.id)[1:-1] if message.id else '(without an id)'}"
    fields = {
        name: addresses.several(message.values(name), f"{where}, {name}")
        for name in ("Reply-To", "From", "To", "Cc")
    }
    author = fields["Reply-To"] or fields["From"]
    if all(one.key == own.key for one in author):
        author, fields["To"] = fields["To"], []
    answered = message.id
    if not answered or not _ID.fullmatch(answered):
        raise InputError(
            f"{where} has no well-formed ASCII Message-ID, which a reply needs: choose another "
            "mail with --reply-to"
        )
    to, cc = _distinct(author, [*fields["To"], *fields["Cc"]], own)
    subject = decoded(message.value("Subject"))
    return Recipients(
        to,
        cc,
        in_reply_to=answered,
        references=_references(message, answered),
        subject=f"Re: {_REPLY.sub('', subject)}"[:_LONGEST_SUBJECT].rstrip(),
    )


def _distinct(
    to: Iterable[Address], cc: Iterable[Address], own: Address | None
) -> tuple[list[Address], list[Address]]:
    seen = {own.key} if own else set()

    def unseen(some: Iterable[Address]) -> list[Address]:
        kept = []
        for one in some:
            if one.key not in seen:
                seen.add(one.key)
                kept.append(one)
        return kept

    return unseen(to), unseen(cc)


def _references(message: ReceivedMail, answered: str) -> tuple[str, ...]:
    """RFC 5322, 3.6.4: the parent's references (or its In-Reply-To, if that is one id), then the
    parent. In a long thread the first and the last ones, which suffice to thread it."""
    known = _ID.findall(" ".join(message.values("References")))
    if not known:
        replied = _ID.findall(" ".join(message.values("In-Reply-To")))
        known = replied if len(replied) == 1 else []
    chain = [fromkey for fromkey in dict.fromkeys(known) if fromkey != answered]
    room = _MAX_REFERENCES - len(answered) - sum(len(one) + 1 for one in chain[:1])
    if room < 0:
        return (answered,)
    kept: list[str] = []
    for one in reversed(chain[1:]):
        room -= len(one) + 1
        if room < 0:
            break
        kept.append(one)
    return (*chain[:1], *reversed(kept), answered)
