"""The draft as the real programs read it: git send-email, b4, and Python's parsers."""

import email
import email.policy
import os
import re
import subprocess
from dataclasses import replace
from datetime import UTC, datetime
from email.header import decode_header, make_header
from email.message import EmailMessage
from email.utils import getaddresses
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mail.letters import NEWEST_ID, RILEY, ROOT_ID, SOURCE, THREAD, timed, written
from support import need_program, profdiff

from profdiff.base.errors import InputError
from profdiff.mail.address import Address
from profdiff.mail.content import MailOptions
from profdiff.mail.content import letter as letter_about
from profdiff.mail.draft import Attachment, compose
from profdiff.mail.letter import LIMIT, LINES, Letter, Section, Table
from profdiff.mail.recipients import Recipients, reply_to_all
from profdiff.mail.thread import Thread

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
NAMES = [
    "Riley Reporter",
    "Jiřina Nováková",
    "山田 太郎",
    "Doe, Jane",
    'Max "the <max>" @ home',
    "=?utf-8?q?Somebody_else?=",
    "Ngưỡng, with a name that is so long that it takes several lines of <any@header.example.org>",
]


@pytest.fixture(scope="module")
def b4() -> Any:
    """The kernel maintainers' own tool."""
    return pytest.importorskip("b4", reason="b4 is not installed (pip install b4)")


def mail(
    letter: Letter | None = None,
    recipients: Recipients | None = None,
    sender: Address = RILEY,
    attachments: tuple[Attachment, ...] = (),
) -> bytes:
    to = Recipients(to=[Address("", "linux-mm@lists.example.org")])
    return compose(letter or written(), sender, recipients or to, NOW, attachments)


def parsed(data: bytes) -> EmailMessage:
    message = email.message_from_bytes(data, policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    assert not message.defects
    return message


def people(data: bytes, field: str) -> list[tuple[str, str]]:
    """(name, address) of a header: split as RFC 5322 says, then decoded as RFC 2047 says. From the
    bytes: Python 3.11's newer parsers put blanks between encoded words (CPython issue 79728)."""
    message = email.message_from_bytes(data, policy=email.policy.compat32)
    pairs = getaddresses([" ".join(str(value).split()) for value in message.get_all(field, [])])
    return [(str(make_header(decode_header(name))), address) for name, address in pairs]


def sent(data: bytes, folder: Path, *options: str) -> tuple[bytes, list[str]]:
    """What git send-email hands to the mail system, and the addresses it hands it to. First it is
    asked whether it would (--dry-run); the mail system is a script that keeps what it gets."""
    need_program("git")
    programs = subprocess.run(["git", "--exec-path"], capture_output=True, text=True, check=True)
    need_program(f"{programs.stdout.strip()}/git-send-email", "git-email libmailtools-perl")
    draft, script = folder / "draft.eml", folder / "sendmail"
    draft.write_bytes(data)
    script.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {folder}/to\ncat > {folder}/sent\n')
    script.chmod(0o755)
    isolated = {"HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
    command = ["git", "send-email", "--confirm=never", f"--smtp-server={script}", *options]
    for more in (["--dry-run"], []):
        result = subprocess.run(
            [*command, *more, str(draft)],
            cwd=folder,
            env={**os.environ, **isolated},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stderr
        assert "Result: OK" in result.stdout
        # It asks for nothing that the draft leaves open.
        assert "declare" not in result.stdout + result.stderr
        assert (folder / "sent").exists() == (not more)
    to = (folder / "to").read_text().splitlines()
    return (folder / "sent").read_bytes(), [one for one in to if "@" in one]


def body_of(data: bytes) -> bytes:
    return data.partition(b"\n\n")[2]


def test_headers_are_those_of_plain_text() -> None:
    message = parsed(mail())
    assert message.get_content_type() == "text/plain"
    assert message.get_content_charset() == "utf-8"
    assert message.get_param("format") is None
    assert message["MIME-Version"] == "1.0"
    assert message["Content-Transfer-Encoding"] == "8bit"
    assert message["Date"].datetime == NOW
    assert re.fullmatch(r"<[!-~]+@example\.org>", message["Message-ID"])
    assert message.get_content() == written().render()


def test_git_send_email_sends_it_as_it_is(tmp_path: Path) -> None:
    data = mail(sender=Address(NAMES[1], "jirina@example.org"))
    passed, to = sent(data, tmp_path, "--from=Jiřina Nováková <jirina@example.org>")
    assert body_of(passed) == body_of(data)
    assert to == ["linux-mm@lists.example.org", "jirina@example.org"]
    message = parsed(passed)
    assert message["Subject"] == parsed(data)["Subject"]
    assert message["Message-ID"] == parsed(data)["Message-ID"]
    assert people(passed, "From") == [(NAMES[1], "jirina@example.org")]


def test_a_reply_is_threaded_and_reaches_all(b4: Any, tmp_path: Path) -> None:
    answer = reply_to_all(Thread.read(THREAD).message(None), RILEY)
    data = mail(replace(written(), subject=answer.subject or ""), answer)
    passed, to = sent(data, tmp_path, f"--from={RILEY}")
    assert set(to) - {RILEY.address} == {
        "max@home.example.de",
        "jirina@kernel.example.org",
        "linux-mm@lists.example.org",
        "jane.doe@corp.example.com",
        "yamada@example.net",
    }
    for made in (data, passed):
        # As lines: Python's parser would take an encoded id for the id.
        head = re.sub(rb"\n[ \t]+", b" ", made.partition(b"\n\n")[0]).decode()
        assert f"\nIn-Reply-To: {NEWEST_ID}\n" in head
        assert f"\nReferences: {ROOT_ID} {NEWEST_ID}\n" in head
        message = b4.LoreMessage(parsed(made))
        assert message.in_reply_to == NEWEST_ID.strip("<>")
        assert message.reply
        whole = b4.mailsplit_bytes(THREAD.read_bytes())
        threaded = b4.get_strict_thread([*whole, parsed(made)], ROOT_ID.strip("<>"))
        assert threaded
        assert {one["Message-ID"] for one in threaded} >= {message.msg["Message-ID"], NEWEST_ID}
        assert people(made, "To") == [("Max at home", "max@home.example.de")]
    assert ("山田", "yamada@example.net") in people(data, "Cc")
    assert people(data, "Cc") == [(one.name, one.address) for one in answer.cc]


def test_spreads_survive(tmp_path: Path) -> None:
    """Tables hold characters that are not ASCII."""
    boots = [100.0, 101.0, 102.0, 103.0, 104.0]
    found = timed({"base": [boots], "new": [[2 * value for value in boots]]})
    data = mail(letter_about(found, MailOptions(["profdiff", "mail"])))
    passed, _ = sent(data, tmp_path, f"--from={RILEY}")
    assert "102 ±1.6%".encode() in passed
    assert body_of(passed) == body_of(data)


@pytest.mark.guest
def test_the_mail_of_the_main_job_could_be_sent(b4: Any, recorded: Path, tmp_path: Path) -> None:
    """A recorded session, as a reply into a thread: nothing in it needs a hand."""
    draft = tmp_path / "reply.eml"
    reply = ["--thread", THREAD, "--from", str(RILEY), "--reproducer", SOURCE]
    profdiff("mail", recorded, "-o", draft, *reply)
    data = draft.read_bytes()
    passed, to = sent(data, tmp_path, f"--from={RILEY}")
    assert body_of(passed) == body_of(data)
    answer = reply_to_all(Thread.read(THREAD).message(None), RILEY)
    assert set(to) - {RILEY.address} == {one.address for one in (*answer.to, *answer.cc)}
    for made in (data, passed):
        assert b4.LoreMessage(parsed(made)).in_reply_to == NEWEST_ID.strip("<>")
        whole = b4.mailsplit_bytes(THREAD.read_bytes())
        threaded = b4.get_strict_thread([*whole, parsed(made)], ROOT_ID.strip("<>"))
        assert parsed(made)["Message-ID"] in {one["Message-ID"] for one in threaded or []}
    body = parsed(data).get_content()
    assert len(data) < LIMIT
    assert re.match(r"mprotect-toggle executes 7\d\.\d% more instructions\b", body)
    first = " ".join(body.split("\n\n")[0].split())
    assert "on Linux 6.18.15-profdiff (new) than on Linux 6.12.107-profdiff (base)" in first
    assert re.search(r"on x86_64 under an emulator: 2\d\d.* instead of 1\d\d.* per op\.$", first)
    assert "same state: " in body
    assert "reproduced bit for bit (2 runs): " in body
    assert SOURCE.read_text() in body
    own, source = body.split("mprotect-toggle.c:\n")
    assert own.count("\n") <= LINES + 20  # with the command line
    for line in (own + source.split("To build it without profdiff")[1]).splitlines():
        # A command may have long words, and is indented.
        assert line.startswith("  ") or len(line) <= 75, line


def test_b4_finds_the_trailers_and_the_signature(b4: Any) -> None:
    trailers = [
        'Fixes: 54a4f0239f2e ("mm: do it")',
        "Reported-by: Jiřina Nováková <jirina@example.org>",
        "Closes: https://lore.kernel.org/r/a@example.org/",
        "Link: https://lore.kernel.org/r/b@example.org/",
    ]
    commands = ["#regzbot introduced: v6.16..v6.17-rc1"]
    letter = written(MailOptions(command=["profdiff", "mail"], trailers=trailers, regzbot=commands))
    body = parsed(mail(letter)).get_content()
    headers, _, found, _, signature = b4.LoreMessage.get_body_parts(body)
    assert headers == []
    assert [one.as_string() for one in found] == trailers
    assert signature.startswith("profdiff ")
    paragraphs = body.split("\n\n")
    assert commands[0] in paragraphs


def test_trailers_get_a_copy_and_nothing_else_does(tmp_path: Path) -> None:
    """git send-email takes recipients from everywhere in a body, so tables must name none."""
    table = Table(["function"], ["Cc: evil@example.net", "Reported-by: evil@example.net"])
    letter = Letter(
        "subject",
        "Cc: evil@example.net is the workload.",
        [Section("Result", [table])],
        trailers=["Reported-by: Jane <jane@example.com>"],
    )
    _, to = sent(mail(letter), tmp_path, f"--from={RILEY}")
    assert to == ["linux-mm@lists.example.org", RILEY.address, "jane@example.com"]


@pytest.mark.parametrize("width", [998, 999, 3_000])
def test_long_lines_and_names_survive(width: int, tmp_path: Path) -> None:
    """SMTP takes lines of 998 octets; a longer one makes the mail quoted-printable."""
    line = "é" + "x" * (width - 2)
    letter = Letter(
        "Größe", "It is slower.", [Section("Result", [Table(["h"], [line, "山田\tß"], ["= 3D"])])]
    )
    data = mail(letter, sender=Address("山田 太郎", "yamada@example.net"))
    assert max(map(len, data.split(b"\n"))) <= 998
    passed, _ = sent(data, tmp_path, "--from=山田 太郎 <yamada@example.net>")
    for made in (data, passed):
        lines = parsed(made).get_content().split("\n")
        assert line in lines
        assert "山田\tß" in lines
        assert "= 3D" in lines
        assert people(made, "From") == [("山田 太郎", "yamada@example.net")]


@pytest.mark.parametrize("name", NAMES)
def test_names_survive_in_every_header(name: str, tmp_path: Path) -> None:
    one = Address(name, "somebody@example.org")
    data = mail(recipients=Recipients(to=[RILEY, one], cc=[Address(name, "copy@example.org")]))
    assert people(data, "To") == [("Riley Reporter", "riley@example.org"), (name, one.address)]
    assert people(data, "Cc") == [(name, "copy@example.org")]
    _, to = sent(data, tmp_path, f"--from={RILEY}")
    assert sorted(to) == ["copy@example.org", "riley@example.org", "somebody@example.org"]


@pytest.mark.parametrize("text", ["ä;b 1 2\n" * 9, f"{'ä' * 900};b 1 2\n"], ids=["short", "long"])
def test_attachments_are_plain_text_and_survive(text: str, tmp_path: Path) -> None:
    data = mail(attachments=(Attachment("difference.folded", text, "note"),))
    passed, _ = sent(data, tmp_path, f"--from={RILEY}")
    for made in (data, passed):
        message = parsed(made)
        body = message.get_body()
        assert body is not None
        assert body.get_content() == written().render()
        (attached,) = message.iter_attachments()
        assert attached.get_content_type() == "text/plain"
        assert attached.get_filename() == "difference.folded"
        assert attached.get_content() == text


@pytest.mark.slow
def test_all_of_it_is_below_the_limit() -> None:
    """Headers, attachment and encoding count; the table gives way."""
    rows = [f"{number} {'ä' * 600}" for number in range(400)]
    letter = Letter("s", "It is slower.", [Section("Result", [Table(["h"], rows, ["foot"])])])
    for attachments in ((), (Attachment("a", "x\n" * 20_000, "note"),)):
        data = mail(letter, attachments=attachments)
        assert LIMIT - 5_000 < len(data) < LIMIT
        assert b"more rows left out" in data
    with pytest.raises(InputError, match="too long"):
        mail(attachments=(Attachment("a", "x\n" * 50_000, "note"),))


@pytest.mark.parametrize("subject", ["", " ", "a\nCc: evil@example.net", "a\rb", "a\0", "x" * 501])
def test_subjects_that_cannot_be(subject: str) -> None:
    with pytest.raises(InputError, match=r"^--subject: "):
        mail(Letter(subject, "It is slower.", []))


@given(
    st.text(min_size=1, max_size=200),
    st.lists(st.text(max_size=60).filter(str.isprintable), max_size=4),
    st.lists(st.from_regex(r"<[a-z0-9.]{1,150}@[a-z]{1,9}>", fullmatch=True), max_size=5),
)
def test_headers_hold_what_was_put_in_and_nothing_more(
    subject: str, names: list[str], ids: list[str]
) -> None:
    names = [" ".join(name.split()) for name in names]
    to = [Address(name, f"a{number}@example.org") for number, name in enumerate(names)]
    there = Recipients(to=to, in_reply_to=ids[-1] if ids else None, references=ids)
    try:
        data = mail(Letter(subject, "It is slower.", []), there)
    except InputError:
        assert not subject.strip() or not subject.isprintable()
        return
    head, _, _ = data.partition(b"\n\n")
    allowed = "From To Cc Subject Date Message-ID In-Reply-To References MIME-Version"
    fields = re.findall(rb"(?m)^([^\s:]+):", head)
    assert {field.decode() for field in fields} <= {
        *allowed.split(),
        "Content-Type",
        "Content-Transfer-Encoding",
    }
    assert len(fields) == len(set(fields))
    assert head.isascii()
    assert all(len(line) <= 998 for line in head.split(b"\n"))
    message = email.message_from_bytes(data)
    assert str(message.get("References", "")).split() == ids
    assert people(data, "To") == [(one.name, one.address) for one in to]
    shown = str(make_header(decode_header(str(message["Subject"]))))
    assert "".join(shown.split()) == "".join(subject.split())
