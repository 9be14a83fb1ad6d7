"""Threads as strangers write them: each is answered with a mail that reads as meant, or refused in
one line."""

import email
import email.policy
import gzip
import random
import time
from email.header import decode_header, make_header
from email.message import EmailMessage
from email.utils import getaddresses
from pathlib import Path

import pytest
from mail.letters import RILEY, THREAD
from mail.test_draft import NOW

from profdiff.base.errors import InputError
from profdiff.mail.address import Address, decoded
from profdiff.mail.draft import compose
from profdiff.mail.letter import Letter, Quote
from profdiff.mail.recipients import Recipients, reply_to_all
from profdiff.mail.thread import ReceivedMail, Thread

HEAD = b"Message-ID: <a@b.org>\nFrom: a@b.org\n"
MUTATIONS = 300

# What real mails hold that they should not.
PIECES = [
    *(b"\xe9", b"\xc5\x99", b"\xff\xfe", b"\0", b"\r", b"\n", b"\n\n", b"\xed\xa0\x80"),
    *(b"<", b">", b"@", b",", b";", b":", b'"', b"\\", b"(", b")", b"=?", b"?=", b"From \xe9\n"),
    *(b"=?foo?q?abc?=", b"=?utf-8?q?=C3=A4?=", b"=?utf-8?b?!!!?=", b"=?unknown-8bit?q?=E9?="),
    *(b"=?\xe9?q?a?=", b"=?idna?q?xn--a?=", b"=?utf-7?q?+2AA-?=", b"=?utf-8*en?q?a?="),
    *(b"=?utf-8?q?=0ACc:_e@example.org?=", b"=?undefined?q?a?=", b"charset=utf-16"),
    *(b'charset="x-unknown"', b"charset*=utf-8''%E9", b'charset="\xe9"', b"charset=hex"),
    b"Content-Type: multipart/mixed; boundary=x\n",
    b"Content-Transfer-Encoding: base64\n",
    b"Cc: J\xc3\xb6rg <j@example.org>\nCc: J\xf6rg <k@example.org>\n",
    b"Message-ID: <\xc3\xa9@x.org>\n",
    b"References: <\xe9@x> <a@b.c>\n",
    b"Date: Mon, 99999 Foo -1 99:99:99 +99999999\n",
]
FIELDS = [
    *(b"From: ", b"To: ", b"Cc: ", b"Subject: ", b"Message-ID: ", b"References: ", b"Date: "),
    *(b"Reply-To: ", b"Content-Type: ", b"In-Reply-To: ", b"From mboxrd"),
]


def one(head: bytes, body: bytes = b"body\n") -> ReceivedMail:
    mail = ReceivedMail.of(HEAD + head + b"\n" + body)
    assert mail is not None
    return mail


def draft(there: Recipients, quote: Quote | None = None) -> bytes:
    letter = Letter(there.subject or "x", "It is slower.", [], quote=quote)
    return compose(letter, RILEY, there, NOW)


def check_answer(mail: ReceivedMail) -> None:
    """The answer, if there is one, as Python's two parsers read it."""
    try:
        there = reply_to_all(mail, RILEY)
    except InputError as error:
        assert str(error).isascii()
        assert len(str(error).splitlines()) == 1
        return
    try:
        quote = mail.quoted()
    except InputError:
        quote = None
    data = draft(there, quote)
    assert data.partition(b"\n\n")[0].isascii()
    plain = email.message_from_bytes(data)
    everyone = [(one.name, one.address) for one in (*there.to, *there.cc)]
    lines = [" ".join(plain[name].split()) for name in ("To", "Cc") if name in plain]
    read = [(str(make_header(decode_header(name))), to) for name, to in getaddresses(lines)]
    assert read == everyone
    assert plain["In-Reply-To"] == there.in_reply_to
    assert plain["References"].split() == list(there.references)
    subject = plain["Subject"].replace("\n", "")
    assert str(make_header(decode_header(subject))) == there.subject
    newer = email.message_from_bytes(data, policy=email.policy.default)
    assert isinstance(newer, EmailMessage)
    assert not newer.defects
    addresses = [
        to.addr_spec for name in ("To", "Cc") if name in newer for to in newer[name].addresses
    ]
    assert addresses == [to for _, to in everyone]
    letter = Letter("x", "It is slower.", [], quote=quote)
    assert newer.get_content() == letter.render()


def mutated(random: random.Random) -> bytes:
    data = bytearray(THREAD.read_bytes())
    for _ in range(random.randint(1, 8)):
        at, kind = random.randrange(len(data)), random.randrange(5)
        if kind == 0:
            data[at] = random.randrange(256)
        elif kind == 1:
            del data[at : at + random.randint(1, 30)]
        elif kind == 2:
            other = random.randrange(len(data))
            data[at:at] = data[other : other + random.randint(1, 60)]
        else:
            if kind == 3:
                field = random.choice(FIELDS)
                at = data.find(field, random.randrange(len(data))) + len(field)
                at += random.randrange(10)
            data[at:at] = random.choice(PIECES)
    return bytes(data)


@pytest.mark.slow
def test_mutated_threads_are_answered_or_refused(tmp_path: Path) -> None:
    file = tmp_path / "t.mbox"
    for seed in range(MUTATIONS):
        file.write_bytes(mutated(random.Random(seed)))
        try:
            thread = Thread.read(file)
        except InputError:
            continue
        for mail in {id(mail): mail for mail in (thread.message(None), *thread.messages)}.values():
            check_answer(mail)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("Jörg Müller".encode(), "Jörg Müller"),
        ("山田 太郎".encode(), "山田 太郎"),
        (b"J\xf6rg", "J\ufffdrg"),
        ("ř =?utf-8?q?=C5=99?= ř".encode(), "ř ř ř"),
        (b"=?x-unknown?q?J=F6rg?=", "J\ufffdrg"),
        (b"=?unknown-8bit?q?J=C3=B6rg?=", "Jörg"),
        ("=?é?q?abc?=".encode(), "abc"),
        (b"=?iso-8859-1?q?J=F6rg?=", "Jörg"),
        (b"=?utf-8?b?SsO2?= =?utf-8?b?cmc?=", "Jörg"),
        (b"=?utf-8?q?J=C3?=\n =?utf-8?q?=B6rg?=", "Jörg"),
        (b"=?utf-8*de?q?J=C3=B6rg?=", "Jörg"),
        (b"=?utf-8?b?a?=", "=?utf-8?b?a?="),
        (b"=?hex?q?abc?=", "abc"),
        (b"=?undefined?q?abc?=", "abc"),
        (b"=?idna?q?abc?=", "abc"),
        (b"=?utf-8?q?a=0D=0ACc=3A_e=40example.org?=", "a Cc: e@example.org"),
    ],
    ids=range(16),
)
def test_names_are_kept_as_far_as_they_can_be_read(written: bytes, name: str) -> None:
    mail = one(b"Cc: " + written + b" <j@example.org>\nSubject: " + written + b"\n")
    there = reply_to_all(mail, RILEY)
    assert list(there.cc) == [Address(name, "j@example.org")]
    assert there.subject == f"Re: {name}"
    check_answer(mail)


def test_the_line_between_mails_may_hold_anything(tmp_path: Path) -> None:
    file = tmp_path / "t.mbox"
    file.write_bytes(b"From J\xf6rg\xff Thu Jan  1\n" + HEAD + b"\nbody\n" + b"From \xe9\n" + HEAD)
    assert [mail.id for mail in Thread.read(file).messages] == ["<a@b.org>", "<a@b.org>"]


def test_an_id_that_is_not_ascii_is_refused_and_no_reference() -> None:
    mail = ReceivedMail.of("Message-ID: <é@b.org>\nFrom: a@b.org\n\n".encode())
    assert mail is not None
    assert mail.id == "<é@b.org>"
    with pytest.raises(InputError, match=r"the mail <\\xe9@b\.org> has no .*ASCII"):
        reply_to_all(mail, RILEY)
    there = reply_to_all(one("References: <a@x> <é@x>\n <c@x>\n".encode()), RILEY)
    assert there.references == ("<a@x>", "<c@x>", "<a@b.org>")


@pytest.mark.parametrize("text", [b"=?utf-8?q?a?=@b.org", b"a=?b@c.org"])
def test_addresses_that_look_encoded_are_refused(text: bytes) -> None:
    with pytest.raises(InputError, match="not an address"):
        reply_to_all(one(b"Cc: " + text + b"\n"), RILEY)


def test_what_looks_encoded_stays_as_it_is() -> None:
    """Where it is not: in ids, and in texts that were decoded once."""
    mail = one(b"References: <=?utf-8?q?a?=@b>\nSubject: =?utf-8?q?=3D=3Futf-8=3Fq=3Fa=3F=3D?=\n")
    there = reply_to_all(mail, RILEY)
    assert there.references[0] == "<=?utf-8?q?a?=@b>"
    assert there.subject == "Re: =?utf-8?q?a?="
    check_answer(mail)


@pytest.mark.parametrize(
    ("head", "body", "text"),
    [
        (b"Content-Type: text/plain; charset=x-unknown\n", "größer".encode(), "größer"),
        (b"Content-Type: text/plain; charset=idna\n", b"a", "a"),
        (b"Content-Type: text/plain; charset=iso-8859-1\n", b"gr\xf6\xdfer", "größer"),
        (b"Content-Type: text/plain; charset*=utf-8''%E9\n", b"gr\xf6er", "gr\ufffder"),
        (b"", b"gr\xf6er", "gr\ufffder"),
    ],
)
def test_bodies_are_quoted_as_far_as_they_can_be_read(head: bytes, body: bytes, text: str) -> None:
    mail = one(head, body)
    assert mail.quoted().text == text
    check_answer(mail)


# Large headers: 100,000 octets of each, which takes minutes where time grows with the square.
HURTING = [
    *("x", "(", "a:", "<", '"', "=?", "=?a?q?", "=?utf-8?q?a?= ", "\\", ",", "a@b.org, ", "a@"),
    *("<a@b> ", "x@", "@", "[", " ", "xxx@xxx.a", ";", "; a*0*=x", "9", "Re: ", "é"),
]


@pytest.mark.slow
@pytest.mark.parametrize("field", ["To", "Subject", "References", "Date", "Content-Type"])
def test_headers_that_are_made_to_hurt_take_a_moment(field: str) -> None:
    start = time.process_time()
    for piece in HURTING:
        check_answer(one(f"{field}: {piece * (100_000 // len(piece.encode()))}\n".encode()))
    assert time.process_time() - start < 20


def test_what_is_too_large_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "t.mbox"
    for data in (b"X: " + b"a" * 300_000, b"X: " + b"a\n " * 100_000, b"a:\n" * 100_000):
        file.write_bytes(b"From x\n" + HEAD + data + b"\n\nbody\n")
        with pytest.raises(InputError, match="smaller than 256 KiB"):
            Thread.read(file)
    with pytest.raises(InputError, match="more than 1,000 addresses"):
        reply_to_all(one(b"Cc: " + b"a@b.org," * 1_001 + b"\n"), RILEY)
    with pytest.raises(InputError, match="more than 1,000 addresses"):
        reply_to_all(one(b"Cc: a@b.org\n" * 1_001), RILEY)
    with pytest.raises(InputError, match="more than 1 MiB"):
        one(b"", b"a\n" * 2**19).quoted()
    # A packed file that holds nothing, as often as you like.
    file.write_bytes(gzip.compress(b"") * 7_000_000)
    with pytest.raises(InputError, match="more than 128 MiB"):
        Thread.read(file)


@pytest.mark.parametrize("text", ["=?utf-8?q?" * 10_000, "=?a?q?b?=" * 10_000, "a " * 200_000])
def test_long_texts_are_cut(text: str) -> None:
    assert len(decoded(text)) <= 10_000
