"""The output forms of ``profdiff check``."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from profdiff.base.errors import InputError
from profdiff.reports.form import Form, Subject
from profdiff.session.held import EVERY

if TYPE_CHECKING:
    from profdiff.evidence.conditions.condition import Judgement
    from profdiff.reports.checks.kcidb import Submission


class Checked(NamedTuple):
    """What was judged. ``submission``: as whom it goes to KCIDB, None if it does not."""

    judgements: "Sequence[Judgement]"
    submission: "Submission | None" = None


def _junit(subject: "Subject[Checked]", target: str) -> bytes:
    from profdiff.reports.checks import junit

    return junit.render(subject.find().judgements)


def _github_summary(subject: "Subject[Checked]", target: str) -> bytes:
    from profdiff.reports.checks import github_summary

    return github_summary.render(subject.find().judgements)


def _kcidb(subject: "Subject[Checked]", target: str) -> bytes:
    from profdiff.reports.checks import kcidb

    judgements, submission = subject.find()
    if submission is None:
        raise InputError("--kcidb: name your CI system by --origin NAME, as KernelCI calls it")
    return kcidb.render(subject.recording, judgements, submission)


FORMS: tuple[Form, ...] = (
    Form("junit", "Write a JUnit file.", dict.fromkeys(EVERY, _junit)),
    Form(
        "github-summary",
        "Append a table to a step summary.  [default FILE: $GITHUB_STEP_SUMMARY]",
        dict.fromkeys(EVERY, _github_summary),
        "[FILE]",
        lambda _: os.environ.get("GITHUB_STEP_SUMMARY", ""),
        appends=True,
    ),
    Form(
        "kcidb",
        "Write checkouts, builds and tests for KernelCI's results database. Needs --origin.",
        dict.fromkeys(EVERY, _kcidb),
    ),
)
