"""``profdiff mail``: a session as the draft of a mail to a kernel list."""

import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from profdiff.base.errors import InputError
from profdiff.base.terminal import say, tell
from profdiff.commands.output import write
from profdiff.commands.report import newest
from profdiff.evidence.findings import Findings, choose
from profdiff.mail import address, attachment, content, draft, letter, recipients, thread, trailers
from profdiff.mail.address import Address
from profdiff.mail.attachment import Attachment, Kind
from profdiff.mail.letter import Letter, Notes, Quote, Section
from profdiff.mail.recipients import Recipients
from profdiff.mail.reproducer import Reproducer
from profdiff.session.folder import Session

# Documentation/admin-guide/reporting-regressions.rst: what a report's subject begins with, and who
# gets it.
_REGRESSION = "[REGRESSION]"
_REGRESSIONS = Address("", "regressions@lists.linux.dev")
# Headers, and what stands between the parts of a mail.
_ENVELOPE = 6_000


_FILE, _TOP = click.Path(path_type=Path), click.IntRange(1)
_KINDS = click.Choice(["folded", "svg"])


def _option(name: str, metavar: str, text: str, **more: Any) -> Callable[[Any], Any]:
    return click.option(*name.split(), metavar=metavar, help=text, **more)


def _repeated(name: str, metavar: str, text: str) -> Callable[[Any], Any]:
    return _option(name, metavar, f"{text} Can be repeated.", multiple=True)


@click.command()
@click.argument("session", required=False, type=_FILE)
@_option("--at", "NAME=VALUE,...", "Point of the sweep to report.  [default: the last point]")
@_option("--output -o", "FILE", "Write the draft to FILE (-: only print it).", required=True)
@_option(
    "--thread thread_file",
    "FILE",
    "Reply to a mail in this thread, an mbox or mbox.gz as lore.kernel.org serves it.",
    type=_FILE,
)
@_option("--reply-to", "ID", "Message-ID of the mail to reply to.  [default: the newest]")
@click.option("--quote", is_flag=True, help="Quote the mail that you reply to.")
@click.option(
    "--regression",
    is_flag=True,
    help="Put [REGRESSION] into the subject and Cc the regressions list.",
)
@_option("--subject", "TEXT", "Subject, instead of the generated one.")
@_option("--from sender", "ADDRESS", "Sender.  [default: from git config]")
@_repeated("--to", "ADDRESS", "Recipient.")
@_repeated("--cc", "ADDRESS", "Recipient of a copy.")
@_repeated("--fixes", "COMMIT", 'Culprit commit: 12 or more digits and ("subject").')
@_repeated("--reported-by", "ADDRESS", "Add a Reported-by trailer.")
@_repeated("--closes", "URL", "Add a Closes trailer.")
@_repeated("--link", "URL", "Add a Link trailer.")
@_repeated("--regzbot", "LINE", "Add a regzbot command, for example 'introduced: v6.17'.")
@_option(
    "--real-use",
    "TEXT",
    "Say who runs this workload for real. Without it, the mail calls the workload synthetic.",
)
@_option(
    "--reproducer",
    "FILE",
    "Source of the workload.  [default: the copy in the session]",
    type=_FILE,
)
@_option("--attach", "folded|svg", "Attach the difference as text/plain.", type=_KINDS)
@_option("--top", "N", "Show at most N functions.", type=_TOP, default=20, show_default=True)
def mail(
    session: Path | None,
    at: str | None,
    output: str,
    thread_file: Path | None,
    reply_to: str | None,
    quote: bool,
    regression: bool,
    subject: str | None,
    sender: str | None,
    to: Sequence[str],
    cc: Sequence[str],
    regzbot: Sequence[str],
    real_use: str | None,
    reproducer: Path | None,
    attach: Kind | None,
    top: int,
    **given: Sequence[str],
) -> None:
    """Write a mail about SESSION as a draft for git send-email, optionally as a reply in a thread.

    SESSION defaults to the newest session in this folder. mail prints and writes the draft and
    never sends it. The last line shows the command that would send it.
    """
    own = draft.own_address(sender)
    there, quoted = _recipients(thread_file, reply_to, quote, own)
    commands = [trailers.regzbot(text) for text in regzbot]
    if thread_file is None and any(text.startswith("#regzbot ^") for text in commands):
        raise InputError(
            "--regzbot ^introduced makes the parent mail the report: name the thread with "
            "--thread, or write 'introduced'"
        )
    opened = Session.open(session or newest(Path()))
    asked = [(name, given.get(name.lower().replace("-", "_"), ())) for name in trailers.NAMES]
    wishes = content.Wishes(
        command=["profdiff", *sys.argv[1:]],
        real_use=real_use,
        top=top,
        trailers=[trailers.trailer(name, value) for name, values in asked for value in values],
        regzbot=commands,
        reproducer=Reproducer.read(reproducer) if reproducer else Reproducer.of(opened),
        quote=quoted,
    )
    there = there.with_more(
        [address.one(text, "--to") for text in to],
        [address.one(text, "--cc") for text in cc] + ([_REGRESSIONS] if regression else []),
    )
    findings = Findings.of(opened, choose(opened.manifest, at))
    said = content.letter(findings, wishes)
    title = subject or there.subject or said.subject
    said = replace(said, subject=_regression(title) if regression else title)
    attachments: list[Attachment] = []
    if attach:
        room = letter.LIMIT - len(said.render().encode()) - _ENVELOPE
        attachments.append(attachment.attach(attach, findings.comparisons, room))
        said = _with_notes(said, attachments)
    data = draft.compose(said, own, there, datetime.now().astimezone(), attachments)
    say(data.decode(errors="backslashreplace"), end="")
    if output != "-":
        write(output, data)
        tell(_send(output, own if sender else None, there))


def _recipients(
    file: Path | None, reply_to: str | None, quote: bool, own: Address
) -> tuple[Recipients, Quote | None]:
    """Who gets the mail, and what is quoted. Raises InputError."""
    if file is None:
        if reply_to or quote:
            option = "--reply-to" if reply_to else "--quote"
            raise InputError(f"{option}: give the thread's file with --thread")
        return Recipients(), None
    answered = thread.Thread.read(file).message(reply_to)
    quoted = answered.quoted() if quote else None
    return recipients.reply_to_all(answered, own), quoted


def _regression(subject: str) -> str:
    """``subject`` with the tag, after ``Re:``, by which b4 knows a reply."""
    if _REGRESSION in subject:
        return subject
    reply = "Re: " if subject.startswith("Re: ") else ""
    return f"{reply}{_REGRESSION} {subject.removeprefix(reply)}"


def _with_notes(said: Letter, attachments: Sequence[Attachment]) -> Letter:
    notes = Section("Attached", [Notes([one.note for one in attachments])])
    return replace(said, sections=[*said.sections, notes])


def _send(file: str, sender: Address | None, there: Recipients) -> str:
    """The command that sends the draft. git send-email finds the rest in its headers."""
    options = [f"--from={sender}"] if sender else []
    command = shlex.join(["git", "send-email", *options, file])
    if there.to:
        return f"not sent; to send it: {command}"
    return f"not sent; to send it (git asks for recipients, or give --to): {command}"
