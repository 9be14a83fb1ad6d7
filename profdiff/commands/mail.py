"""``profdiff mail``: a session as the draft of a mail to a kernel list."""

import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from profdiff.base.errors import InputError
from profdiff.base.names import did_you_mean
from profdiff.base.terminal import say, tell
from profdiff.commands import MAIL_HEADINGS, complete
from profdiff.commands.command import OUTPUT_FILE, command
from profdiff.commands.recording import CELL, find, works_on
from profdiff.mail.letter import SECTIONS
from profdiff.session.held import EVERY, Held

if TYPE_CHECKING:
    from profdiff.evidence.findings import Findings
    from profdiff.mail.address import Address
    from profdiff.mail.content import MailOptions
    from profdiff.mail.draft import Attachment
    from profdiff.mail.letter import Letter, Quote
    from profdiff.mail.recipients import Recipients
    from profdiff.mail.thread import Thread
    from profdiff.session.opened import Opened
    from profdiff.session.session import Session
    from profdiff.views.blame import Blame

# Documentation/admin-guide/reporting-regressions.rst: what a report's subject begins with, and who
# gets it.
_REGRESSION = "[REGRESSION]"
_REGRESSIONS = "regressions@lists.linux.dev"
_ENVELOPE = 6_000  # headers, and what stands between the parts of a mail
_FILE, _TOP, _KINDS = click.Path(path_type=Path), click.IntRange(1), click.Choice(["folded", "svg"])


def _option(
    name: str, metavar: str, text: str, held: Sequence[Held] = EVERY, **more: Any
) -> Callable[[Any], Any]:
    return works_on(*name.split(), metavar=metavar, help=text, held=held, **more)


def _repeated(name: str, metavar: str, text: str) -> Callable[[Any], Any]:
    return _option(name, metavar, f"{text} Can be repeated.", multiple=True)


def _sections(_context: click.Context, _option: click.Parameter, text: str | None) -> list[str]:
    names = [name.strip() for name in text.split(",")] if text else []
    for name in names:
        if name not in SECTIONS:
            meant = f" ({near})" if (near := did_you_mean(name, SECTIONS)) else ""
            raise InputError(
                f"--without {name}: there is no such section{meant}; there are "
                f"{', '.join(SECTIONS)}"
            )
    return names


def _table(name: str, rows: str) -> Callable[..., Any]:
    return works_on(name, held=["session"], is_flag=True, help=f"Add a table of {rows}.")


@command(headings=MAIL_HEADINGS)
@click.argument("session", required=False, type=_FILE, shell_complete=complete.sessions)
@_option(
    "--at",
    "NAME=VALUE,...",
    "Point of the sweep to report.  [default: the point with the largest change]",
    shell_complete=complete.points,
)
@CELL
@_option(
    "--output -o",
    "FILE",
    "Write the draft to FILE, which must not exist.  [default: only print it]",
    default="-",
    type=OUTPUT_FILE,
)
@click.option("--force", is_flag=True, help="Overwrite the FILE of --output, edited or not.")
@_option(
    "--thread",
    "FILE|ID",
    "Reply in this thread: an mbox or mbox.gz as lore.kernel.org serves it, or the Message-ID or "
    "lore URL of one of its mails, which b4 fetches.",
)
@_option(
    "--reply-to",
    "ID",
    "Message-ID of the mail to reply to.  [default: the mail that --thread names, or the newest]",
)
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
@click.option(
    "--regzbot-introduced",
    is_flag=True,
    help="Add #regzbot introduced with the commit that profdiff bisect found.",
)
@_option(
    "--repo",
    "LINUX",
    "Name suspects: the commits whose lines executed more or less, by profdiff blame in this git "
    "repository.  [default: the one that profdiff built the kernels from, if it did]",
    held=["session"],
    type=_FILE,
)
@_option("--base", "REV", "What the base was built from, for --repo.  [default: its release's tag]")
@_option("--new", "REV", "What the other kernel was built from, for --repo.  [default: likewise]")
@_option("--real-use", "TEXT", "Say who runs this workload for real.")
@_option(
    "--reproducer",
    "FILE",
    "Source of the workload, to include.  [default: the copy in the session]",
    type=_FILE,
)
@click.option(
    "--with-source",
    is_flag=True,
    help="Include the source in a reply too. A new mail has it anyway.",
)
@_option(
    "--without",
    "SECTION,...",
    f"Leave out sections: {', '.join(SECTIONS)}.",
    callback=_sections,
)
@click.option(
    "--checklist",
    is_flag=True,
    help="Put the checklist of what maintainers ask for into the mail, instead of showing it here.",
)
@click.option("--cover-letter", is_flag=True, help="Print a table of a series' patches alone.")
@_option("--attach", "folded|svg", "Attach the difference as text/plain.", ["session"], type=_KINDS)
@_table("--types", "fields and variables that a kernel accesses more or less often: exact counts")
@_table(
    "--sharing",
    "the data whose cache lines change hands between vCPUs. A mail about runs with --collector "
    "sharing alone has it anyway",
)
@_table("--inventory", "kinds of instructions that run more or less often: exact counts")
@_option("--top", "N", "Show at most N functions.", type=_TOP, default=8, show_default=True)
def mail(
    session: Path | None,
    at: str | None,
    cell: str | None,
    output: str,
    force: bool,
    thread: str | None,
    reply_to: str | None,
    quote: bool,
    regression: bool,
    subject: str | None,
    sender: str | None,
    to: Sequence[str],
    cc: Sequence[str],
    regzbot: Sequence[str],
    regzbot_introduced: bool,
    repo: Path | None,
    base: str | None,
    new: str | None,
    real_use: str | None,
    reproducer: Path | None,
    with_source: bool,
    without: Sequence[str],
    checklist: bool,
    cover_letter: bool,
    attach: Literal["folded", "svg"] | None,
    types: bool,
    sharing: bool,
    inventory: bool,
    top: int,
    **given: Sequence[str],
) -> None:
    """Write a mail about SESSION as a draft for git send-email, optionally as a reply in a thread.

    SESSION defaults to the newest session in this folder. mail prints and writes the draft and
    never sends it. Then it shows what maintainers ask of such a report and whether the session
    has it, and the command that would send the draft.
    """
    from profdiff.commands.output import write
    from profdiff.mail import address, content, draft, letter, recipients, tables
    from profdiff.mail.reproducer import Reproducer
    from profdiff.views.bisection import fixes

    # Before the work: a draft is edited by hand, unlike what other commands write.
    if output != "-" and Path(output).is_file() and not force:
        raise InputError(
            f"-o {output}: the file exists, and a draft may be edited: name another file, or "
            "overwrite it with --force"
        )
    if cover_letter:
        found = _Told.of(*find(session, cell, at, ["session", "parts"])).findings
        write(output, "".join(f"{line}\n" for line in tables.cover_letter(found)))
        return
    own = draft.own_address(sender)
    there, quoted = _recipients(thread, reply_to, quote, own)
    commands = recipients.regzbot_commands(regzbot, is_reply=thread is not None)
    recording, at = find(session, cell, at, ["session", "parts"])
    if repo is None and (base or new):
        raise InputError("--base and --new say what to blame: name the git repository with --repo")
    told = _Told.of(recording, at)
    bisection = told.session.manifest.bisection
    if regzbot_introduced:
        commands.insert(0, recipients.introduced_by(bisection, recording.folder))
    if (culprit := fixes(bisection)) and not given["fixes"]:
        given["fixes"] = [culprit]
    asked = [(name, given.get(name.lower().replace("-", "_"), ())) for name in recipients.NAMES]
    source = Reproducer.read(reproducer) if reproducer else None
    if source is None and (with_source or thread is None):
        source = Reproducer.of(told.session)
    if regression:
        content.refuse_accident(told.largest)
    about = content.about(told.findings)
    wishes = content.MailOptions(
        command=["profdiff", *sys.argv[1:]],
        real_use=real_use,
        top=top,
        without=without,
        trailers=[recipients.trailer(name, value) for name, values in asked for value in values],
        regzbot=commands,
        reproducer=source,
        quote=quoted,
        checklist=checklist,
        blame=None if told.is_joint else _suspects(told.findings, repo, (base, new), about),
        types=content.accessed_types(told.findings) if types else None,
        inventory=content.executed_items(told.findings) if inventory else None,
        sharing=None if told.is_joint else content.shared_lines(told.findings, wanted=sharing),
    )
    there = there.with_more(
        [address.one(text, "--to") for text in to],
        [address.one(text, "--cc") for text in [*cc, *([_REGRESSIONS] if regression else [])]],
    )
    said = told.letter(wishes)
    title = subject or there.subject or said.subject
    said = replace(said, subject=_regression(title) if regression else title)
    attachments: list[Attachment] = []
    if attach:
        room = letter.LIMIT - len(said.render().encode()) - _ENVELOPE
        attachments.append(draft.attach(attach, told.findings, room))
        said = _with_notes(said, attachments)
    data = draft.compose(said, own, there, datetime.now().astimezone(), attachments)
    say(data.decode(errors="backslashreplace"), end="")
    if output != "-":
        write(output, data)
    if not checklist:
        tell("what maintainers ask of a report ([x]: the session has it); --checklist mails it:")
        for line in told.boxes(wishes):
            tell(f"  {line}")
    for line in _proposal(told, about, repo, there):
        tell(line)
    if output != "-":
        tell(_send(output, own if sender else None, there))


def _proposal(told: "_Told", kernel: str, repo: Path | None, there: "Recipients") -> list[str]:
    """Whom the mail may go to besides."""
    from profdiff.mail.proposal import proposal
    from profdiff.sources.repository import Repository

    known = {one.key for one in (*there.to, *there.cc)}
    return proposal(told.findings, kernel, Repository.open(repo) if repo else None, known)


@dataclass(frozen=True)
class _Told:
    """What a mail is about: ``session`` and ``findings``, of several parts those of the first;
    ``largest``: those of the part with the largest change; ``letter`` writes it, ``boxes`` is the
    checklist."""

    session: "Session"
    findings: "Findings"
    largest: "Findings"
    letter: "Callable[[MailOptions], Letter]"
    boxes: "Callable[[MailOptions], list[str]]"
    is_joint: bool

    @staticmethod
    def of(recording: "Opened", at: str | None) -> "_Told":
        """What a session tells, or several parts together. Raises InputError, SessionError."""
        from profdiff.evidence.findings import LazyFindings
        from profdiff.evidence.parts import PartsFindings
        from profdiff.mail import content, parts
        from profdiff.session.parts import Parts

        both = PartsFindings.of(recording, at) if isinstance(recording, Parts) else None
        session = next(iter(recording.sessions().values()))
        if both:
            first = next(iter(both.parts.values()))
            letter, boxes = partial(parts.letter, both), partial(parts.boxes, both)
            found = both.results.largest(both.setting)
            largest = both.parts.get(found.part, first) if found else first
            return _Told(session, first, largest, letter, boxes, is_joint=True)
        one = LazyFindings.of(session, at).findings
        letter, boxes = partial(content.letter, one), partial(content.boxes, one)
        return _Told(session, one, one, letter, boxes, is_joint=False)


def _suspects(
    findings: "Findings",
    repo: Path | None,
    given: tuple[str | None, str | None],
    kernel: str,
) -> "Blame | None":
    """What blame says of a kernel, in ``repo`` or what profdiff built the kernels from; None where
    nobody asked, and it cannot tell or a bisection found the culprit. Raises InputError."""
    from profdiff.api.blamed import of_findings

    built = all(one.source for one in findings.kernels)
    # In a stranger's session, blame reads only a repository that the user named.
    if repo is None and (findings.manifest.bisection or not built):
        return None
    try:
        return of_findings(findings, repo, given, kernel)
    except InputError:
        if repo is not None:
            raise
        return None


def _recipients(
    named: str | None, reply_to: str | None, quote: bool, own: "Address"
) -> "tuple[Recipients, Quote | None]":
    """Who gets the mail, and what is quoted. Raises InputError."""
    from profdiff.mail.recipients import Recipients, reply_to_all

    if named is None:
        if reply_to or quote:
            option = "--reply-to" if reply_to else "--quote"
            raise InputError(f"{option}: name the thread with --thread")
        return Recipients(), None
    found, wanted = _thread(named)
    answered = found.message(reply_to or wanted)
    return reply_to_all(answered, own), answered.quoted() if quote else None


def _thread(named: str) -> "tuple[Thread, str | None]":
    """The thread in a file; or the one of a mail, and that mail's id."""
    from profdiff.mail.thread import Thread, fetch, message_id

    path = Path(named)
    wanted = None if path.exists() else message_id(named)
    try:
        return (fetch(wanted), wanted) if wanted else (Thread.read(path), None)
    except InputError as error:
        raise InputError(f"--thread {error}") from error


def _regression(subject: str) -> str:
    """``subject`` with the tag, after ``Re:``, by which b4 knows a reply."""
    if _REGRESSION in subject:
        return subject
    reply = "Re: " if subject.startswith("Re: ") else ""
    return f"{reply}{_REGRESSION} {subject.removeprefix(reply)}"


def _with_notes(said: "Letter", attachments: "Sequence[Attachment]") -> "Letter":
    from profdiff.mail.letter import Notes, Section

    notes = Section(
        "Attached", [Notes([attachment.note for attachment in attachments])], bounded=False
    )
    return replace(said, sections=[*said.sections, notes])


def _send(file: str, sender: "Address | None", there: "Recipients") -> str:
    """The command that sends the draft. git send-email finds the rest in its headers."""
    options = [f"--from={sender}"] if sender else []
    command = shlex.join(["git", "send-email", *options, file])
    if there.to:
        return f"not sent; to send it: {command}"
    return f"not sent; to send it (git asks for recipients, or give --to): {command}"
