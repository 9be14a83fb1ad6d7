"""The workloads of examples/, run here: what they print is read, and adds up.

Their system calls are counted by strace, the layout of series by google/benchmark itself.
"""

import os
import re
import statistics
import subprocess
from pathlib import Path

import pytest
from support import ROOT, need_program

from profdiff.base.metric import Metric
from profdiff.collectors.workload.metrics import Wanted, read

pytestmark = pytest.mark.build

HERE = Path(__file__).resolve().parent
# The suite's programs have tests of their own, in tests/suite; profdiff has the main() of those in
# will-it-scale's shape.
SOURCES = sorted(
    source
    for source in ROOT.glob("examples/*/*.c")
    if source.parent.name != "suite" and "\nint main(" in source.read_text()
)
PAGE_KIB = os.sysconf("SC_PAGESIZE") // 1024


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Each example's program by its name, compiled strictly."""
    folder = tmp_path_factory.mktemp("programs")
    argv = [need_program("cc", "gcc"), "-O2", "-g", "-static", "-pthread", "-Wall", "-Wextra"]
    argv += ["-Werror", f"-I{ROOT / 'collectors/guest'}"]
    for source in SOURCES:
        program = str(folder / source.stem)
        done = subprocess.run(
            [*argv, str(source), "-lm", "-o", program], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
    return {source.stem: folder / source.stem for source in SOURCES}


def _run(program: Path, *arguments: object) -> str:
    argv = [str(program), *map(str, arguments)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _values(output: str) -> dict[str, tuple[float, str]]:
    found = read([Wanted.parse("values")], output)
    assert all(metric.better == "lower" for metric in found)
    return {metric.name: (values[0], metric.unit) for metric, values in found.items()}


def _calls(program: Path, *arguments: object) -> dict[str, int]:
    """How often it made each system call, in all threads, by strace's summary."""
    argv = [need_program("strace"), "-f", "-c", "-U", "calls,name", str(program)]
    done = subprocess.run([*argv, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = re.findall(r"^ *(\d+) +([a-z]\w+)$", done.stderr, re.M)
    return {name: int(count) for count, name in rows if name != "total"}


@pytest.mark.build
def test_mincore(programs: dict[str, Path]) -> None:
    pages = 2048 // PAGE_KIB
    for threads in range(1, min(2, len(os.sched_getaffinity(0))) + 1):
        found = _values(_run(programs["mincore"], 2, 3, threads))
        assert found["resident_pages"] == (pages * threads, "pages")
        assert found["ops"] == (pages * threads * 3, "")
        time, unit = found["ns_per_1000_pages"]
        assert unit == "ns"
        assert time > 0
        assert _calls(programs["mincore"], 2, 3, threads)["mincore"] == 3 * threads
    # One thread waits for nobody: nothing but mincore() lies between the marks.
    assert "futex" not in _calls(programs["mincore"], 2, 3, 1)


def test_mincore_needs_a_cpu_for_each_thread(programs: dict[str, Path]) -> None:
    cpu = min(os.sched_getaffinity(0))
    argv = [need_program("taskset", "util-linux"), "-c", str(cpu), str(programs["mincore"])]
    done = subprocess.run([*argv, "1", "1", "2"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert "2 threads need as many CPUs, here are 1" in done.stderr


@pytest.mark.parametrize(("case", "parts"), [(None, 3), ("first", 1), ("third", 1)])
def test_write_fault(programs: dict[str, Path], case: str | None, parts: int) -> None:
    size_kib, rounds = 64, 20
    arguments = [size_kib, rounds, *([case] if case else [])]
    found = _values(_run(programs["write-fault"], *arguments))
    assert found["ops"] == (2 * parts * rounds * size_kib / PAGE_KIB, "")
    for variant in ("memset", "touch"):
        average = {}
        for write in ("first", "second", "third"):
            values = [found[f"{variant}_{write}_{of}"] for of in ("min", "avg", "max")]
            assert [unit for _, unit in values] == ["ns/page"] * 3
            assert 0 < values[0][0] <= values[1][0] <= values[2][0]
            average[write] = values[1][0]
        # A page fault that clears a page costs more than a write that does not fault.
        assert average["first"] > average["second"]
        for other in ("first", "second"):
            ratio, unit = found[f"{variant}_third_to_{other}"]
            assert unit == ""
            assert ratio == pytest.approx(average["third"] / average[other], rel=0.01, abs=1e-4)
    calls = _calls(programs["write-fault"], *arguments)
    plain = _calls(programs["write-fault"], size_kib, 1)["mprotect"]
    assert calls["mprotect"] - plain == 2 * 2 * (rounds - 1)


@pytest.mark.parametrize("part", [None, "protect", "write"])
def test_shared_dirty(programs: dict[str, Path], part: str | None) -> None:
    arguments = [1, 7, *([part] if part else [])]
    found = _values(_run(programs["shared-dirty"], *arguments))
    assert found["ops"] == (7 * 1024 / PAGE_KIB, "")
    times = [found[name] for name in ("protect", "unprotect", "write", "cycle")]
    assert [unit for _, unit in times] == ["ns/page"] * 4
    *parts, cycle = (time for time, _ in times)
    assert min(parts) > 0
    assert cycle == pytest.approx(sum(parts), abs=0.003)
    once = _calls(programs["shared-dirty"], 1, 1)["mprotect"]
    assert _calls(programs["shared-dirty"], *arguments)["mprotect"] - once == 2 * 6


@pytest.mark.parametrize("folio_kib", [PAGE_KIB, 64])
def test_large_folios(programs: dict[str, Path], folio_kib: int) -> None:
    """It has what it says that it has, by /proc/kpageflags, and leaves the machine as it was."""
    setting = _need_folios(folio_kib)
    before = setting.read_text() if setting else None
    for protection in ("none", "read"):
        arguments = [folio_kib, protection, 640, 6]
        output = _run(programs["large-folios"], *arguments)
        assert f"folios: {640 // folio_kib} of {folio_kib} KiB\n" in output
        assert _values(output)["ops"] == (6 * 640 / PAGE_KIB, "")
        once = _calls(programs["large-folios"], folio_kib, protection, 640, 1)["mprotect"]
        assert _calls(programs["large-folios"], *arguments)["mprotect"] - once == 5
    assert setting is None or setting.read_text() == before


def test_large_folios_that_nobody_can_see(programs: dict[str, Path]) -> None:
    """Another user is not shown frames, and so not told that the folios are there."""
    if os.geteuid() != 0:
        pytest.skip("taking rights away needs root")
    rights = "-sys_admin,-sys_rawio"
    argv = [need_program("setpriv", "util-linux"), f"--bounding-set={rights}"]
    argv += [f"--inh-caps={rights}", str(programs["large-folios"]), str(PAGE_KIB), "none"]
    done = subprocess.run([*argv, "640", "1"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (1, "")
    assert "hides its frames: be root" in done.stderr


def test_large_folios_that_no_kernel_has(programs: dict[str, Path]) -> None:
    argv = [str(programs["large-folios"]), "8", "none", "640", "1"]
    if Path("/sys/kernel/mm/transparent_hugepage/hugepages-8kB/enabled").exists():
        pytest.skip("this kernel has folios of 8 KiB for anonymous memory")
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (1, "")
    assert "this kernel has no folios of 8 KiB" in done.stderr


def _need_folios(folio_kib: int) -> Path | None:
    """What enables folios of this size, None for pages; or skip with a reason that names it."""
    if os.geteuid() != 0 or not Path("/proc/kpageflags").exists():
        pytest.skip("/proc/kpageflags needs root and CONFIG_PROC_PAGE_MONITOR")
    if folio_kib == PAGE_KIB:
        return None
    folder = Path("/sys/kernel/mm/transparent_hugepage") / f"hugepages-{folio_kib}kB"
    if not os.access(folder / "enabled", os.W_OK):
        pytest.skip(f"this kernel has no {folder}, or nobody may write to it")
    return folder / "enabled"


def test_series_is_read_as_google_benchmarks(programs: dict[str, Path]) -> None:
    output = _run(programs["series"], 3, 5, 4, 400)
    found = read([Wanted.parse("google-benchmark")], output)
    names = ["mprotect_pte/4", "mprotect_pte/4.cpu_time"]
    names += ["mprotect_pte/400", "mprotect_pte/400.cpu_time"]
    assert list(found) == [Metric(name, "ns", "lower") for name in names]
    assert all(len(values) == 3 and min(values) > 0 for values in found.values())
    assert _values(output)["ops"] == (2 * 3 * 5 * (4 + 400) / PAGE_KIB, "")
    calls = _calls(programs["series"], 3, 5, 4, 400)["mprotect"]
    assert calls - _calls(programs["series"], 1, 1, 4, 400)["mprotect"] == 2 * 2 * (3 * 5 - 1)


@pytest.mark.parametrize("repetitions", [1, 2, 3, 4])
def test_series_has_the_layout_and_the_statistics(
    programs: dict[str, Path], repetitions: int, tmp_path: Path
) -> None:
    if not Path("/usr/include/benchmark/benchmark.h").exists():
        pytest.skip("google/benchmark is not installed (apt-get install libbenchmark-dev)")
    real = tmp_path / "real"
    argv = [need_program("g++"), "-O2", "-o", str(real), str(HERE / "series.cc"), "-lbenchmark"]
    subprocess.run([*argv, "-lpthread"], check=True)
    theirs = _run(real, f"--benchmark_repetitions={repetitions}").splitlines()
    ours = _run(programs["series"], repetitions, 10, 4, 400).splitlines()[:-1]
    # With the number of iterations set, google/benchmark says so in the name.
    suffix = "/iterations:10"
    theirs = [line.replace(suffix, "").replace("-" * len(suffix), "", 1) for line in theirs]
    theirs[1] = theirs[1].replace("Benchmark" + " " * len(suffix), "Benchmark", 1)
    assert ours[:3] == theirs[:3]
    assert [_layout(line) for line in ours[3:]] == [_layout(line) for line in theirs[3:]]


# Three digits that count, as FormatTime() has them; a nine may be rounded up.
_TIME = r"0\.\d{3}|1\.000|\d\.\d\d|10\.00|\d\d\.\d|100\.0|\d{3,}"


def _layout(row: str) -> tuple[str, list[tuple[str, int]], str]:
    """Name; units and where they begin; iterations. Numbers end just before their units."""
    found = re.fullmatch(r"(\S+) +([\d.]+) (ns|%) +([\d.]+) (ns|%) +(\d+)", row)
    assert found, row
    for number, unit in ((found[2], found[3]), (found[4], found[5])):
        assert re.fullmatch(r"\d+\.\d\d" if unit == "%" else _TIME, number), row
    return found[1], [(found[3], found.start(3)), (found[5], found.start(5))], found[6]


@pytest.mark.parametrize("repetitions", [2, 5, 6])
def test_series_statistics(programs: dict[str, Path], repetitions: int) -> None:
    output = _run(programs["series"], repetitions, 5, 4000)
    (times,) = read([Wanted.parse("google-benchmark:mprotect_pte/4000")], output).values()
    shown = re.findall(r"^mprotect_pte/4000_(\w+) +([\d.]+) ", output, re.M)
    assert [name for name, _ in shown] == ["mean", "median", "stddev", "cv"]
    mean, median, stddev, cv = (float(value) for _, value in shown)
    # Times are whole numbers here: each is at most 0.5 off.
    assert mean == pytest.approx(statistics.mean(times), abs=1)
    assert median == pytest.approx(statistics.median(times), abs=1)
    assert stddev == pytest.approx(statistics.stdev(times), abs=2)
    assert cv == pytest.approx(100 * stddev / mean, abs=0.01)


@pytest.mark.parametrize(
    "arguments",
    [
        ["mincore"],
        ["mincore", "1", "1", "0"],
        ["mincore", "x", "1", "1"],
        ["write-fault", "4"],
        ["write-fault", "5", "1"],
        ["write-fault", "64", "1", "fourth"],
        ["shared-dirty", "1", "0"],
        ["shared-dirty", "1", "1", "cycle"],
        ["large-folios", "4", "none", "64"],
        ["large-folios", "4", "write", "64", "1"],
        ["large-folios", "48", "none", "480", "1"],
        ["large-folios", "64", "none", "100", "1"],
        ["large-folios", "64", "none", "2048", "1"],
        ["large-folios", "4", "read", "64", "0"],
        ["series", "0", "1"],
        ["series", "1001", "1"],
        ["series", "1", "1", *["4"] * 17],
        ["series", "1", "1", "-4"],
    ],
    ids=" ".join,
)
def test_wrong_use(programs: dict[str, Path], arguments: list[str]) -> None:
    argv = [str(programs[arguments[0]]), *arguments[1:]]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: ")
