"""The robot's mails in ``mails/``, and what their tables say, read another way."""

import re
from pathlib import Path

from profdiff.evidence.lkp.facts import Facts
from profdiff.evidence.lkp.kinds import Kind, judged
from profdiff.evidence.lkp.report import Report
from profdiff.mail.thread import ReceivedMail

MAILS = Path(__file__).with_name("mails")
NAMES = sorted(path.stem for path in MAILS.glob("*.eml"))


def received(name: str) -> ReceivedMail:
    mail = ReceivedMail.of((MAILS / f"{name}.eml").read_bytes())
    assert mail is not None
    return mail


def report(name: str) -> Report:
    return read(MAILS / f"{name}.eml")


def read(path: Path) -> Report:
    return _read(path.read_bytes())


def _read(data: bytes) -> Report:
    mail = ReceivedMail.of(data)
    assert mail is not None
    return Report.read(mail.value("Subject"), mail.text() or "")


def likeliest(path: Path) -> Kind:
    """Of the first table."""
    return of(path.read_bytes())


def of(data: bytes) -> Kind:
    """The same of a mail's bytes."""
    return judged(Facts.of(_read(data)))[0][0].kind


def values(name: str, metric: str) -> tuple[float, float]:
    """Of the first row with the metric: the first and the second column's."""
    for line in (MAILS / f"{name}.eml").read_text().splitlines():
        if line.split()[-1:] == [metric]:
            words = re.sub(r"±\s*\d+%", "", line.lstrip("> ")).split()
            return float(words[0]), float(words[2])
    raise KeyError(metric)
