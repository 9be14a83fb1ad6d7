"""Recordings made now with perf's many options: the same events as perf report counts."""

import re
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest
import whole_run
from perf_data.stacks import perf_stacks
from perf_data.writer import Writer
from support import need_profile, need_program

from profdiff.symbolization._native import NativeError, PerfData

CLOCK = ["-e", "cpu-clock", "-c", "1000000"]
GROUP = ["-e", "{cpu-clock,page-faults}:S", "-c", "1000000"]
OPTIONS = {
    "plain": CLOCK,
    "callers": [*CLOCK, "-g"],
    "frequency": ["-e", "cpu-clock", "-F", "500", "-g"],
    "two events": ["-e", "cpu-clock/period=1000000/,page-faults/period=50/", "-g"],
    "group": [*GROUP, "-a", "-g"],
    "compressed group": [*GROUP, "-a", "-g", "-z"],
    "everywhere": [*CLOCK, "-a", "-g"],
    "statistics of threads": [*CLOCK, "-s"],
    "user stacks": [*CLOCK, "--call-graph", "dwarf"],
    "data": [*CLOCK, "-d"],
    "registers": [*CLOCK, "-g", "--intr-regs=ip,sp", "--user-regs=ip,sp"],
    "switches": [*CLOCK, "--switch-events", "--namespaces"],
    "build ids": [*CLOCK, "-g", "--buildid-mmap"],
    "no build ids": [*CLOCK, "-B", "-N"],
    "a thread": [*CLOCK, "--per-thread"],
    "no times": [*CLOCK, "--no-timestamp", "-g"],
    "all fields": [*CLOCK, "-g", "--sample-cpu", "--phys-data", "-W", "--sample-identifier"],
    "kernel": ["-e", "cpu-clock:k", "-c", "1000000", "-g"],
    "user": ["-e", "cpu-clock:u", "-c", "1000000", "-g"],
    "late names": [*CLOCK, "--tail-synthesize", "--overwrite"],
    "raw": [*CLOCK, "-R"],
    "compressed": [*CLOCK, "-g", "-z"],
    "compressed most": [*CLOCK, "-g", "-z22"],
}
WORKLOAD = ["sh", "-c", "ls -lR /usr/lib/python3* /usr/include >/dev/null; (ls /; ls /)"]


def record(path: Path, options: list[str], workload: list[str] = WORKLOAD) -> None:
    """Record the workload, or skip where perf may not or does not know the option."""
    command = [need_program("perf", "linux-perf"), "record", "-q", *options, "-o", str(path), "--"]
    result = subprocess.run([*command, *workload], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        pytest.skip(f"perf may not record so here: {result.stderr.strip()[-200:]}")


def events_of_report(path: Path) -> Counter[str]:
    """The events that perf report counts, by name; a group's in one."""
    command = ["perf", "report", "-i", path, "--stdio", "--no-children", "-g", "none"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found: Counter[str] = Counter()
    heads = re.findall(r"# Samples: .*? of events? '(.*)'\n# Event count \(approx\.\): (\d+)", text)
    for name, events in heads:
        found[name] += int(events)
    return +found


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_events_are_those_of_perf_report(tmp_path: Path, options: list[str]) -> None:
    path = tmp_path / "perf.data"
    record(path, options)
    data = PerfData.open(str(path))
    found: Counter[str] = Counter()
    for event, weight in zip(data.entry_event.tolist(), data.entry_weight.tolist(), strict=True):
        found[data.events[event].name] += weight
    expected = events_of_report(path)
    if any(name.startswith("anon group") for name in expected):
        assert len(found) == 2
        assert sum(found.values()) == sum(expected.values())
    else:
        assert found == expected
    told = data.statistics
    assert told["malformed"] == told["unknown_event"] == 0
    assert told["unknown_records"] == {}
    assert not told["unterminated"]


def test_the_first_frames_of_user_stacks_are_those_of_perf(tmp_path: Path) -> None:
    """Stacks of a dump of the user stack are not unwound; where the sample was is known."""
    path = tmp_path / "perf.data"
    record(path, OPTIONS["user stacks"])
    data = PerfData.open(str(path))
    assert data.statistics["user_stack_dumps"] == data.statistics["samples"]
    assert len(perf_stacks(path)) == data.statistics["samples"]


def test_a_group_has_the_counts_of_each_member(tmp_path: Path) -> None:
    """Each member's events are what perf script gives its samples as periods."""
    path = tmp_path / "perf.data"
    record(path, OPTIONS["group"])
    command = ["perf", "script", "-i", path, "-G", "-F", "period,event"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    expected: Counter[str] = Counter()
    for period, event in re.findall(r"^\s*(\d+) +([\w-]+):", text, re.MULTILINE):
        expected[event] += int(period)
    data = PerfData.open(str(path))
    found: Counter[str] = Counter()
    for event, weight in zip(data.entry_event.tolist(), data.entry_weight.tolist(), strict=True):
        found[data.events[event].name] += weight
    assert found == expected


def test_statistics_of_threads_are_no_multiplexing(tmp_path: Path) -> None:
    """A thread of some milliseconds that waits for a processor is counted as one that waits for the
    PMU. Of several recordings on a busy machine, one has no such thread."""

    def always_ran(attempt: int) -> bool:
        path = tmp_path / f"{attempt}.data"
        with whole_run.processors(2):
            record(path, OPTIONS["statistics of threads"])
        times = PerfData.open(str(path)).statistics["enabled_running"]
        assert times
        return all(ran == pytest.approx(enabled, rel=0.05) for enabled, ran in times.values())

    assert any(map(always_ran, range(8)))


@pytest.mark.slow
def test_a_recorder_that_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    # -m 4: many small buffers, so that much is written before.
    command = [need_program("perf", "linux-perf"), "record", "-q", *CLOCK, "-m", "4", "-o", path]
    command += ["--", "sh", "-c", "while :; do :; done"]
    # perf prints nothing; what it runs is in a session of its own, to be ended with it.
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True) as recorder:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and recorder.poll() is None:
            if path.is_file() and path.stat().st_size > 50_000:
                break
            time.sleep(0.05)
        workload = children(recorder.pid)
        recorder.send_signal(signal.SIGKILL)
        for pid in workload:
            subprocess.run(["kill", "-9", str(pid)], check=False)
    if not path.is_file() or not path.stat().st_size:
        pytest.skip("perf may not record here")
    data = PerfData.open(str(path))
    assert data.statistics["unterminated"]
    assert data.statistics["samples"] > 100
    assert data.statistics["malformed"] == 0
    assert set(data.entry_weight // data.entry_samples) == {1_000_000}


def children(pid: int) -> list[int]:
    """The processes that a process started."""
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(word) for word in text.split()]


@pytest.mark.kernel
@pytest.mark.parametrize("version", ["v6.12.107", "v6.18.15"])
def test_a_fixture_without_its_end(tmp_path: Path, version: str) -> None:
    """A header that does not say how long the records are: each record that is whole is read."""
    source = need_profile(version)
    whole = source.read_bytes()
    start, size = (int.from_bytes(whole[at : at + 8], "little") for at in (40, 48))
    path = tmp_path / "killed.perf.data"
    unended = whole[:48] + bytes(8) + whole[56 : start + size]
    path.write_bytes(unended)
    data, full = PerfData.open(str(path)), PerfData.open(str(source))
    assert data.statistics["unterminated"]
    assert data.statistics["samples"] == full.statistics["samples"]
    assert int(data.entry_weight.sum()) == int(full.entry_weight.sum())
    before = -1
    for length in range(start + 8, len(unended), 40_009):
        path.write_bytes(unended[:length])
        samples = PerfData.open(str(path)).statistics["samples"]
        assert samples >= before
        before = samples


@pytest.mark.kernel
@pytest.mark.parametrize("version", ["v6.12.107", "v6.18.15"])
def test_a_fixture_cut_anywhere(tmp_path: Path, version: str) -> None:
    """Every length of the head and of the end, and a stride between them."""
    source = need_profile(version)
    whole = source.read_bytes()
    path = tmp_path / "cut.perf.data"
    lengths = {*range(400), *range(400, len(whole), 9_973), *range(len(whole) - 700, len(whole))}
    for length in sorted(lengths):
        path.write_bytes(whole[:length])
        with pytest.raises(NativeError) as caught:
            PerfData.open(str(path))
        message = str(caught.value)
        assert str(path) in message
        assert "\n" not in message


@pytest.mark.parametrize("kind", [66, 71], ids=["tracing data", "aux trace"])
def test_data_behind_a_record_that_are_cut_off(tmp_path: Path, kind: int) -> None:
    w = Writer()
    w.sample(0x10, [])
    w.record(kind, 0, w.pack("QQQQIIII", 5000, 0, 0, 0, 0, 0, 0, 0))
    path = tmp_path / "perf.data"
    path.write_bytes(w.pipe() + bytes(90))
    told = PerfData.open(str(path)).statistics
    assert (told["samples"], told["unterminated"]) == (1, True)


def test_data_that_are_promised_behind_the_end_of_a_large_file(tmp_path: Path) -> None:
    w = Writer()
    w.record(71, 0, w.pack("QQQQIIII", 2**40, 0, 0, 0, 0, 0, 0, 0))
    w.sample(0x10, [1, 2, 3, 4])
    w.records += w.records[-1:] * 60_000
    path = tmp_path / "perf.data"
    path.write_bytes(w.file())
    with pytest.raises(NativeError, match="cut short"):
        PerfData.open(str(path))
