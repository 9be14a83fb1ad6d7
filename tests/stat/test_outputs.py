"""What perf stat really wrote, read: recorded output of perf 6.1.187 (arm64 guests with
QEMU's PMU, a machine without one) and 7.3.4 (metrics)."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import ROOT

from profdiff.base.errors import InputError
from profdiff.collectors.guest.result import Left, Result
from profdiff.collectors.perf.command import members, words
from profdiff.collectors.records import Measured
from profdiff.collectors.stat import entry
from profdiff.collectors.stat.entry import Stat, attempts, events

OUTPUTS = ROOT / "tests/stat/outputs"


def judged(
    folder: Path,
    output: bytes,
    named: str | None = None,
    metrics: str | None = None,
    *,
    emulated: bool = False,
) -> Result:
    """The result of a run that left such an output."""
    files = {"attempt": b"1\n", "stat": output, "status": b"exit 0\n", "usage": b"wall_ns 1000\n"}
    for name, data in files.items():
        (folder / name).write_bytes(data)
    options = Stat().settings({"events": named, "metric_groups": metrics})
    left = Left(folder, {name: name for name in files}, None, options, emulated, has_marks=False)
    return Stat().judge(left)


def values(result: Result) -> dict[str, float]:
    return {one.name: one.values[0] for one in result.measured}


def test_a_pmu_that_has_not_all_events(tmp_path: Path) -> None:
    found = judged(tmp_path, (OUTPUTS / "arm64-guest.tsv").read_bytes(), emulated=True)
    assert found.failure is None
    assert found.measured[0] == Measured("wall-time", "ns", "lower", True, [1000.0])
    told = values(found)
    assert list(told) == [
        *("wall-time", "task-clock", "context-switches", "cpu-migrations", "page-faults"),
        *("cycles", "instructions"),
    ]
    assert told["cycles"] == told["instructions"] > 10**7
    # The clock's own running time, which perf does not round.
    assert told["task-clock"] % 1e4
    assert found.remarks == [
        "branches and branch-misses cannot be counted there: no PMU, or none with these events",
        "cycles are QEMU's virtual time (1 GHz), not processor cycles",
    ]


def test_a_machine_without_a_pmu(tmp_path: Path) -> None:
    output = (OUTPUTS / "no-pmu.tsv").read_bytes()
    found = judged(tmp_path, output)
    assert "instructions" not in values(found)
    (remark,) = found.remarks
    assert remark.startswith("cycles, instructions, branches and branch-misses cannot be counted")
    named = judged(tmp_path, output, "cycles")
    assert named.failure
    assert named.failure.message == (
        "cycles is not supported: the processor, or the guest's PMU, has no such event"
    )


def test_events_that_share_counters_are_marked(tmp_path: Path) -> None:
    output = (OUTPUTS / "arm64-shared-counters.tsv").read_bytes()
    found = judged(tmp_path, output, "cycles,instructions,r8,r08,r008,r11,r011,r0011,page-faults")
    assert found.failure is None
    parts = {one.name: one.counted_part for one in found.measured}
    assert min(parts.values()) < 1 == parts["page-faults"]
    # The same event under other names: what perf scaled is near what it counted throughout.
    scaled, whole = (values(found)[name] for name in ("r8", "r008"))
    assert scaled == pytest.approx(whole, rel=0.01)


def test_a_value_that_is_mostly_scaling_is_refused(tmp_path: Path) -> None:
    output = (OUTPUTS / "arm64-too-many.tsv").read_bytes()
    names = "cycles,instructions,r8,r08,r008,r11"
    failure = judged(tmp_path, output, names).failure
    assert failure
    assert failure.kind == "metric"
    assert "cycles was counted for 40% of the time" in failure.message
    assert "name fewer with --event" in failure.message


def test_metrics_that_perf_computes(tmp_path: Path) -> None:
    output = (OUTPUTS / "metrics-perf-7.3.tsv").read_bytes()
    found = judged(tmp_path, output, "page-faults", "cs_per_second,page_faults_per_second")
    told = {one.name: (one.values[0], one.is_total) for one in found.measured}
    assert told["page_faults_per_second"] == (77151.0, False)
    # The events that metrics bring were not asked for.
    assert set(told) == {"wall-time", "page-faults", "cs_per_second", "page_faults_per_second"}


def test_metrics_that_perf_does_not_have(tmp_path: Path) -> None:
    output = (OUTPUTS / "no-pmu.tsv").read_bytes()
    failure = judged(tmp_path, output, None, "TopdownL1").failure
    assert failure
    assert failure.message.startswith("perf computed no metric of TopdownL1: perf list metric")


def test_without_an_output(tmp_path: Path) -> None:
    for named in (None, "cycles"):
        failure = judged(tmp_path, b"", named).failure
        assert failure
        assert "perf stat counted nothing" in failure.message


def test_groups_that_fit_come_first() -> None:
    default = attempts(Stat().settings({"events": None, "metric_groups": None}))
    assert [one[-1] for one in default] == [
        "{cycles,instructions,branches,branch-misses}",
        "branch-misses",
        "branch-misses",
    ]
    assert "{cycles,instructions}" in default[1]
    asked = Stat().settings({"events": "{a,b},c", "metric_groups": "X"})
    assert attempts(asked) == [["-M", "X", "-e", "{a,b}", "-e", "c"]]
    assert events(asked) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("cycles,instructions", ["cycles", "instructions"]),
        ("{cycles:k,instructions:k}", ["{cycles:k,instructions:k}"]),
        ("cpu/event=0x3c,umask=0x1/k,r8", ["cpu/event=0x3c,umask=0x1/k", "r8"]),
        ("{cpu/a=1,b=2/,c}:D,d", ["{cpu/a=1,b=2/,c}:D", "d"]),
    ],
)
def test_a_comma_may_belong_to_an_event(text: str, found: list[str]) -> None:
    assert words(text) == found
    assert len([one for word in found for one in members(word)]) == text.count("{") + len(found)


@pytest.mark.parametrize("text", ["a,", ",a", "{a", "a}", "a b", "{a,{b}}", "a,,b"])
def test_what_is_no_list_of_events(text: str) -> None:
    with pytest.raises(InputError, match="separate events by commas"):
        words(text)


@given(st.binary(max_size=400) | st.lists(st.sampled_from(["\t", "9", "<not", "%", "msec", "\n"])))
def test_anything_may_be_in_the_file(data: bytes | list[str]) -> None:
    found = data if isinstance(data, bytes) else "".join(data).encode()
    for one in entry.read(found)[0]:
        assert one.value is None or one.value >= 0
        assert 0 <= one.part <= 1
