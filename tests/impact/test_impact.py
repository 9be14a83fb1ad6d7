"""What a change adds to a program: sums by hand, and strace's own totals."""

import csv
import io
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from support import error_line, need_program, profdiff
from synthetic_suite import OPS, session

from profdiff.base.errors import InputError
from profdiff.recording.replay_calls import read
from profdiff.session import manifest as m
from profdiff.session.session import Session
from profdiff.session.suite import Suite, SuiteWorkload
from profdiff.topics.impact.measure import numbers
from profdiff.topics.impact.traces import Call, Trace

Costs = dict[tuple[tuple[str, str], ...], tuple[int, int]]
LABELS = ["old", "new"]
# Instructions of an op on both kernels, by workload and by its point.
COSTS: dict[str, Costs] = {
    # read() and lseek(), of 4 KiB and of 64 KiB.
    "read": {
        (("call", "read"), ("size", "4k")): (900, 1_000),
        (("call", "read"), ("size", "64k")): (9_000, 9_900),
        (("call", "pread"), ("size", "4k")): (800, 890),
    },
    # openat() and close() in two ways, openat() of what is not there.
    "open": {
        (("how", "open"),): (5_000, 4_400),
        (("how", "deep"),): (8_000, 7_700),
        (("how", "missing"),): (3_000, 2_900),
    },
    "extent-change": {(("what", "seek-hole"),): (100, 110)},
}
STRACE = """\
10 12:00:00.000000 execve("/bin/x", ["x"], 0x7f /* 9 vars */) = 0
10 12:00:00.100000 openat(AT_FDCWD, "a = b", O_RDONLY) = 3
10 12:00:00.200000 read(3,  <unfinished ...>
11 12:00:00.300000 openat(AT_FDCWD, "/no", O_RDONLY) = -1 ENOENT (No such file or directory)
10 12:00:00.400000 <... read resumed>"..."..., 5000) = 4096
10 12:00:00.500000 read(3, "..."..., 65536) = 65536
10 12:00:00.600000 lseek(3, 0, SEEK_SET) = 0
10 12:00:00.700000 close(3) = 0
10 12:00:00.800000 close(4) = 0
10 12:00:00.900000 --- SIGCHLD {si_signo=SIGCHLD} ---
10 12:00:02.000000 exit_group(0) = ?
10 12:00:02.100000 +++ exited with 0 +++
"""


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _suite(tmp_path_factory.mktemp("impact") / "calls.profdiff", COSTS)


def _suite(folder: Path, every: Mapping[str, Costs]) -> Path:
    described = [SuiteWorkload(name=name, op="call") for name in every]
    made = Suite.create(folder, "calls", ["profdiff", "record", "--suite", "calls"], described)
    for name, costs in every.items():
        totals = {
            point: dict(zip(LABELS, (old * OPS, new * OPS), strict=True))
            for point, (old, new) in enumerate(costs.values())
        }
        _pointed(session(made.part(name), LABELS, totals, {}), [dict(point) for point in costs])
    return folder


def _pointed(made: Session, points: list[dict[str, str]]) -> None:
    """The session with these points, whose functions nothing keeps."""
    where = [m.Point({**one, "ops": str(OPS)}, 1, OPS) for one in points]
    made.save(m.replace(made.manifest, points=where))


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "x.strace"
    path.write_text(STRACE)
    return path


def run(*arguments: object) -> tuple[int, str]:
    done = profdiff("impact", *map(str, arguments), status=(0, 1, 125))
    return done.returncode, done.stdout


def table(suite: Path, trace: Path, *more: object) -> list[dict[str, str]]:
    status, output = run(suite, "--of", trace, "--csv", "-", *more)
    assert status == 0, output
    return [*csv.DictReader(io.StringIO(output))]


def test_the_sum_is_that_of_a_hand(suite: Path, trace: Path) -> None:
    rows = {row["cell"]: row for row in table(suite, trace) if row.get("cell")}
    # lseek() is taken off: read() alone costs 100 - 10 more, and 900 - 10.
    deltas = {cell: float(row["delta new"]) for cell, row in rows.items()}
    assert deltas == {
        "read/read,4k": (100 - 10) / 2,
        "read/read,64k": (900 - 10) / 2,
        "extent-change": 10 / 2,
        "open/open": -600 / 2,
        "open/missing": -100 / 2,
    }
    # The other cell that opens and closes gives the range.
    opened = rows["open/open"]
    assert (float(opened["low new"]), float(opened["high new"])) == (-600 / 2, -300 / 2)
    assert opened["system call"] == "close, openat"
    status, text = run(suite, "--of", trace)
    assert status == 0
    # 45 + 445 + 5 - 300 - 50; 6 of 9 calls have a cell, one close() has none.
    told = " ".join(text.split())
    # Of 400 + 4,450 + 50 + 2,500 + 1,500 on the base; the range is that of 145 to 295.
    assert (
        "x.strace executes 145 more kernel instructions per second on new: +1.6% (+1.6% to +3.3%) "
        "of what these calls execute on old." in told
    )
    assert "67% of its system calls have a cell, 67% one of their size and outcome (6 and" in told
    assert "6 of 9, by strace, in a traced time of 2.00 s)" in told
    left = [row["system call"] for row in table(suite, trace) if row["table"] == "without a cell"]
    assert left == ["execve", "close", "exit_group"]


def test_a_call_that_costs_more_than_an_op_with_it_is_another(tmp_path: Path, trace: Path) -> None:
    # Looking for a hole says nothing of the lseek() before a read().
    holes = {**COSTS, "extent-change": {(("what", "seek-hole"),): (70_000, 90_000)}}
    rows = table(_suite(tmp_path / "holes.profdiff", holes), trace)
    deltas = {row["cell"]: row["delta new"] for row in rows}
    assert float(deltas["read/read,4k"]) == 100 / 2
    assert "lseek" in [row["system call"] for row in rows if row["table"] == "without a cell"]


def test_the_nearest_size(suite: Path, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("read(3, 0x1, 9000) = 9000\n" * 4)
    (row,) = [one for one in table(suite, tmp_path / "x") if one["cell"]]
    assert (row["cell"], float(row["calls"]), float(row["near"])) == ("read/read,4k", 4, 4)
    assert float(row["delta new"]) == 4 * 90
    status, text = run(suite, "--of", tmp_path / "x")
    assert status == 0
    assert "100% of its system calls have a cell, 0% one of their size" in " ".join(text.split())
    assert "in the whole trace" in text


def test_seconds_of_the_program_alone(suite: Path, trace: Path) -> None:
    status, text = run(suite, "--of", trace, "--seconds", "0.5")
    assert status == 0
    assert "executes 580 more" in text
    assert "strace slows" not in text
    assert "strace slows" in run(suite, "--of", trace)[1]


def test_a_change_without_a_range_has_none(suite: Path, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("read(3, 0x1, 4096) = 4096\n" * 3 + "read(3, 0x1, 9) = 9\n")
    text = " ".join(run(suite, "--of", tmp_path / "x")[1].split())
    # 4 calls of 800 and 890.
    assert (
        "x executes 360 more kernel instructions in the whole trace on new: +11.2% of what" in text
    )


def test_deltas_are_those_of_the_counts_that_are_shown(suite: Path, tmp_path: Path) -> None:
    """3 calls in 7 s: 342.86 and 381.43 differ by 38.57, 343 and 381 by 38."""
    (tmp_path / "x").write_text("read(3, 0x1, 4096) = 4096\n" * 3)
    (row,) = [one for one in table(suite, tmp_path / "x", "--seconds", 7) if one["cell"]]
    assert (float(row["count old"]), float(row["count new"])) == (343, 381)
    assert [float(row[f"{one} new"]) for one in ("delta", "low", "high")] == [38, 38, 38]
    assert float(row["calls"]) == 0.43


def test_kernels_without_a_result(tmp_path: Path, trace: Path) -> None:
    """One that was not built has none anywhere, another one none where it is not asked for."""
    folder = _suite(tmp_path / "holes.profdiff", COSTS)
    for number, name in enumerate(COSTS):
        (part,) = (one for _, _, one in Suite.open(folder).recorded() if one.folder.name == name)
        known = part.manifest
        hole = m.replace(known.kernels[1], label="hole", hole="not built")
        more = [hole, *([m.replace(known.kernels[1], label="third")] if number == 1 else [])]
        part.save(m.replace(known, kernels=[*known.kernels, *more]))
    only = ["--only", "read*", "--only", "extent*"]
    cells = {row["cell"] for row in table(folder, trace, *only)}
    assert {"read/read,4k", "read/read,64k"} < cells


def test_conditions(suite: Path, trace: Path) -> None:
    assert run(suite, "--of", trace, "--fail-if", "impact:lseek > +5%")[0] == 1
    assert run(suite, "--of", trace, "--fail-if", "impact:lseek > +20%")[0] == 0
    status, text = run(suite, "--of", trace, "--fail-if", "impact:mmap > +1%")
    assert status == 125, text


def test_json_has_what_programs_need(suite: Path, trace: Path) -> None:
    status, output = run(suite, "--of", trace, "--json", "-")
    assert status == 0
    document = json.loads(output)
    (section,) = document["sections"]
    assert [one["name"] for one in section["tables"]] == ["impact", "without a cell"]


def counted(path: Path) -> Counter[tuple[str, bool]]:
    found: Counter[tuple[str, bool]] = Counter()
    for call, number in Trace.read(path, numbers()).counts.items():
        found[call.name, call.failed] += number
    return found


def test_lines_and_the_table_of_one_strace_agree(tmp_path: Path) -> None:
    need_program("strace")
    both = tmp_path / "both"
    script = (
        "ls /usr/lib /nowhere; cat /etc/hostname & cat /etc/passwd & wait; grep -r root /etc/pam.d"
    )
    words = ["strace", "-C", "-f", "-tt", "-o", both, "sh", "-c", script]
    subprocess.run(words, capture_output=True, check=False)
    lines = both.read_text(errors="replace").splitlines(keepends=True)
    head = next(number for number, line in enumerate(lines) if line.startswith("% time"))
    (tmp_path / "lines").write_text("".join(lines[:head]))
    (tmp_path / "table").write_text("".join(lines[head:]))
    by_line, by_table = counted(tmp_path / "lines"), counted(tmp_path / "table")
    # strace does not count what never returns.
    by_line = Counter({key: n for key, n in by_line.items() if key[0] != "exit_group"})
    by_table = Counter({key: n for key, n in by_table.items() if key[0] != "exit_group"})
    assert by_table.total() > 200
    assert by_line == by_table
    assert counted(both) == counted(tmp_path / "lines")


@pytest.mark.parametrize("options", ["-i", "-n", "-i -n", "-f -i -tt", "-f -Y", "-r -T"])
def test_what_strace_puts_in_front_of_a_call(tmp_path: Path, options: str) -> None:
    need_program("strace")
    for name, words in (("plain", []), ("more", options.split())):
        command = ["strace", *words, "-o", tmp_path / name, "cat", "/etc/passwd", "/nowhere"]
        subprocess.run(command, capture_output=True, check=False)
    assert counted(tmp_path / "more") == counted(tmp_path / "plain")
    names = [[call.name for call in read(tmp_path / name)] for name in ("plain", "more")]
    assert names[0] == names[1]
    assert "openat" in names[0]


PERF_TRACE = """\
         ? (         ): true/30098  ... [continued]: execve())                       = 0
     7.989 ( 0.028 ms): true/30098 brk()                       = 0x562599e4d000
    12.300 ( 0.024 ms): true/30098 mmap(len: 8192, prot: READ|WRITE)        = 0x7f0552fd9000
    12.900 (         ): true/30098 wait4(upid: -1)                                   ...
  2012.400 ( 0.024 ms): a b/30098 access(filename: "/etc/ld.so.preload") = -1 ENOENT (No such file)
"""
OTHERS: Mapping[str, tuple[str, dict[Call, int], float | None]] = {
    "perf trace": (
        PERF_TRACE,
        {
            Call("execve"): 1,
            Call("brk"): 1,
            Call("mmap", (8192).bit_length()): 1,
            Call("access", None, failed=True): 1,
        },
        2012.4 / 1000 - 7.989 / 1000,
    ),
    "perf trace -s": (
        " true (30143), 58 events, 90.6%\n\n"
        "   syscall            calls  errors  total       min       avg       max       stddev\n"
        "   mmap                   8      0     0.170     0.017     0.021     0.031      7.66%\n"
        "   access                 3      1     0.052     0.052     0.052     0.052      0.00%\n",
        {Call("mmap"): 8, Call("access"): 2, Call("access", None, failed=True): 1},
        None,
    ),
    "perf script": (
        "  true 18241 [001] 29239.744440: raw_syscalls:sys_enter: NR 12 (0, 7ffd, 0, 37f, 0, 0)\n"
        "  true 18241 [001] 29240.744440:  syscalls:sys_enter_newfstat: fd: 0x3\n",
        {Call("brk"): 1, Call("fstat"): 1},
        1.0,
    ),
    "bpftrace": (
        "Attaching 1 probe...\n\n@[tracepoint:syscalls:sys_enter_openat]: 7\n@[gcc, 0]: 2\n"
        "@calls[sys_enter_newuname]: 1\n",
        {Call("openat"): 7, Call("read"): 2, Call("uname"): 1},
        None,
    ),
    "strace": (
        "     0.000000 brk(NULL) = 0x55\n     0.250000 syscall_0x1ce(0x7f, 0x1000) = 0\n"
        "[pid  12]      0.250000 munmap(0x7f1070d59000, 40459) = 0 <0.000017>\n",
        {Call("brk"): 1, Call("mseal"): 1, Call("munmap", (40459).bit_length()): 1},
        0.5,
    ),
}


@pytest.mark.parametrize("tool", OTHERS)
def test_other_tools(tool: str, tmp_path: Path) -> None:
    text, calls, seconds = OTHERS[tool]
    (tmp_path / "trace").write_text(text)
    found = Trace.read(tmp_path / "trace", numbers())
    assert found.tool == tool
    assert dict(found.counts) == calls
    assert found.seconds == (None if seconds is None else pytest.approx(seconds))


def test_perf_data_of_tracepoints(tmp_path: Path) -> None:
    need_program("perf")
    path = tmp_path / "perf.data"
    words = ["perf", "record", "-q", "-c", "1", "-e", "syscalls:sys_enter_*", "-o", path, "true"]
    if subprocess.run(words, capture_output=True, check=False).returncode or not path.exists():
        pytest.skip("perf cannot trace system calls here")
    listed = subprocess.run(
        ["perf", "script", "-i", path], capture_output=True, text=True, check=True
    ).stdout
    (tmp_path / "script").write_text(listed)
    assert counted(path) == counted(tmp_path / "script")
    assert counted(path)["mmap", False] > 1


def test_midnight_passes(tmp_path: Path) -> None:
    (tmp_path / "x").write_text(
        "23:59:59.5 brk(0) = 0\n00:00:00.5 brk(0) = 0\n00:00:01.0 brk(0) = 0\n"
    )
    assert Trace.read(tmp_path / "x", numbers()).seconds == pytest.approx(1.5)


MEMORY = """
import resource, sys
from pathlib import Path
from profdiff.topics.impact.traces import Trace
try:
    print(Trace.read(Path(sys.argv[1]), {"1": "write"}).counts.total())
except Exception as error:
    print(type(error).__name__)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_large_and_endless_lines_take_no_memory(tmp_path: Path) -> None:
    def read(path: Path) -> tuple[str, int]:
        done = subprocess.run(
            [sys.executable, "-c", MEMORY, path], capture_output=True, text=True, check=True
        )
        what, kib = done.stdout.split()
        return what, int(kib)

    small, endless, large = (tmp_path / name for name in ("small", "endless", "large"))
    small.write_text("1 brk(0) = 0\n")
    with endless.open("wb") as file:
        file.truncate(2**29)
    line = b'1234 12:00:00.000001 write(1, "' + b"x" * 9_000 + b'", 9000) = 9000\n'
    large.write_bytes(line * 12_000)
    _, usual = read(small)
    assert read(endless)[0] == "InputError"
    assert read(endless)[1] < usual + 30_000
    assert read(large)[0] == "12000"
    assert read(large)[1] < usual + 30_000


def test_what_is_no_trace(suite: Path, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(os.urandom(100_000))
    with pytest.raises(InputError, match="no known system call"):
        Trace.read(tmp_path / "x", {})
    os.mkfifo(tmp_path / "fifo")
    for named, why in {
        "x": "no known system call",
        "missing": "No such file",
        "fifo": "not a regular file",
        suite: "several sessions",
    }.items():
        done = profdiff("impact", suite, "--of", tmp_path / named, status=2)
        assert why in error_line(done)


def test_a_group_has_a_size_too(tmp_path: Path) -> None:
    """Cells of pipes write and read: what the program writes is not what the nearest one does."""
    pipes: Costs = {
        (("size", size),): (1_000 * factor, 1_100 * factor)
        for size, factor in (("1", 1), ("4k", 2), ("64k", 9))
    }
    suite = _suite(tmp_path / "pipes.profdiff", {"pipe": pipes})
    for size, cell, near in ((4096, "4k", 0), (1 << 20, "64k", 8)):
        (tmp_path / "x").write_text(
            f'write(4, "x"..., {size}) = {size}\nread(3, "x"..., {size}) = {size}\n' * 4
        )
        rows = [row for row in table(suite, tmp_path / "x") if row.get("cell")]
        assert {row["cell"]: float(row["near"] or 0) for row in rows} == {f"pipe/{cell}": near}


def test_a_call_that_another_process_ends_counts_once(suite: Path, tmp_path: Path) -> None:
    """Without -o, the only process has no pid until there are two."""
    (tmp_path / "x").write_text(
        "clone(child_stack=NULL, flags=SIGCHLD <unfinished ...>\n"
        "[pid 5] close(3) = 0\n"
        "[pid 4] <... clone resumed>) = 5\n"
    )
    calls = {row["system call"]: row["calls"] for row in table(suite, tmp_path / "x")}
    assert calls["clone"] == "1"
