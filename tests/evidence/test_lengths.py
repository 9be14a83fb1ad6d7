"""Two lengths of a workload: what their difference leaves out, and whether only length differs."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from synthetic import frame, manifest, profile
from synthetic_experiment import ICOUNT, recorded

from profdiff.base.metric import event_metric
from profdiff.evidence.lengths import Lengths, fixed_part
from profdiff.evidence.results import Results
from profdiff.profile.comparison import Comparison
from profdiff.session import manifest as m
from profdiff.session.points import settings
from profdiff.session.session import Session
from profdiff.topics.functions import marks
from profdiff.views.results import notes

OPS = st.integers(1, 10**9)


@given(st.integers(-(10**12), 10**12), st.integers(0, 10**6), OPS, OPS)
def test_what_does_not_grow_is_found(fixed: int, each: int, short: int, more: int) -> None:
    """Counts that are fixed + ops * each give fixed back, whatever the lengths."""
    found = fixed_part(fixed + short * each, fixed + (short + more) * each, short, short + more)
    assert found == pytest.approx(fixed, rel=1e-6, abs=1e-3 * max(short * each, 1))


def session(folder: Path, memory: dict[str, tuple[int, int]], starts: float = 1000.0) -> Session:
    """Of kernels whose ops cost 10 instructions; ``memory`` of both lengths in KiB, by label."""
    counts = {label: [[[starts + 10 * ops]] for ops in (20, 40)] for label in memory}
    described = recorded(
        counts,
        points=[m.Point({"n": "20"}, 1, 20), m.Point({"n": "40"}, 1, 40, shorter=0)],
        collector="exact",
        is_total=True,
        qemu=ICOUNT,
        name="instructions",
        unit="instructions",
    )
    runs = []
    for run in described.runs:
        kib = memory[run.kernel][run.point]
        (folder / f"{run.id}").write_text(f"complete 1\nanon_huge_kib 0\nresident_kib {kib}\n")
        runs.append(m.replace(run, files={"observed": run.id}))
    return Session(folder, m.replace(described, runs=runs))


def found(made: Session) -> notes.Lengths:
    results, (setting,) = Results.gather(made.manifest), settings(made.manifest)
    assert [cell.boots for cell in results.every[0].cells] == [[[10.0]]] * len(results.labels)
    shown = notes.lengths(Lengths.of(made, results, setting))
    assert shown
    return shown


def test_the_fixed_part_and_its_share_are_told(tmp_path: Path) -> None:
    shown = found(session(tmp_path, {"a": (900, 904), "b": (900, 1100)}))
    assert [(one.label, one.count, one.share) for one in shown.fixed] == [
        ("a", 1000, pytest.approx(1000 / 1400)),
        ("b", 1000, pytest.approx(1000 / 1400)),
    ]
    assert (shown.short_ops, shown.long_ops) == (20, 40)
    assert "a 1,000 (71.4% of the whole command), b 1,000 (71.4%" in shown.facts[0]
    # An allocator's scatter is no growth.
    assert shown.cautions == []


def test_memory_that_grows_with_the_parameter_is_a_caution(tmp_path: Path) -> None:
    shown = found(session(tmp_path, {"a": (900, 1700), "b": (900, 901)}))
    assert [(one.label, one.short_kib, one.long_kib) for one in shown.growth] == [("a", 900, 1700)]
    (caution,) = shown.cautions
    assert "n changes more than the number of ops" in caution
    assert "a 900 to 1,700 KiB" in caution
    assert "--difference none" in caution


def test_later_ops_that_cost_more_are_a_caution(tmp_path: Path) -> None:
    (caution,) = found(session(tmp_path, {"a": (9, 9), "b": (9, 9)}, starts=-100.0)).cautions
    assert "later ones cost more" in caution


def test_one_length_leaves_nothing_out(tmp_path: Path) -> None:
    described = recorded({"a": [[[1.0]]], "b": [[[2.0]]]}, collector="exact", is_total=True)
    (setting,) = settings(described)
    results = Results.gather(described)
    assert notes.lengths(Lengths.of(Session(tmp_path, described), results, setting)) is None


def test_samples_of_both_lengths_make_the_error(tmp_path: Path) -> None:
    """Of 1,000 samples and of 900 with a weight of 5 each, the difference is 500, give or take 218:
    100 samples would be taken for an error of 50."""
    rows = [([frame("f")], "f", True, [5_000, 4_500]), ([frame("g")], "g", True, [500, 250])]
    exact = profile(rows)
    sampled = replace(
        exact, samples=exact.counts // 5, metrics=(event_metric("cycles"),)
    ).subtracted(1)
    described = manifest(["a", "b"])
    runs = dict.fromkeys(("a", "b"), described.runs[:1])
    (compared,) = Comparison.build(described, {"a": sampled, "b": sampled}, runs)
    numbers = [row for row, f in enumerate(compared.functions) if f.name == "f"]
    assert compared.self_[numbers].tolist() == [[500, 500]]
    assert compared.samples is not None
    assert compared.samples[numbers].tolist() == [[1900, 1900]]
    error = 5 * 1900**0.5
    assert marks.errors(compared, np.array(numbers))[0] == pytest.approx([error, error])
    deltas = marks.Deltas.of(compared, np.array(numbers))
    assert deltas.error[0, 0] == pytest.approx(error * 2**0.5)
    assert deltas.few.all()
