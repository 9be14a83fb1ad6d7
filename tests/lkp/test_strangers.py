"""Damaged and hostile mails are read or refused, and never anything else."""

import contextlib
import json
import time

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


def test_numbers_that_no_machine_measures_are_no_rows() -> None:
    """Sums and quotients of rows are numbers."""
    rows = [f"1.5e308  +10.0%  1.6e308  mpstat.cpu.all.{one}%" for one in ("sys", "usr", "idle")]
    rows += [f"1.5e308  +1e+308  1.6e308  perf-profile.self.mcs_spin{n}" for n in range(3)]
    rows += ["1e300  -99.0%  1e-300  perf-stat.overall.ipc"]
    rows += ["1e-300  +9.0%  1e300  perf-stat.ps.instructions"]
    rate = "1e300  -99.0%  1e-300  a.rate"
    for some in ([rate, *rows], ["100  -50.0%  50  a.rate", *rows]):
        table = ["x/testcase:", "  a/b", "commit:", "  1234567 (x)", "", "a b"]
        table += ["-" * 10 + " " + "-" * 10, *(f"  {row}" for row in some)]
        told = "noticed a -50.0% regression of a.rate on:"
        shown("\n".join(["", told, "", *table]).encode())


def test_rules_without_rows_are_read_once() -> None:
    """Quadratic, these took minutes."""
    lines = ["a b", "---------- ----------"] * 20_000
    before = time.process_time()
    shown("\n".join(["", *lines]).encode())
    assert time.process_time() - before < 20
