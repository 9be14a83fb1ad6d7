"""What the last session of a bisection shows, by made-up counts."""

from pathlib import Path

import pytest
import synthetic

from profdiff.base.errors import RunError
from profdiff.bisection import evidence
from profdiff.bisection.evidence import Evidence, refuse_alike
from profdiff.bisection.verdict import Judge, Verdict
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.evidence.conditions.condition import Condition
from profdiff.session.session import Session

SESSION = Session(Path("b/evidence.profdiff"), synthetic.manifest(["parent", "culprit"]))
TOTAL, CHANGED = "instructions:total > +50", "inlined:do_it changed"


def judge(condition: str) -> Judge:
    return Judge(SESSION, "good", "bad", Condition.parse(condition))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ((100, 200, 200, 100), ("confirmed", 1.0)),
        ((100, 200, 300, 205), ("confirmed", 0.95)),
        ((100, 200, 300, 250), ("partly", 0.5)),
        ((100, 200, 600, 200), ("partly", 4.0)),
        ((100, 200, 300, 299), ("not", 0.01)),
        ((100, 200, 200, 300), ("not", -1.0)),
        ((200, 100, 100, 200), ("confirmed", 1.0)),
        ((100, 100, 200, 100), ("not measured", None)),
        ((None, None, 200, 100), ("not measured", None)),
    ],
)
def test_what_a_revert_takes_away(
    values: tuple[float | None, ...], said: tuple[str, float | None]
) -> None:
    """Of the culprit's own step, which is there or nothing is confirmed."""
    named = dict(zip(("parent", "culprit", "bad", "bad-revert"), values, strict=True))
    assert evidence._outcome(named, judge(TOTAL)) == pytest.approx(said)


@pytest.mark.parametrize(
    ("mark", "said"), [("good", "confirmed"), ("bad", "not"), ("skip", "not measured")]
)
def test_a_revert_is_judged_without_a_number(
    monkeypatch: pytest.MonkeyPatch, mark: str, said: str
) -> None:
    monkeypatch.setattr(Judge, "verdict", lambda *_: Verdict(mark, None))  # type: ignore[arg-type]
    values = dict.fromkeys(("parent", "culprit", "bad", "bad-revert"), 1.0)
    assert evidence._outcome(values, judge(CHANGED)) == (said, None)


@pytest.mark.parametrize("value", [100.0, None])
def test_a_step_that_is_none_is_refused(value: float | None) -> None:
    made = Evidence(SESSION, {"parent": value, "culprit": value}, "not measured", None)
    with pytest.raises(RunError, match="did not reproduce: the search found bbbbbbbbbbbb, but"):
        refuse_alike(made, judge(TOTAL), "a" * 40, "b" * 40)
    refuse_alike(
        Evidence(SESSION, {"parent": 1.0, "culprit": 2.0}, "confirmed", 1.0),
        judge(TOTAL),
        "a" * 40,
        "b" * 40,
    )


def test_a_step_without_a_number_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Evidence(SESSION, {"parent": 1.0, "culprit": 1.0}, "not measured", None)
    monkeypatch.setattr(Judge, "verdict", lambda *_: Verdict("bad", 1.0))
    refuse_alike(made, judge(CHANGED), "a" * 40, "b" * 40)
    monkeypatch.setattr(Judge, "verdict", lambda *_: Verdict("good", 1.0))
    with pytest.raises(RunError, match="did not reproduce"):
        refuse_alike(made, judge(CHANGED), "a" * 40, "b" * 40)


def test_the_evidence_of_another_culprit_goes_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed as it goes, it is no half session that the next run takes for one."""
    folder = tmp_path / "evidence.profdiff"
    kernels = [KernelFiles(name, f"kernels/{name}", None) for name in ("parent", "culprit")]
    Session.create(folder, synthetic.manifest(["parent", "culprit"]))
    evidence._remove_other(folder, kernels)
    assert (folder / "manifest.json").exists()

    def kill(_: Path) -> None:
        raise KeyboardInterrupt

    other = [kernels[0], KernelFiles("culprit", "kernels/other", None)]
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(evidence.shutil, "rmtree", kill)
        evidence._remove_other(folder, other)
    assert not folder.exists()
    evidence._remove_other(folder, other)
    assert list(tmp_path.iterdir()) == []
