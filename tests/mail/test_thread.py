"""Threads from files: the right mail is answered, to the right people, or the file is refused."""

import contextlib
import gzip
import mailbox
import os
import re
import tempfile
from pathlib import Path

import pytest
from extent import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from mail.letters import NEWEST_ID, RILEY, ROOT_ID, THREAD

from profdiff.base.errors import InputError
from profdiff.mail.address import Address
from profdiff.mail.recipients import Recipients, reply_to_all
from profdiff.mail.thread import ReceivedMail, Thread

MAX = Address("Max at home", "max@home.example.de")
JIRINA = Address("Jiřina Nováková", "jirina@kernel.example.org")
JANE = Address("Doe, Jane", "jane.doe@corp.example.com")
YAMADA = Address("山田", "yamada@example.net")
LIST = Address("", "linux-mm@lists.example.org")


def parsed(**headers: str) -> ReceivedMail:
    """A mail with these headers."""
    headers = {"Message_ID": "<a@b>", "From": "a@example.org", **headers}
    text = "".join(f"{name.replace('_', '-')}: {value}\n" for name, value in headers.items())
    mail = ReceivedMail.of(f"{text}\nbody\n".encode())
    assert mail is not None
    return mail


def test_the_newest_is_answered_to_all() -> None:
    """The newest by date, which is not the last in the file; its author wants replies elsewhere."""
    answer = reply_to_all(Thread.read(THREAD).message(None), RILEY)
    assert list(answer.to) == [MAX]
    assert list(answer.cc) == [JIRINA, LIST, JANE, YAMADA]
    assert answer.in_reply_to == NEWEST_ID
    assert list(answer.references) == [ROOT_ID, NEWEST_ID]
    assert answer.subject == "Re: [PATCH v2 0/3] mm: change protections in batches"


@pytest.mark.parametrize(
    "wanted",
    [
        "jane.1@corp.example.com",
        "<jane.1@corp.example.com>",
        "https://lore.kernel.org/linux-mm/jane.1@corp.example.com/",
    ],
)
def test_any_mail_can_be_answered(wanted: str, tmp_path: Path) -> None:
    packed = tmp_path / "t.mbox.gz"
    packed.write_bytes(gzip.compress(THREAD.read_bytes()))
    for file in (THREAD, packed):
        answer = reply_to_all(Thread.read(file).message(wanted), RILEY)
        assert list(answer.to) == [JANE]
        assert list(answer.cc) == [JIRINA, Address("Linux MM", LIST.address)]
        assert list(answer.references) == [ROOT_ID, "<jane.1@corp.example.com>"]
        assert answer.subject == "Re: [PATCH v2 0/3] mm: change protections in batches"


def test_ones_own_mail_is_answered_to_whom_it_went() -> None:
    answer = reply_to_all(Thread.read(THREAD).message("jane.1@corp.example.com"), JANE)
    assert list(answer.to) == [JIRINA]
    assert [one.address for one in answer.cc] == [LIST.address]


def test_further_recipients_come_once() -> None:
    more = Recipients(to=[JANE], cc=[LIST]).with_more(
        [LIST, Address("", JANE.address.upper())], [JANE, RILEY]
    )
    assert (list(more.to), list(more.cc)) == ([JANE, LIST], [RILEY])


def test_only_what_was_said_is_quoted() -> None:
    thread = Thread.read(THREAD)
    first = thread.message(ROOT_ID).quoted().lines()
    assert first[0] == "On Mon, 2 Nov 2026 09:00:00 +0100, Jiřina Nováková"
    assert "> From here on, small folios take the same path." in first
    assert not any("2.47.0" in line or "--" in line for line in first)
    assert "> Schön. What does it cost small folios?" in thread.message(None).quoted().lines()
    html = parsed(Content_Type="text/html")
    with pytest.raises(InputError, match="no plain text"):
        html.quoted()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"Subject: x\n\nFrom here\n", "is not an mbox"),
        (b"%PDF-1.7\n", "is not an mbox"),
        (b"From \n", "none of its mails has a Message-ID"),
        (b"From a\nSubject: none\n\nbody\n", "none of its mails has a Message-ID"),
        (gzip.compress(b"From a\n\n" * 99)[:-9], "is damaged"),
        (gzip.compress(b"From a\n\n") + b"garbage", "is damaged"),
        (gzip.compress(b"From a\n\n")[:3] + b"\xff" * 40, "is damaged"),
        (gzip.compress(b"From a\n" + b"\0" * (129 * 2**20)), "more than 128 MiB"),
        (b"From a\n\n" * 20_001, "more than 20,000 mails"),
    ],
    ids=range(11),
)
def test_what_is_no_thread_is_refused(data: bytes, said: str, tmp_path: Path) -> None:
    file = tmp_path / "t.mbox"
    file.write_bytes(data)
    with pytest.raises(InputError, match=re.escape(said)):
        Thread.read(file)


def test_a_thread_may_come_through_a_pipe() -> None:
    for data in (THREAD.read_bytes(), gzip.compress(THREAD.read_bytes())):
        reading, writing = os.pipe()
        with open(writing, "wb") as file:  # noqa: PTH123
            file.write(data)
        assert len(Thread.read(Path(f"/dev/fd/{reading}")).messages) == 3
        os.close(reading)


@pytest.mark.parametrize("text", ["(" * 100_000, "a:" * 100_000, "<" * 100_000, '"' * 100_001])
def test_headers_that_are_made_to_hurt_are_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"not an address|more than 1,000 addresses"):
        reply_to_all(parsed(To=text), RILEY)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(InputError, match=re.escape(str(path))):
            Thread.read(path)


def test_a_mail_that_is_not_there_is_refused_with_its_neighbours() -> None:
    with pytest.raises(InputError, match=r"not among the 3 mails .* jane\.1@corp\.example\.com"):
        Thread.read(THREAD).message("jane.2@corp.example.com")


@pytest.mark.parametrize(
    "masked",
    [
        "xxxx@xxxx",
        "Max <xxxxxxxxxx@xxxxxxxxxxxxxxxx>",
        "max@xxxxxxxxxx.xxx",
        "m...@example.org",
        "Max <max@...>",
        "max [at] example.org",
        "max(at)example.org",
        "max@hidden",
        "[email protected]",
        "max () example ! org",
        "a@example.org, m***@example.org",
    ],
)
def test_masked_addresses_are_refused_by_name(masked: str) -> None:
    with pytest.raises(InputError, match="is masked") as error:
        reply_to_all(parsed(To=masked), RILEY)
    assert "the mail <a@b>, To" in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        "max",
        "max@",
        "@example.org",
        "max@localhost",
        "a@b@example.org",
        "max@exa mple.org",
        "ma(x)x@example.org",
        "<max>",
        '"a b"@example.org',
        "mäx@example.org",
        "a@-x.org",
        "a@example..org",
        f"{'a' * 300}@example.org",
        "a@[192.0.2.1]",
    ],
)
def test_malformed_addresses_are_refused(text: str) -> None:
    for field in ("To", "Cc", "From"):
        with pytest.raises(InputError, match=r"not an address|masked"):
            reply_to_all(parsed(**{field: text}), RILEY)


def test_undisclosed_recipients_are_none() -> None:
    answer = reply_to_all(parsed(To="undisclosed-recipients:;"), RILEY)
    assert (len(answer.to), len(answer.cc)) == (1, 0)


def test_long_references_keep_the_first_and_the_last() -> None:
    ids = [f"<{number}.{'x' * 40}@example.org>" for number in range(100)]
    answer = reply_to_all(parsed(References="\n ".join(ids), Message_ID="<last@b.org>"), RILEY)
    assert answer.references[0] == ids[0]
    assert list(answer.references[1:-1]) == ids[-len(answer.references) + 2 :]
    assert answer.references[-1] == "<last@b.org>"
    # git send-email writes it on one line of at most 998 octets.
    assert 800 < len(" ".join(answer.references)) < 998 - len("References: ")


@given(st.dictionaries(
    st.sampled_from(["From", "To", "Cc", "Reply-To", "Subject", "Date", "References"]),
    st.text(max_size=80) | st.binary(max_size=80).map(lambda b: b.decode("latin-1")),
))  # fmt: skip
def test_any_mail_is_answered_or_refused(headers: dict[str, str]) -> None:
    headers = {name: " ".join(value.split()) for name, value in headers.items()}
    thread = Thread(Path("x"), [parsed(**{"Message-ID": "<a@b.example.org>", **headers})])
    try:
        answer = reply_to_all(thread.message(None), RILEY)
    except InputError:
        return
    for one in (*answer.to, *answer.cc):
        assert re.fullmatch(r"[!-~]+@[!-~]+", one.address)
        assert one.name.isprintable()
    assert answer.subject is not None
    assert answer.subject.isprintable()


@settings(max_examples=examples(60))
@given(st.binary(max_size=2_000).map(lambda data: b"From x\nMessage-ID: <a@b.c>\n" + data))
def test_any_bytes_are_a_thread_or_refused(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "t.mbox"
        file.write_bytes(data)
        thread = Thread.read(file)
        with contextlib.suppress(InputError):  # It may hold no plain text.
            thread.message("a@b.c").quoted()
        with contextlib.closing(mailbox.mbox(str(file))) as box:
            assert 1 <= len(thread.messages) <= len(box)


def test_parts_within_parts_without_end(tmp_path: Path) -> None:
    file = tmp_path / "t.mbox"
    nested = "".join(
        f"Content-Type: multipart/mixed; boundary=b{number}\n\n--b{number}\n"
        for number in range(5_000)
    )
    for body in (nested, "Content-Type: message/rfc822\n\n" * 5_000):
        file.write_text(f"From x\nMessage-ID: <a@b.c>\n{body}")
        message = Thread.read(file).message(None)
        with pytest.raises(InputError, match="parts within parts"):
            message.quoted()
