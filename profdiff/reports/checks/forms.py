"""The output forms of ``profdiff check``."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from profdiff.reports.form import Form, Subject
from profdiff.session.held import EVERY

if TYPE_CHECKING:
    from profdiff.evidence.conditions.condition import Judgement


def _junit(subject: "Subject[Sequence[Judgement]]", target: str) -> bytes:
    from profdiff.reports.checks import junit

    return junit.render(subject.find())


def _github_summary(subject: "Subject[Sequence[Judgement]]", target: str) -> bytes:
    from profdiff.reports.checks import github_summary

    return github_summary.render(subject.find())


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
)
