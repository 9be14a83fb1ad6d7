"""Every kind of perf.data file: what was written is what is read."""

import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from extent import is_nightly
from perf_data.writer import (
    CALLCHAIN,
    CONTEXT_KERNEL,
    CONTEXT_USER,
    GUEST_KERNEL,
    HYPERVISOR,
    IDENTIFIER,
    IP,
    KERNEL,
    PERIOD,
    READ,
    TID,
    TIME,
    Writer,
)
from support import error_line, need_profile, need_program, profdiff

from profdiff.symbolization._native import NativeError, PerfData

K = 0xFFFF_FFFF_8100_0000
Read = Counter[tuple[str, tuple[str, ...], str]]


def read(path: Path, content: bytes) -> PerfData:
    path.write_bytes(content)
    return PerfData.open(str(path))


def stacks(data: PerfData) -> Read:
    """Weights by thread, places ("kind path+address", root first) and event."""
    count = len(data.place_address)
    places = np.arange(count, dtype=np.uint32)
    offsets = np.arange(count + 1, dtype=np.uint32)
    tree = data.expand(offsets, places, np.zeros(count, np.bool_), count)
    names = []
    for number, address in zip(data.place_object, data.place_address, strict=True):
        kind, path, _, _ = data.objects[number]
        names.append(f"{kind} {path}+{address:#x}")
    found: Read = Counter()
    entries = zip(tree.entry_stack, data.entry_event, data.entry_weight, strict=True)
    for at, event, weight in entries:
        frames = []
        while tree.parent[at] >= 0:
            frames.append(names[tree.function[at]])
            at = tree.parent[at]
        thread = data.threads[tree.function[at] - count]
        found[thread, tuple(reversed(frames)), data.events[event].name] += int(weight)
    return found


def example(order: str) -> Writer:
    """Two processes, two programs at one address, kernel and user, out of time order."""
    w = Writer(order)
    w.mmap2(2**32 - 1, K, 2**24, K, b"[kernel.kallsyms]_text", 0, mode=KERNEL)
    w.comm(7, b"first", 0, exec_=True)
    w.mmap2(7, 0x40_0000, 0x1000, 0x2000, b"/bin/first", 1, build_id=b"\xaa" * 20)
    # A CPU's buffer with later records stands in front of another's with earlier ones.
    w.sample(0x40_0010, [CONTEXT_USER, 0x40_0010, 0x40_0021], time=50, period=3)
    w.fork(8, 7, 20)
    w.sample(0x40_0010, [CONTEXT_USER, 0x40_0010], pid=8, time=25, period=5)
    w.comm(8, b"second", 30, exec_=True)
    w.mmap2(8, 0x40_0000, 0x1000, 0, b"/bin/second", 31)
    w.sample(0x40_0010, [CONTEXT_USER, 0x40_0010], pid=8, time=40, period=7)
    chain = [CONTEXT_KERNEL, K + 4, K + 0x101, CONTEXT_USER, 0x40_0030, 0x40_0041]
    w.sample(K + 4, chain, time=10, period=11, mode=KERNEL)
    return w


EXPECTED = Counter(
    {
        ("first", ("file /bin/first+0x2020", "file /bin/first+0x2010")): 3,
        ("first", ("file /bin/first+0x2010",)): 5,
        ("second", ("file /bin/second+0x10",)): 7,
        (
            "first",
            (
                "file /bin/first+0x2040",
                "file /bin/first+0x2030",
                f"kernel [kernel]+{K + 0x100:#x}",
                f"kernel [kernel]+{K + 4:#x}",
            ),
        ): 11,
    }
)


@pytest.mark.parametrize("order", ["<", ">"], ids=["little-endian", "big-endian"])
@pytest.mark.parametrize("mode", ["file", "pipe"])
def test_what_was_written_is_read(tmp_path: Path, order: str, mode: str) -> None:
    data = read(tmp_path / "perf.data", getattr(example(order), mode)())
    found = {(thread, frames): weight for (thread, frames, _), weight in stacks(data).items()}
    assert found == EXPECTED
    objects = {path: build_id for _, path, build_id, _ in data.objects}
    assert objects["/bin/first"] == "aa" * 20
    assert objects["/bin/second"] is None
    one = data.kernel_mappings[0]
    assert (one.name, one.start, one.length, one.offset) == ("[kernel.kallsyms]_text", K, 2**24, K)
    told = data.statistics
    assert told["samples"] == 4
    assert (told["malformed"], told["unknown_event"], told["unmapped"]) == (0, 0, 0)


def test_a_mapping_that_is_replaced_counts_until_then(tmp_path: Path) -> None:
    w = Writer()
    w.comm(7, b"jit", 0)
    w.mmap2(7, 0x1000, 0x3000, 0, b"/lib/old.so", 10)
    w.mmap2(7, 0x2000, 0x1000, 0x8000, b"/lib/new.so", 20)
    for time in (5, 15, 25):
        w.sample(0x2004, [], time=time)
        w.sample(0x3004, [], time=time)
    data = read(tmp_path / "perf.data", w.file())
    found = Counter({frames[-1]: weight for (_, frames, _), weight in stacks(data).items()})
    assert found == Counter(
        {
            "unmapped [unmapped]+0x2004": 1,
            "unmapped [unmapped]+0x3004": 1,
            "file /lib/old.so+0x1004": 1,
            "file /lib/new.so+0x8004": 1,
            "file /lib/old.so+0x2004": 2,
        }
    )
    assert data.statistics["unmapped"] == 2


def test_members_of_a_group_get_what_they_counted(tmp_path: Path) -> None:
    """Leader sampling: a sample carries the counts of the whole group so far."""
    w = Writer(
        events=2,
        sample_type=IDENTIFIER | IP | TID | TIME | PERIOD | READ | CALLCHAIN,
        read_format=4 | 8,  # PERF_FORMAT_ID, PERF_FORMAT_GROUP
    )
    w.sample(K, [], mode=KERNEL, time=1, read=[(10, 100), (11, 40)])
    w.sample(K + 8, [], mode=KERNEL, time=2, read=[(10, 250), (11, 40)])
    w.sample(K, [], mode=KERNEL, time=3, read=[(10, 300), (11, 100)])
    data = read(tmp_path / "perf.data", w.file())
    found = {(frames[-1][-4:], event): n for (_, frames, event), n in stacks(data).items()}
    assert found == {
        ("0000", "cpu-clock"): 150,
        ("0000", "task-clock"): 100,
        ("0008", "cpu-clock"): 150,
    }


def test_other_modes_are_kept_apart(tmp_path: Path) -> None:
    w = Writer()
    w.sample(K, [], mode=GUEST_KERNEL, period=2)
    w.sample(K, [], mode=HYPERVISOR, period=3)
    w.sample(K, [], mode=KERNEL, period=4)
    found = stacks(read(tmp_path / "perf.data", w.file()))
    kinds = {frames[-1].partition(" ")[0]: weight for (_, frames, _), weight in found.items()}
    assert kinds == {"guest": 2, "hypervisor": 3, "kernel": 4}


def test_everything_else_is_counted(tmp_path: Path) -> None:
    w = Writer()
    w.record(2, 0, w.pack("QQ", 10, 5))  # LOST
    w.record(13, 0, w.pack("Q", 6))  # LOST_SAMPLES
    w.record(5, 0, w.pack("QQQ", 0, 0, 0))  # THROTTLE
    w.record(63, 0, b"")
    w.record(99, 0, b"")
    w.record(99, 0, b"")
    w.record(9, USER_MODE, w.pack("Q", 10))  # a sample that ends too early
    w.record(10, 0, b"")  # a mapping that does
    w.sample(0x10, [CONTEXT_USER, 0x10, 2**64 - 5], period=0)
    w.record(17, 0, w.pack("QIHH", K, 64, 1, 0) + b"bpf_prog_x\0")
    data = read(tmp_path / "perf.data", w.file())
    told = data.statistics
    assert told["lost"] == 5
    assert told["lost_samples"] == 6
    assert told["throttled"] == 1
    assert told["unknown_records"] == {63: 1, 99: 2}
    assert told["malformed"] == 2
    assert told["weightless"] == 1
    assert told["corrupt_chains"] == 1
    assert data.kernel_symbols == [(K, 64, "bpf_prog_x")]


USER_MODE = 2


def test_a_sample_of_an_undescribed_event_is_counted(tmp_path: Path) -> None:
    w = Writer(events=2)
    w.sample(K, [], mode=KERNEL, event=5)
    assert read(tmp_path / "perf.data", w.file()).statistics["unknown_event"] == 1


def test_a_recorder_that_was_killed(tmp_path: Path) -> None:
    whole = example("<").file(data_size=0)
    for cut in (0, 5):
        data = read(tmp_path / "perf.data", whole[: len(whole) - cut])
        assert data.statistics["unterminated"]
        assert data.statistics["samples"] == (4 if cut == 0 else 3)


@pytest.mark.parametrize("mode", ["file", "pipe"])
def test_cut_anywhere(tmp_path: Path, mode: str) -> None:
    whole = getattr(example("<"), mode)()
    path = tmp_path / "perf.data"
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        try:
            data = PerfData.open(str(path))
        except NativeError as error:
            assert str(path) in str(error)
            assert "\n" not in str(error)
        else:
            # A stream that ends between two records is whole as far as anyone can tell.
            assert mode == "pipe"
            assert data.statistics["samples"] < 4


@pytest.mark.kernel
def test_a_fixture_cut_anywhere_is_one_line(tmp_path: Path) -> None:
    source = need_profile("v6.12.107")
    whole = source.read_bytes()
    path = tmp_path / "cut.perf.data"
    for length in [*range(0, 2000, 13), *range(2000, len(whole), 9973)]:
        path.write_bytes(whole[:length])
        with pytest.raises(NativeError, match=r"cut\.perf\.data"):
            PerfData.open(str(path))
    assert "cut short" in error_line(profdiff("diff", path, status=2))


@pytest.mark.slow
@pytest.mark.parametrize("options", [["-z"], ["-o", "-"], []], ids=["compressed", "pipe", "packed"])
def test_real_recordings(tmp_path: Path, options: list[str]) -> None:
    """perf's own files of these kinds: perf report counts the same events in them."""
    need_program("perf", "linux-perf")
    path = tmp_path / "perf.data"
    command = ["perf", "record", "-q", "-e", "cpu-clock", "-c", "100000", "-g", *options]
    command += [] if "-o" in options else ["-o", str(path)]
    times = " ".join("12345678"[: 8 if is_nightly() else 2])
    command += ["--", "sh", "-c", f"for i in {times}; do ls -lR /usr/lib >/dev/null; done"]
    result = subprocess.run(command, capture_output=True, check=False)
    if result.returncode != 0:
        pytest.skip(f"perf may not record here: {result.stderr.decode()[-200:]}")
    if "-o" in options:
        path.write_bytes(result.stdout)
    report = ["perf", "report", "-i", path, "--stdio", "--no-children", "-g", "none"]
    text = subprocess.run(report, capture_output=True, text=True, check=True).stdout
    events = int(text.partition("Event count (approx.): ")[2].split()[0])
    if not options:
        packed = tmp_path / "perf.data.zst"
        subprocess.run([need_program("zstd"), "-q", path, "-o", packed], check=True)
        path = packed
    data = PerfData.open(str(path))
    assert int(data.entry_weight.sum()) == events
    assert data.statistics["samples"] == events // 100_000 > 1_000
    assert data.statistics["unknown_records"] == {}
    assert data.statistics["malformed"] == 0


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.data"
    for content, what in (
        (b"PERFILE1" + b"\0" * 200, "neither a perf.data"),
        (b"\x7fELF" + b"\0" * 100, "is an ELF file, not a recording"),
    ):
        path.write_bytes(content)
        assert what in error_line(profdiff("diff", path, status=2))
