"""Who gets a mail, where it stands in a thread, and trailers and regzbot's commands: each a line of
its own that programs read, so each is checked.

Formats: Documentation/process/submitting-patches.rst ("Describe your changes", "Using Reported-by:
..."), scripts/checkpatch.pl, and Documentation/process/handling-regressions.rst.
"""

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from profdiff.base.errors import InputError
from profdiff.mail import address as addresses
from profdiff.mail.address import Address, decoded, shown
from profdiff.mail.thread import ReceivedMail
from profdiff.session.bisection import Bisection
from profdiff.views.bisection import introduced

# In the order in which they stand: Closes belongs right after Reported-by.
NAMES = ("Fixes", "Reported-by", "Closes", "Link", "Cc")
_FIXES = re.compile(r'[0-9a-f]{12,40} \("\S(?:.*\S)?"\)')
_COMMIT = r"[0-9a-f]{8,40}"
_VERSION = r"v?\d+(?:\.\d+){1,3}(?:-[A-Za-z0-9.-]+)?|next-\d{8}"
_POINT = rf"(?:{_COMMIT}|{_VERSION})"
# The second word: the parent mail, the thread's first one, or a URL is the report.
_INTRODUCED = re.compile(rf"{_POINT}(?:\.\.{_POINT})?(?: +(?P<report>[\^/~]|https?://\S+))?")
_OF_PARENT = re.compile(r"#regzbot (?:\^|introduced: \S+ +[\^/~]$)")
_MAX_LINE = 900

_INTRODUCING = ("introduced", "^introduced")
# A link, and behind it, where a title may stand, what is found there.
_LINKING = ("dup", "dup-of", "link", "monitor", "unlink", "unmonitor")
_TITLED = ("link", "monitor")
# With a reason or without.
_RESOLVING = ("inconclusive", "resolve", "invalid", "unbackburn")
_WITHOUT = ("poke", "activity-ignore", "ignore-activity")
_WITH_TEXT = ("title", "fix", "fixed-by", "backburner", "note", "from")
_COMMANDS = (*_INTRODUCING, *_LINKING, *_RESOLVING, *_WITHOUT, *_WITH_TEXT)


def trailer(name: str, value: str) -> str:
    """The line ``name: value``; ``name`` is one of NAMES. Raises InputError when the value is not
    what such a trailer must be."""
    option = f"--{name.lower()}"
    value = _one_line(option, value).removeprefix(f"{name}:").strip()
    if name in ("Reported-by", "Cc"):
        return f"{name}: {addresses.one(value, option)}"
    if name == "Fixes":
        if not _FIXES.fullmatch(value):
            raise InputError(
                f"{option}: {shown(value)} does not cite a commit: write 12 or more hexadecimal "
                'digits and the subject, as in 54a4f0239f2e ("mm: do it")'
            )
    else:
        _check_url(option, value.partition(" ")[0])
    return f"{name}: {value}"


def regzbot(text: str) -> str:
    """The line ``#regzbot command: value``, of a text with or without ``#regzbot``. Raises
    InputError for an unknown command, or a value that does not fit it.

    Source: docs/reference.md of https://github.com/kernelci/regzbot.
    """
    option = "--regzbot"
    text = re.sub(r"^#regzb(?:ot)?\s+", "", _one_line(option, text))
    match = re.fullmatch(r"(\^?[a-z-]+)(?::?\s+(\S.*)|:?)", text)
    if not match:
        raise InputError(
            f"{option}: {shown(text)} is not a regzbot command: write for example "
            "'introduced: v6.16..v6.17-rc1'"
        )
    command, value = match[1], match[2] or ""
    if command not in _COMMANDS:
        near = difflib.get_close_matches(command, _COMMANDS, 1) or _COMMANDS
        raise InputError(f"{option}: {shown(command)} is not a regzbot command: {', '.join(near)}")
    _check_value(f"{option} {command}", command, value)
    if command == "from":
        value = str(addresses.one(value, f"{option} {command}"))
    return f"#regzbot {command}: {value}" if value else f"#regzbot {command}"


def _check_value(option: str, command: str, value: str) -> None:
    """Raise InputError for what the command does not take."""
    if command in _WITHOUT and value:
        raise InputError(f"{option}: it takes no value")
    if not value and command not in (*_WITHOUT, *_RESOLVING):
        raise InputError(f"{option}: a value is missing: write '{command}: VALUE'")
    if command in _INTRODUCING:
        told = _INTRODUCED.fullmatch(value)
        if not told:
            raise InputError(
                f"{option}: {shown(value)} is neither a commit (8 or more hexadecimal digits), a "
                "version (v6.17-rc1), nor a range of them (v6.16..v6.17-rc1); behind it, ^ or a "
                "URL says where the report is"
            )
        if (told["report"] or "").startswith("http"):
            _check_url(option, told["report"])
    if command in _LINKING:
        link, _, title = value.partition(" ")
        _check_url(option, link)
        if title and command not in _TITLED:
            raise InputError(
                f"{option}: {shown(title)} comes after the URL, where nothing is allowed"
            )


def _one_line(option: str, value: str) -> str:
    value = value.strip()
    if not value or not value.isprintable():
        raise InputError(f"{option}: {shown(value)} is not one line of text")
    if len(value) > _MAX_LINE:
        raise InputError(f"{option}: longer than {_MAX_LINE} characters")
    return value


def _check_url(option: str, value: str) -> None:
    try:
        url = urlsplit(value)
        good = url.scheme in ("http", "https") and "." in (url.hostname or "")
    except ValueError:
        good = False
    if not good or re.search(r"[\s<>\"]", value):
        raise InputError(
            f"{option}: {shown(value)} is not a URL: write https://..., as in "
            "https://lore.kernel.org/r/MESSAGE-ID/"
        )


def regzbot_commands(texts: Sequence[str], *, is_reply: bool) -> list[str]:
    """The commands to the tracker of regressions. Raises InputError."""
    commands = [regzbot(text) for text in texts]
    if not is_reply and any(_OF_PARENT.match(text) for text in commands):
        raise InputError(
            "--regzbot ^introduced makes the parent mail the report: name the thread with "
            "--thread, or write 'introduced: COMMIT'"
        )
    # "If introduced is among them, it needs to be the first."
    return sorted(commands, key=lambda text: not re.match(r"#regzbot \^?introduced:", text))


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


def introduced_by(bisection: Bisection | None, folder: Path) -> str:
    """The command that names a bisection's culprit. Raises InputError."""
    if bisection is None:
        raise InputError(
            f"--regzbot-introduced: {folder} is not a bisection's evidence: give the commit with "
            "--regzbot 'introduced: COMMIT'"
        )
    return regzbot(f"introduced: {introduced(bisection)}")
