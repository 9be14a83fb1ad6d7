"""Whether a revision is bad, by profiles that are made up."""

from pathlib import Path

import pytest
import synthetic

from profdiff.bisection import verdict
from profdiff.bisection.verdict import Judge
from profdiff.checks.judging import judge
from profdiff.evidence.conditions.condition import Condition, Judgement
from profdiff.evidence.findings import Findings
from profdiff.session.session import Session

COUNTS = {"good": 1000, "bad": 1200, "same": 1000, "renamed": 0, "less": 10}


def made(monkeypatch: pytest.MonkeyPatch, counts: dict[str, int], condition: str) -> Judge:
    """A judge of kernels that execute do_it as often as ``counts`` says, where they do at all."""

    def judged(_: Session, labels: list[str], condition: Condition, label: str) -> Judgement:
        rows = {
            one: [
                (
                    [synthetic.frame("do_it" if counts[one] else "do_it_now")],
                    "do_it",
                    True,
                    [counts[one] or 1000],
                )
            ]
            for one in labels
        }
        found: Findings = synthetic.findings([synthetic.compare(rows)])
        (only,) = judge({"": [found]}, [condition], [label])
        return only

    monkeypatch.setattr(verdict, "_judged", judged)
    session = Session(Path("b/steps.profdiff"), synthetic.manifest(list(counts)))
    return Judge.of(session, "good", "bad", Condition.parse(condition))


@pytest.mark.parametrize("condition", ["instructions:do_it > +10%", "instructions:do_it > +100"])
def test_what_a_revision_lacks_tells_nothing(
    monkeypatch: pytest.MonkeyPatch, condition: str
) -> None:
    """It is not the best of all revisions: its function has another name."""
    judge = made(monkeypatch, COUNTS, condition)
    found = {label: judge.verdict(label) for label in COUNTS}
    assert {label: one.mark for label, one in found.items()} == {
        "good": "good",
        "bad": "bad",
        "same": "good",
        "renamed": "skip",
        "less": "good",
    }
    assert found["renamed"].reason == "does not execute do_it, as good and bad do"


def test_what_good_or_bad_lacks_too_is_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    new = made(monkeypatch, {"good": 0, "bad": 1200, "without": 0}, "instructions:do_it > +100")
    assert new.verdict("without").mark == "good"
    gone = made(monkeypatch, {"good": 1200, "bad": 0, "without": 0}, "instructions:do_it < -100")
    assert gone.verdict("without").mark == "bad"
