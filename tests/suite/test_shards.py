"""A plan divided into shards: each run is in one of them, whatever was recorded before."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import profdiff
from synthetic import frame, manifest
from synthetic_joint import part

from profdiff.base.errors import InputError
from profdiff.base.progress import progress
from profdiff.collectors import registry
from profdiff.collectors.collector import Collector
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.records import Failure
from profdiff.recording.run import Batch, record_batches
from profdiff.recording.schedule import PendingRun, in_no_shard, missing_runs
from profdiff.recording.shard import Shard
from profdiff.session import manifest as m
from profdiff.session.session import Session


@dataclass(frozen=True)
class Recorder:
    """A collector that is only asked for its name."""

    collector: Collector = registry.collector("exact")  # noqa: RUF009


def _planned(kernels: int, points: int, repeat: int) -> m.Manifest:
    labels = [f"k{number}" for number in range(kernels)]
    made = [m.Point({"n": str(number)}, 1) for number in range(points)]
    return m.replace(manifest(labels, runs=0), points=made, repeat=repeat)


def _pending(plan: m.Manifest, shard: Shard | None = None) -> list[PendingRun]:
    kernels = [KernelFiles(one.label, one.spec) for one in plan.kernels if not one.hole]
    chosen = None
    if shard:
        runs = shard.runs({"w": m.replace(plan, runs=[])}, {"w": set(range(len(plan.points)))})
        chosen = runs["w"].__contains__
    return missing_runs(plan, kernels, [Recorder()], chosen)  # type: ignore[list-item]


def _ended(one: PendingRun, failure: Failure | None = None) -> m.Run:
    run = manifest([one.kernel.label]).runs[0]
    return m.replace(run, id=one.id, point=one.point, repetition=one.repetition, failure=failure)


plans = st.builds(_planned, st.integers(1, 4), st.integers(1, 6), st.integers(1, 3))


@given(plans, st.integers(1, 30))
def test_all_shards_together_have_each_run_once(plan: m.Manifest, of: int) -> None:
    shards = [_pending(plan, Shard(number, of)) for number in range(1, of + 1)]
    ids = sorted(one.id for shard in shards for one in shard)
    assert ids == sorted(one.id for one in _pending(plan))
    assert max(map(len, shards)) - min(map(len, shards)) <= 1


@given(plans, st.integers(1, 8), st.data())
def test_a_shard_goes_on_where_it_was(plan: m.Manifest, of: int, data: st.DataObject) -> None:
    shard = Shard(data.draw(st.integers(1, of)), of)
    every = _pending(plan, shard)
    done = every[: data.draw(st.integers(0, len(every)))]
    begun = m.replace(plan, runs=[_ended(one) for one in done])
    assert {one.id for one in _pending(begun, shard)} == {o.id for o in every[len(done) :]}


@given(plans, st.integers(1, 8), st.data())
def test_a_run_that_failed_takes_no_other_shards_number(
    plan: m.Manifest, of: int, data: st.DataObject
) -> None:
    number = data.draw(st.integers(1, of))
    shard = Shard(number, of)
    failed = [_ended(one, Failure("timeout", "no")) for one in _pending(plan, shard)]
    again = {one.id for one in _pending(m.replace(plan, runs=failed), shard)}
    others = [n for n in range(1, of + 1) if n != number]
    foreign = {one.id for n in others for one in _pending(plan, Shard(n, of))}
    assert len(again) == len(failed)
    assert not again & (foreign | {run.id for run in failed})


def _made(repeat: int, *runs: tuple[int, bool]) -> m.Manifest:
    """A plan of one cell with runs of these repetitions, each with whether it failed."""
    plan = _planned(1, 1, repeat)
    (run,) = manifest(["k0"]).runs
    late = Failure("timeout", "late")
    made = [
        m.replace(run, id=f"k0-{n}", repetition=n, failure=late if failed else None)
        for n, failed in runs
    ]
    return m.replace(plan, runs=made)


@pytest.mark.parametrize(
    ("repeat", "runs", "ids"),
    [
        (2, [(2, False)], ["k0-1"]),
        (2, [(1, True), (3, False)], ["k0-2"]),
        (3, [(1, True), (3, False)], ["k0-2", "k0-4"]),
        (2, [(1, True), (2, False)], ["k0-3"]),
        (1, [(2, False), (5, False)], []),
    ],
)
def test_merged_shards_have_gaps_and_no_run_is_made_over_another(
    repeat: int, runs: list[tuple[int, bool]], ids: list[str]
) -> None:
    assert [one.id for one in _pending(_made(repeat, *runs))] == ids


@given(
    st.integers(1, 5),
    st.dictionaries(st.integers(1, 12), st.booleans(), max_size=8),
)
def test_a_new_run_has_a_number_of_its_own(repeat: int, made: dict[int, bool]) -> None:
    plan = _made(repeat, *made.items())
    found = [one.repetition for one in _pending(plan)]
    assert len(set(found)) == len(found) == max(0, repeat - sum(not bad for bad in made.values()))
    assert not set(found) & set(made)


class _NoRun:
    """A recorder that must not start anything."""

    collector = registry.collector("exact")
    alone, emulated = False, True
    place = None


def test_a_run_that_is_there_is_not_recorded_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session.create(tmp_path / "s", _made(1, (1, False)))
    (kept := session.run_folder("k0-1") / "counts").write_text("good")
    again = [PendingRun("k0-1", KernelFiles("k0", "k0"), _NoRun(), 0, 2, "")]  # type: ignore[arg-type]
    batch = Batch(session, [], [_NoRun()])  # type: ignore[list-item]
    monkeypatch.setattr(Batch, "missing", lambda _: again)
    with progress(1, "") as display, pytest.raises(InputError, match="has a run k0-1 already"):
        record_batches([batch], jobs=1, progress=display)
    assert kept.read_text() == "good"


def test_a_shard_is_of_as_few_kernels_as_can_be() -> None:
    plan = _planned(4, 25, 1)
    for number in range(1, 5):
        assert len({one.kernel.label for one in _pending(plan, Shard(number, 4))}) == 1


def test_the_points_that_are_wanted_are_divided() -> None:
    plan = _planned(2, 10, 1)
    shards = [Shard(number, 2).runs({"w": plan}, {"w": {1, 2}}) for number in (1, 2)]
    assert [len(one["w"]) for one in shards] == [2, 2]
    assert {place.point for one in shards for place in one["w"]} == {1, 2}


@given(plans, st.integers(1, 8), st.data())
def test_a_kernel_that_one_machine_cannot_build_is_divided_too(
    plan: m.Manifest, of: int, data: st.DataObject
) -> None:
    """A machine that lacks it makes the other runs that it would have made, and no more."""
    holes = data.draw(st.sets(st.sampled_from([one.label for one in plan.kernels[1:]] or ["none"])))
    kernels = [m.replace(one, hole="no" if one.label in holes else "") for one in plan.kernels]
    for number in range(1, of + 1):
        ids = {one.id for one in _pending(plan, Shard(number, of)) if one.kernel.label not in holes}
        assert {o.id for o in _pending(m.replace(plan, kernels=kernels), Shard(number, of))} == ids


@given(plans, st.integers(1, 8), st.data())
def test_as_many_runs_are_in_no_shard_as_the_absent_shards_have(
    plan: m.Manifest, of: int, data: st.DataObject
) -> None:
    """Those that failed are in one, whether they were made again or not."""
    lost, failing = data.draw(st.sets(st.integers(1, of))), data.draw(st.booleans())
    runs, missing = [], 0
    for number in range(1, of + 1):
        shard = Shard(number, of)
        own = _pending(plan, shard)
        missing += len(own) if number in lost else 0
        if number not in lost:
            made = [_ended(one, Failure("timeout", "no") if failing else None) for one in own]
            begun = m.replace(plan, runs=made)
            again = _pending(begun, shard)[: data.draw(st.integers(0, len(own)))]
            runs += [*made, *map(_ended, again)]
    assert in_no_shard(m.replace(plan, runs=runs)) == missing


@pytest.mark.parametrize(
    "text", ["", "1", "0/3", "4/3", "1/0", "-1/3", "1/3/4", "a/b", "1/9999999"]
)
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="write I/N"):
        Shard.parse(text)


def test_a_session_says_that_it_is_a_shard(tmp_path: Path) -> None:
    made = part(
        tmp_path / "one",
        {"base": [([frame("f")], "f", True, (10,))], "new": [([frame("f")], "f", True, (20,))]},
        [m.Point({}, 1)],
    )
    assert "only shard" not in profdiff("report", made.folder).stdout
    made.save(m.replace(made.manifest, shard="1/3"))
    said = " ".join(profdiff("report", made.folder).stdout.split())
    assert "only shard 1/3 of the runs; profdiff merge puts shards together" in said
    profdiff("merge", tmp_path / "whole", made.folder)
    assert "only shard" not in profdiff("report", tmp_path / "whole").stdout
