"""Streams of ``perf record -o -``: what is read of those that end early, or carry other things."""

import re
import struct
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from perf_data.writer import Writer
from support import error_line, need_program, profdiff

from profdiff.symbolization._native import NativeError, PerfData

CLOCK = ["-e", "cpu-clock", "-c", "250000", "-g"]
WORKLOAD = ["sh", "-c", "ls -lR /usr/include /usr/lib/python3* >/dev/null; ls /"]
TRACEPOINTS = ["-e", "syscalls:sys_enter_openat", "-e", "syscalls:sys_enter_close"]


def recorded(options: Sequence[str], *, messages: bool = False) -> bytes:
    """A stream of perf's, with what it says on standard error among it; skips where it may not."""
    command = [need_program("perf", "linux-perf"), "record", *options, "-o", "-", "--", *WORKLOAD]
    # The workload's own output must not be in it.
    command[-1] = f"({command[-1]}) >/dev/null"
    errors = subprocess.STDOUT if messages else subprocess.PIPE
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=errors, check=False)
    if done.returncode or not done.stdout.startswith(b"PERFILE2"):
        pytest.skip(f"perf may not record so here: {(done.stderr or done.stdout)[-200:]!r}")
    return done.stdout


def records(stream: bytes) -> Iterator[tuple[int, bytes]]:
    """The kind of each record of a stream, and its bytes with what stands behind it."""
    at = 16
    while at < len(stream):
        kind, _, size = struct.unpack_from("<IHH", stream, at)
        if kind == 66:
            size += (struct.unpack_from("<I", stream, at + 8)[0] + 7) & ~7
        yield kind, stream[at : at + size]
        at += size


def sums(path: Path) -> dict[str, int]:
    found: dict[str, int] = {}
    data = PerfData.open(str(path))
    for event, weight in zip(data.entry_event.tolist(), data.entry_weight.tolist(), strict=True):
        name = data.events[event].name
        found[name] = found.get(name, 0) + weight
    return found


@pytest.mark.parametrize("options", [CLOCK, [*CLOCK, "-z"]], ids=["plain", "compressed"])
def test_what_stands_behind_a_stream(tmp_path: Path, options: list[str]) -> None:
    """perf's own messages, those of a shell, zeros, and a record of which a part is there."""
    path = tmp_path / "stream"
    whole = recorded(options)
    path.write_bytes(whole)
    expected = sums(path)
    assert not PerfData.open(str(path)).statistics["unterminated"]
    said = b"[ perf record: Woken up 1 times to write data ]\n"
    for more in (said, b"sh: 1: x\n", b"\0" * 3, bytes(64), whole[16:60], b"\n" * 70_000):
        path.write_bytes(whole + more)
        assert sums(path) == expected, more[:40]
        assert PerfData.open(str(path)).statistics["unterminated"], more[:40]
    path.write_bytes(b"WARNING: maps are restricted,\ncheck kptr_restrict.\n\n" + whole)
    assert sums(path) == expected
    path.write_bytes(whole + said)
    assert "stream: its end is missing" in " ".join(profdiff("diff", path).stdout.split())


def test_messages_of_perf_among_a_stream(tmp_path: Path) -> None:
    path = tmp_path / "stream"
    path.write_bytes(recorded(CLOCK, messages=True))
    assert b"perf record: " in path.read_bytes()
    assert sums(path)["cpu-clock"] > 0
    assert "its end is missing" in " ".join(profdiff("diff", path).stdout.split())


def test_a_cut_stream_has_the_samples_before(tmp_path: Path) -> None:
    path = tmp_path / "stream"
    whole = recorded(CLOCK)
    ends = [16]
    samples = 0
    for kind, record in records(whole):
        ends.append(ends[-1] + len(record))
        samples += kind == 9
    for length in range(ends[-1] - 400, ends[-1], 7):
        path.write_bytes(whole[:length])
        told = PerfData.open(str(path)).statistics
        kept = sum(end <= length for end in ends[1:])
        known = [kind for kind, _ in records(whole)][:kept]
        assert told["samples"] == known.count(9)
        assert told["unterminated"] == (length not in ends)
    path.write_bytes(whole)
    assert PerfData.open(str(path)).statistics["samples"] == samples
    path.write_bytes(whole[: ends[2] + 9])
    assert "ends before its first sample" in error_line(profdiff("diff", path, status=2))
    path.write_bytes(whole[:30])
    with pytest.raises(NativeError, match="is cut short"):
        PerfData.open(str(path))


def test_tracepoints_are_named_by_the_formats_in_a_stream(tmp_path: Path) -> None:
    """Older perfs put no description of the events into a stream."""
    path = tmp_path / "stream"
    whole = recorded([*TRACEPOINTS, "-e", "cpu-clock:u"])
    path.write_bytes(whole)
    expected = sums(path)
    assert set(TRACEPOINTS[1::2]) <= set(expected)
    bare = b"".join(record for kind, record in records(whole) if kind not in (78, 80))
    path.write_bytes(whole[:16] + bare)
    assert sums(path) == expected
    # Damage costs names, and nothing else.
    at = bare.index(b"header_event")
    path.write_bytes(whole[:16] + bare[:at] + b"x" * 40 + bare[at + 40 :])
    assert sorted(sums(path).values()) == sorted(expected.values())
    assert [name for name in sums(path) if re.fullmatch(r"tracepoint \d+", name)]


def test_compressed_samples_that_hardly_differ(tmp_path: Path) -> None:
    """Dumps of a user stack shrink to a thousandth."""
    path = tmp_path / "perf.data"
    perf = need_program("perf", "linux-perf")
    command = [perf, "record", "-q", "-z22", "-e", "cpu-clock", "-c", "1000000", "-o", path]
    command += ["--call-graph", "dwarf,65528", "--", "sh", "-c"]
    loop = "i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done"
    done = subprocess.run([*command, loop], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"perf may not record so here: {done.stderr[-200:]}")
    unpacked = PerfData.open(str(path)).statistics["samples"] * 65528
    assert unpacked > 64 * path.stat().st_size
    report = [perf, "report", "-i", path, "--stdio", "--no-children", "-g", "none"]
    text = subprocess.run(report, capture_output=True, text=True, check=True).stdout
    counted = [int(count) for count in re.findall(r"# Event count \(approx\.\): (\d+)", text)]
    assert counted == list(sums(path).values())


@pytest.mark.parametrize("stream", [False, True], ids=["file", "stream"])
def test_recordings_without_samples_say_what_to_do(tmp_path: Path, stream: bool) -> None:
    perf = need_program("perf", "linux-perf")
    path = tmp_path / "perf.data"
    for command, what in (
        (["stat", "record"], "perf stat record counted"),
        (["record", "-q", "-e", "dummy"], "has no sample: "),
    ):
        words = [perf, *command, "-o", "-" if stream else path, "--", "true"]
        done = subprocess.run(words, capture_output=True, check=False)
        if done.returncode:
            pytest.skip(f"perf may not do that here: {done.stderr[-200:]!r}")
        if stream:
            path.write_bytes(done.stdout)
        assert what in error_line(profdiff("diff", path, status=2))
        assert what in error_line(profdiff("diff", f"a={path}", f"b={path}", status=2))


def test_a_trace_of_a_processor_says_what_to_do(tmp_path: Path) -> None:
    w = Writer()
    w.record(71, 0, w.pack("QQQQIIII", 64, 0, 0, 0, 0, 0, 0, 0))
    path = tmp_path / "pt.data"
    path.write_bytes(w.file(data_size=len(w.records[0]) + 64) + bytes(64))
    assert "perf inject --itrace" in error_line(profdiff("diff", path, status=2))


def test_idle_processors_and_their_children_are_swapper(tmp_path: Path) -> None:
    w = Writer()
    w.sample(0x10, [], pid=0, time=5)
    w.fork(9, 0, 10)
    w.sample(0x10, [], pid=9, time=15)
    w.comm(9, b"init", 20, exec_=True)
    w.sample(0x10, [], pid=9, time=25)
    w.sample(0x10, [], pid=7, time=30)
    path = tmp_path / "perf.data"
    path.write_bytes(w.file())
    data = PerfData.open(str(path))
    found: dict[str, int] = {}
    for thread, samples in zip(data.entry_thread, data.entry_samples, strict=True):
        name = data.threads[thread]
        found[name] = found.get(name, 0) + int(samples)
    assert found == {"swapper": 2, "init": 1, "[unknown]": 1}
