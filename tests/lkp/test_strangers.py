"""Damaged and hostile mails are read or refused, and never anything else."""

import contextlib
import json

from extent import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from lkp.robot_mails import MAILS, NAMES

from profdiff.base.errors import InputError
from profdiff.evidence.lkp.report import Report
from profdiff.forms import json as json_form
from profdiff.mail.thread import ReceivedMail
from profdiff.reports import lkp
from profdiff.views.lkp import build


def shown(data: bytes) -> None:
    """What the command makes of it; anything but InputError is a finding."""
    mail = ReceivedMail.of(data)
    if mail is None:
        return
    with contextlib.suppress(InputError):
        report = Report.read(mail.value("Subject"), mail.text() or "")
        document = build(report, mail.id or "", mail.value("Subject"), "linux")
        said = lkp.render_text(document, width=80)
        assert not {c for c in said if not c.isprintable() and c != "\n"}
        json.loads(json_form.render(document))
        lkp.render_experiment(document)


_MAILS = st.sampled_from([(MAILS / f"{name}.eml").read_bytes() for name in NAMES])
_PIECES = [b"-", b"+", b"%", b"\xb1", b" 0 ", b"1e308", b"-0", b"9" * 30, b"\n", b"\n\n", b"> "]
_PIECES += [b"\x1b[31m", b"\xe2\x80\xae", b"=E2=80=AE", b"/", b":", b"---------- ----------\n"]
_PIECES += [b"Content-Transfer-Encoding: base64\n", b"Content-Type: multipart/mixed; boundary=x\n"]


@given(
    _MAILS,
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 60), st.sampled_from(_PIECES)), max_size=12),
)
@settings(max_examples=examples(300), deadline=None)
def test_a_changed_mail_is_read_or_refused(
    data: bytes, changes: list[tuple[float, int, bytes]]
) -> None:
    for where, taken, piece in changes:
        at = int(where * len(data))
        data = data[:at] + piece + data[at + taken :]
    shown(data)


@given(st.text(max_size=400), st.lists(st.text(max_size=60), max_size=10))
@settings(max_examples=examples(200), deadline=None)
def test_any_text_is_read_or_refused(above: str, rows: list[str]) -> None:
    table = [
        "x/testcase:",
        "  a/b",
        "commit:",
        "  1234567 (x)",
        "",
        "a b",
        "-" * 10 + " " + "-" * 10,
    ]
    made = [above, *table, *(f"  1.0  +2.0%  3.0  {row}" for row in rows)]
    shown("\n".join(["", *made]).encode(errors="replace"))
