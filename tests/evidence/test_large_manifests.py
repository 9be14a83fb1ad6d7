"""Sessions with many points: time grows with their number, not with its square."""

import gc
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from extent import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from support import profdiff
from synthetic_experiment import ICOUNT, recorded

from profdiff.checks.names import check_names
from profdiff.collectors import registry
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.evidence.conditions import measured_change
from profdiff.evidence.conditions.condition import Condition
from profdiff.evidence.findings import Findings
from profdiff.evidence.results import Results
from profdiff.evidence.statistics import Boots, estimate, estimates
from profdiff.profile import session_facts
from profdiff.recording import schedule
from profdiff.reports import documents
from profdiff.reports.text.session import render
from profdiff.session import manifest as m
from profdiff.session.points import settings as settings_of
from profdiff.session.session import Session
from profdiff.session.state import compare_states
from profdiff.topics.functions.selection import Selection


def session(folder: Path, points: int) -> Session:
    values = {
        label: [[[centre + point % 7]] for point in range(points)]
        for label, centre in (("base", 100.0), ("new", 103.0))
    }
    described = recorded(
        values, points=[m.Point({"size": str(point)}, 1) for point in range(points)], qemu=ICOUNT
    )
    folder.mkdir()
    (folder / "manifest.json").write_bytes(msgspec.json.encode(described))
    return Session.open(folder)


def everything(made: Session) -> None:
    """Report and check, as the commands do."""
    evidence, facts = Results.gather(made.manifest), session_facts.read(made)
    state = compare_states(made, evidence.runs)
    found = [Findings.of(made, one, evidence, facts, state) for one in settings_of(made.manifest)]
    render(found[-1], Selection(top=20), width=100)
    documents.session_document(found[-1])
    condition = Condition.parse("latency:total > +2%")
    check_names(condition, [one.name for _, one in evidence.metrics()], set())
    for one in found:
        assert len(list(measured_change.changes(one, condition))) == 1


def seconds(do: Callable[[], object], runs: int) -> float:
    """The least of several runs: what else the machine does can only make one longer."""
    taken = []
    for _ in range(runs):
        gc.collect()
        start = time.process_time()
        do()
        taken.append(time.process_time() - start)
    return min(taken)


@pytest.mark.slow
def test_time_grows_with_the_points(tmp_path: Path) -> None:
    """Of report and check; where it grew with the square, 64 times."""
    few, many = session(tmp_path / "few", 250), session(tmp_path / "many", 2_000)
    everything(few)
    long, short = seconds(lambda: everything(many), 3), seconds(lambda: everything(few), 5)
    assert long < 24 * short


def test_check_judges_every_point(tmp_path: Path) -> None:
    made = session(tmp_path / "s.profdiff", 300)
    result = profdiff("check", made.folder, "--fail-if", "latency:total > -3%", status=1)
    assert result.stdout.count("new at size ") == 300


@pytest.mark.slow
def test_how_long_is_left_takes_linear_time(tmp_path: Path) -> None:
    made = session(tmp_path / "s.profdiff", 10_000)

    class Timed:
        collector, alone = registry.collector("timed"), False

    files: list[KernelFiles] = [KernelFilesLike(label) for label in ("base", "new")]  # type: ignore[misc]
    wanted = m.replace(made.manifest, repeat=2)
    start = time.process_time()
    pending = schedule.missing_runs(wanted, files, [Timed()])  # type: ignore[list-item]
    assert len(pending) == 20_000
    assert schedule.estimate(wanted, pending, 1).basis == 20_000
    # Each of these runs looked at each of 20,000 that were made.
    assert time.process_time() - start < 10


class KernelFilesLike:
    def __init__(self, label: str) -> None:
        self.label = label


SIDES = st.lists(st.lists(st.floats(0.5, 2), min_size=1, max_size=2), min_size=1, max_size=4)


@settings(max_examples=examples(25))
@given(st.lists(st.tuples(SIDES, SIDES), min_size=1, max_size=6), st.booleans())
def test_estimates_together_are_those_one_by_one(
    pairs: list[tuple[Boots, Boots]], deterministic: bool
) -> None:
    together = estimates(pairs, planned=2, deterministic=deterministic, seed=7)
    for (base, other), found in zip(pairs, together, strict=True):
        alone = estimate(base, other, planned=2, deterministic=deterministic, seed=7)
        assert str(found) == str(alone)


@pytest.mark.parametrize("boots", [2, 3, 4])
def test_few_boots_have_the_intervals_of_all_resamples(
    boots: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of few boots the distinct resamples are counted instead of all being sorted."""
    from profdiff.evidence.statistics import bootstrap

    base = [[100 + 3.7 * number] for number in range(boots)]
    other = [[109 - 2.1 * number] for number in range(boots)]
    counted = estimate(base, other)
    draws = bootstrap._distinct_draws(boots, boots, 10_000, 0)
    assert draws[1] is not None
    assert int(draws[1].sum()) == 10_000
    bootstrap._distinct_draws.cache_clear()
    monkeypatch.setattr(bootstrap, "comb", lambda *_: 10_000)
    assert bootstrap._distinct_draws(boots, boots, 10_000, 0)[1] is None
    assert str(estimate(base, other)) == str(counted)
    bootstrap._distinct_draws.cache_clear()
