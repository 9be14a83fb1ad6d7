"""``profdiff mail --thread``: from a thread of strangers' mails to a draft. ``profdiff lkp``: what
a mail of the 0-day robot's says.
"""

import gzip
from datetime import UTC, datetime
from email import message_from_bytes, policy
from pathlib import Path
from random import Random

from support import ROOT

from fuzz.commands import REFUSALS, profdiff
from fuzz.structured import in_gzip, in_lines
from fuzz.target import Target
from profdiff.mail import draft, recipients, thread
from profdiff.mail.address import Address
from profdiff.mail.letter import Letter, Notes, Section

_OWN = Address("Some One", "some@example.org")
_MULTIPART = b"""\
From mboxrd@z Thu Jan  1 00:00:00 1970
From: =?utf-8?q?J=C3=BCrgen?= <j@example.org>
To: "List, a" <linux-mm@kvack.org>, b@example.org (a comment)
Cc: undisclosed-recipients:;
Subject: =?iso-8859-1?Q?Re=3A_=5BPATCH=5D_mm=3A_b=E4tch?=
Date: Tue, 10 Nov 2026 10:00:00 -0000
Message-ID: <multi@example.org>
In-Reply-To: <first@example.org>
References: <zero@example.org>
 <first@example.org>
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="=-x"

--=-x
Content-Type: text/plain; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable

It got slower by 10 =E4.
>From here on.
-- =20
sig
--=-x
Content-Type: text/x-patch; name=x.patch
Content-Transfer-Encoding: base64

ZGlmZgo=
--=-x--
"""
_HEADERS = [
    "Cc: Jürgen Ä <j@example.org>".encode(),
    b"Cc: J\xfcrgen <j@example.org>",
    b"Cc: =?x-unknown?q?J=FC?= <j@example.org>, =?utf-8?b?////?= <k@example.org>",
    b"Cc: " + b"(" * 2000 + b"a@example.org",
    b"Cc: " + b"<" * 500 + b"a@example.org" + b">" * 500,
    b"To: " + b", ".join(b"u%d@example.org" % n for n in range(500)),
    b"To: group: a@example.org, b@example.org;, c@example.org",
    b'To: "x\\" y" <a@example.org>, @route:b@example.org',
    b"From: a@example.org\x00, b@xn--e1afmkfd.example",
    "Message-ID: <ä@example.org>".encode(),
    b"Message-ID: <" + b"a" * 5000 + b"@example.org>",
    b"Message-ID: <\x1b[2J@example.org>",
    b"References: " + b" ".join(b"<r%d@example.org>" % n for n in range(3000)),
    b"In-Reply-To: \xff\xfe <x@example.org> (from a)",
    b"Date: Tue, 99 Nov 99999 99:99:99 +9999",
    b"Date: \xe4",
    b"Subject: =?utf-8?q?=1b=5B2J?= =?utf-16?b?AAA=?=",
    b"Subject: Re: Re: AW: \x0c\x1c\x85 x",
    b"Subject: =?unknown-8bit?q?=E4?= =?utf-8?q?=ED=A0=80?=",
    b"Content-Type: text/plain; charset=\xff",
    b"Content-Type: text/plain; charset=idna",
    b"Content-Type: text/plain; charset*0*=utf-8''%ff; charset*1=x",
    b"Content-Type: multipart/mixed; boundary=a",
    b"Content-Type: message/rfc822",
    b"Content-Transfer-Encoding: uuencode",
    b"Content-Transfer-Encoding: base64",
    "From ümlaut@example.org Thu Jan  1 00:00:00 1970".encode(),
]


def _seeds() -> list[bytes]:
    real = (ROOT / "tests/mail/thread.mbox").read_bytes()
    return [real, _MULTIPART, real + _MULTIPART, gzip.compress(real, mtime=0)]


def _header(random: Random, data: bytes) -> bytes:
    """A header is another one, or one more."""
    lines = data.split(b"\n")
    at = random.randrange(len(lines))
    lines[at : at + random.randrange(2)] = [random.choice(_HEADERS)]
    return b"\n".join(lines)


def _nested(random: Random, data: bytes) -> bytes:
    """Parts within parts."""
    depth = int(2 ** random.uniform(1, 9))
    part = b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(depth)
    )
    head, _, body = data.partition(b"\n\n")
    return head + b"\n" + part + b"\n" + body


def _read(data: bytes, folder: Path) -> str:
    file = folder / "thread.mbox"
    file.write_bytes(data)
    found = thread.Thread.read(file)
    answered = found.message(None)
    quoted = answered.quoted()
    there = recipients.reply_to_all(answered, _OWN).with_more([_OWN], [])
    subject = there.subject or "x"
    said = Letter(subject, "It got slower.", [Section("A", [Notes(["b"])])], quote=quoted)
    mail = draft.compose(said, _OWN, there, datetime(2026, 11, 20, tzinfo=UTC))
    # What was written is a mail again, to the same people.
    again = message_from_bytes(mail, policy=policy.default)
    asked = {one.address for one in (*there.to, *there.cc)}
    sent = {one.addr_spec for name in ("To", "Cc") if again[name] for one in again[name].addresses}
    assert sent == asked, (sent, asked)
    return mail.decode(errors="backslashreplace")


def _robot_seeds() -> list[bytes]:
    """Of each form: two columns and three, failed runs, several tests, quoted."""
    names = ("0ede61d858-fixed", "06c4d00466", "1e8017bb42", "59faa4da7c", "f95bdb700b")
    return [(ROOT / f"tests/lkp/mails/{name}.eml").read_bytes() for name in names]


def _read_robot(data: bytes, folder: Path) -> str:
    file = folder / "mail.eml"
    file.write_bytes(data)
    profdiff("lkp", file, "--json", folder / "lkp.json")
    return profdiff("lkp", file)


TARGETS = (
    Target(
        "lkp",
        _robot_seeds,
        _read_robot,
        cases=200,
        refusals=REFUSALS,
        mutations=[_header, _nested, in_lines, in_lines, in_gzip],
        words=[b"%", b" +1.0% ", b" -0.0 ", "±".encode(), b" 1e308 ", b"commit: ", b"> ", b"/"],
    ),
    Target(
        "mbox",
        _seeds,
        _read,
        cases=600,
        mutations=[_header, _header, _nested, in_lines, in_gzip],
        words=[b"=?utf-8?q?", b"?=", b"\nFrom ", b"\n>From ", b"@", b"<", b">", b"\r\n", b"\n\t"],
    ),
)
