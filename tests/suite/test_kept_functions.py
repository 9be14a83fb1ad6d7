"""What each function executed itself, kept in a session: it is what a comparison says."""

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import numpy as np
import pytest
from extent import examples
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from msgspec.structs import replace
from synthetic import Row, frame
from synthetic_joint import part

from profdiff.api.judged import judged
from profdiff.base.errors import SessionError
from profdiff.collectors.exact.counts import Counts
from profdiff.commands.record import conclude
from profdiff.evidence.conditions.condition import Condition
from profdiff.profile import runs
from profdiff.profile.kept import keep
from profdiff.profile.kept_functions import FunctionCounts, KeptFunctions, SelfCounts
from profdiff.profile.recordings import Recordings
from profdiff.session import manifest as m
from profdiff.session.points import settings
from profdiff.session.session import Session

LENGTHS = (
    m.Point({"size": "4", "n": "50"}, 1, 50),
    m.Point({"size": "4", "n": "100"}, 1, 100, shorter=0),
    m.Point({"size": "64", "n": "50"}, 1, 50),
    m.Point({"size": "64", "n": "100"}, 1, 100, shorter=2),
)
_NAMES = ("a", "b.isra.0", "b", "c.cold", "main")
_counts = st.lists(st.integers(0, 10**6), min_size=4, max_size=4)


@st.composite
def _kernels(draw: st.DrawFn) -> dict[str, list[Row]]:
    kernels: dict[str, list[Row]] = {}
    for label in ("base", "mid", "new")[: draw(st.integers(1, 3))]:
        rows: list[Row] = []
        for name in draw(st.lists(st.sampled_from(_NAMES), min_size=1, max_size=6)):
            inner = draw(st.none() | st.sampled_from(_NAMES))
            file = draw(st.sampled_from(("mm/x.c", "mm/y.c")))
            frames = [frame(name, file=file)]
            frames += [frame(inner, inlined=True, file=file)] if inner else []
            unknown = draw(st.integers(0, 5)) == 0
            rows.append(("no-symbol" if unknown else frames, name, True, draw(_counts)))
        if not any(sum(row[3]) for row in rows):
            rows.append(([frame("a")], "a", True, (1, 1, 1, 1)))
        kernels[label] = rows
    return kernels


def _sums(found: SelfCounts) -> dict[tuple[str, str, bool], dict[str, int]]:
    sums: dict[tuple[str, str, bool], dict[str, int]] = {}
    for function, row in zip(found.functions, found.counts.tolist(), strict=True):
        own = sums.setdefault((function.name, function.object, function.in_kernel), {})
        for label, count in zip(found.labels, row, strict=True):
            own[label] = own.get(label, 0) + count
    return {key: own for key, own in sums.items() if any(own.values())}


@given(_kernels(), st.booleans())
@hypothesis_settings(max_examples=examples(40))
def test_they_are_what_comparisons_say(kernels: dict[str, list[Row]], lengths: bool) -> None:
    """At every setting, of whole counts and of two lengths, summed and read from the file."""
    points = (
        LENGTHS if lengths else tuple(msgspec.structs.replace(p, shorter=None) for p in LENGTHS)
    )
    with TemporaryDirectory() as folder:
        session = part(Path(folder) / "S", kernels, points)
        anew = FunctionCounts.of(session)
        keep(session)
        kept = FunctionCounts.of(Session.open(session.folder))
        assert kept.kept and not anew.kept
        for setting in settings(session.manifest):
            (comparison,) = Recordings(session, setting).comparisons()
            wanted: dict[tuple[str, str, bool], dict[str, int]] = {}
            for function, row in zip(comparison.functions, comparison.self_.tolist(), strict=True):
                own = wanted.setdefault((function.name, function.object, function.in_kernel), {})
                for label, count in zip(comparison.labels, row, strict=True):
                    own[label] = own.get(label, 0) + count
            for (reason, in_kernel), counts in comparison.unresolved.items():
                pairs = zip(comparison.labels, counts.tolist(), strict=True)
                wanted[f"[unresolved: {reason}]", "", in_kernel] = dict(pairs)
            wanted = {key: own for key, own in wanted.items() if any(own.values())}
            for found in (anew.at(setting), kept.at(setting)):
                assert found is not None
                assert list(found.labels) == comparison.labels
                assert _sums(found) == wanted
                assert found.counts.sum(axis=0).tolist() == comparison.totals().tolist()


def _session(folder: Path) -> Session:
    rows: list[Row] = [
        ([frame("a")], "a", True, (5, 6, 7, 8)),
        ("no-symbol", "", True, (1, 1, 1, 1)),
    ]
    points = [m.Point({"n": str(n)}) for n in range(4)]
    return part(folder, {"base": rows, "new": rows}, points, code=b"\xc3")


def test_other_runs_are_not_taken_for_those_that_were_kept(tmp_path: Path) -> None:
    session = _session(tmp_path / "S")
    keep(session)
    assert FunctionCounts.of(session).kept
    runs = [
        m.replace(run, failure=m.Failure("panic", "it panicked")) if run.kernel == "new" else run
        for run in session.manifest.runs
    ]
    session.save(m.replace(session.manifest, runs=runs))
    counts = FunctionCounts.of(session)
    assert not counts.kept
    found = counts.at(settings(session.manifest)[2])
    assert found is not None
    assert found.labels == ["base"] and found.counts.sum() == 8
    keep(session)
    again = FunctionCounts.of(session)
    assert again.kept
    read = again.at(settings(session.manifest)[2])
    assert read is not None and read.labels == ["base"] and read.counts.sum() == 8


def test_an_absent_or_damaged_file_costs_time_and_nothing_else(tmp_path: Path) -> None:
    session = _session(tmp_path / "S")
    keep(session)
    path = session.path(str(session.manifest.functions))
    whole, setting = path.read_bytes(), settings(session.manifest)[1]
    expected = FunctionCounts.of(session).at(setting)
    assert expected is not None
    for damaged in (whole[:100], whole[:-30], b"", None):
        path.unlink()
        if damaged is not None:
            path.write_bytes(damaged)
        else:
            path.write_bytes(whole.replace(b"counts", b"cuonts"))
        counts = FunctionCounts.of(Session.open(session.folder))
        assert not counts.kept
        found = counts.at(setting)
        assert found is not None
        assert np.array_equal(found.counts, expected.counts)


def test_hostile_columns_are_refused(tmp_path: Path) -> None:
    session = _session(tmp_path / "S")
    keep(session)
    path = session.path(str(session.manifest.functions))
    good = KeptFunctions.load(path)
    for change in (
        {"function": good.function + np.uint32(9)},
        {"offsets": good.offsets[::-1].copy()},
        {"point": good.point[:1]},
        {"counts": good.counts[:1]},
        {"labels": ["base", "base"]},
        {"there": good.there[:1]},
        {"seat": good.seat[:1]},
        {"seat": np.full_like(good.seat, len(good.functions))},
        {"seat_delta": np.zeros(3, np.int64)},
    ):
        replace(good, **change).save(path)  # type: ignore[arg-type]
        with pytest.raises(SessionError, match="damaged"):
            KeptFunctions.load(path)


def test_a_session_without_exact_runs_keeps_none(tmp_path: Path) -> None:
    session = _session(tmp_path / "S")
    session.save(m.replace(session.manifest, collectors=["timed"], runs=[]))
    keep(session)
    assert session.manifest.functions is None
    assert FunctionCounts.of(session).at(settings(session.manifest)[0]) is None


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> Counter[Path]:
    """How often each counts file was read."""
    found: Counter[Path] = Counter()
    load = Counts.load

    def counted(path: Path) -> Counts:
        found[path] += 1
        return load(path)

    monkeypatch.setattr(Counts, "load", counted)
    return found


def test_the_end_of_a_recording_reads_each_counts_file_once(
    tmp_path: Path, loads: Counter[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where something is kept already, and as often as needed where memory is short."""
    session = _session(tmp_path / "S")
    conclude(session, [], whole=False)
    assert set(loads.values()) == {1} and len(loads) == len(session.manifest.runs)
    loads.clear()
    keep(session)
    assert not loads
    session.save(m.replace(session.manifest, functions=None))
    monkeypatch.setattr(runs, "_MAX_HELD", 0)
    conclude(session, [], whole=False)
    assert max(loads.values()) > 1
    assert FunctionCounts.of(session).kept


def test_a_check_of_a_measured_total_reads_no_recording(
    tmp_path: Path, loads: Counter[Path]
) -> None:
    session = _session(tmp_path / "S")
    keep(session)
    loads.clear()
    opened = Session.open(session.folder)
    total = [Condition.parse("instructions > +2%"), Condition.parse("instructions > +1")]
    assert [one.outcome for one in judged(opened, total, [])] == ["does not hold"] * 8
    assert not loads
    assert judged(opened, [Condition.parse("instructions:a > +2%")], [])
    assert len(loads) == len(session.manifest.runs)
