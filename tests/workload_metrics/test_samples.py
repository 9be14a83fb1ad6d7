"""What programs printed once, where they are not installed; samples/README.md has the commands.

Numbers here were read off the samples by eye."""

from pathlib import Path

import pytest

from profdiff.base.errors import InputError
from profdiff.base.metric import Metric
from profdiff.collectors.workload.metrics import Wanted, read

SAMPLES = Path(__file__).resolve().parent / "samples"


def _read(sample: str, *wanted: str) -> dict[Metric, list[float]]:
    return read([Wanted.parse(text) for text in wanted], (SAMPLES / sample).read_text())


def _values(sample: str, wanted: str) -> list[float]:
    (values,) = _read(sample, wanted).values()
    return values


@pytest.mark.parametrize(
    ("sample", "wanted", "metric", "values"),
    [
        (
            "google-benchmark.txt",
            "google-benchmark:touch/4096",
            Metric("touch/4096", "ns", "lower"),
            [4076, 3471, 4226],
        ),
        (
            "google-benchmark.txt",
            "google-benchmark:threads/real_time/threads:2.cpu_time",
            Metric("threads/real_time/threads:2.cpu_time", "ns", "lower"),
            [0.275, 0.273, 0.273],
        ),
        (
            "google-benchmark.txt",
            "label=google-benchmark:labelled",
            Metric("label", "us", "lower"),
            [1.77, 1.54, 1.95],
        ),
        (
            "libmicro.txt",
            "libmicro:getpid",
            Metric("getpid", "us/call", "lower"),
            [0.15360],
        ),
        (
            "will-it-scale.csv",
            "will-it-scale:threads.2",
            Metric("threads.2", "ops/s", "higher"),
            [7815441],
        ),
        (
            "will-it-scale-program.txt",
            "will-it-scale:average",
            Metric("average", "ops/s", "higher"),
            [5977027],
        ),
        (
            "sysbench-memory.txt",
            "sysbench:total_time",
            Metric("total_time", "s", "lower"),
            [0.0296],
        ),
        (
            "sysbench-fileio.txt",
            "sysbench:fsyncs",
            Metric("fsyncs", "ops/s", "higher"),
            [348.98],
        ),
    ],
)
def test_a_metric(sample: str, wanted: str, metric: Metric, values: list[float]) -> None:
    assert _read(sample, wanted) == {metric: values}


def test_both_forms_of_one_run() -> None:
    for name in ("touch/65536", "labelled.cpu_time", "threads/real_time/threads:2"):
        console = _values("google-benchmark.txt", f"google-benchmark:{name}")
        exact = _values("google-benchmark.json", f"google-benchmark:{name}")
        assert console == pytest.approx(exact, rel=0.01)
    rows = "stress-ng:brk.bogo-ops-per-second-real-time"
    assert _values("stress-ng.txt", rows) == pytest.approx(_values("stress-ng.yaml", rows), abs=0.1)


@pytest.mark.parametrize("sample", ["google-benchmark.txt", "google-benchmark.json"])
def test_a_benchmark_that_failed_is_said_so(sample: str) -> None:
    for wanted in ("google-benchmark", "google-benchmark:fails"):
        with pytest.raises(InputError, match=r"'fails' has no value .* failed"):
            _read(sample, wanted)


def test_json_below_other_lines() -> None:
    text = (SAMPLES / "fio.txt").read_text()
    assert not text.startswith("{")
    assert len(_read("fio.txt", "fio")) > 20
    # The text below the document says the same: "read: IOPS=..."
    (iops,) = _values("fio.txt", "fio:a.read.iops")
    (said,) = _values("fio.txt", r"pattern:^  read: IOPS=(?P<thousands>[\d.]+)k")
    assert iops == pytest.approx(1000 * said, rel=0.01)


def test_two_commands_of_hyperfine() -> None:
    found = _read("hyperfine.txt", "short=hyperfine:sleep 0.01", "long=hyperfine:sleep 0.02")
    short, long = found.values()
    assert len(short) == len(long) == 3
    assert max(short) < min(long)


def test_libmicro_takes_rows_alone() -> None:
    assert [metric.name for metric in _read("libmicro.txt", "libmicro")] == ["getpid", "memset_1m"]


def test_what_older_and_newer_programs_print() -> None:
    # stress-ng of 2020, as quoted in a mail about v5.8-rc4, and 0.15.06 with --timestamp.
    old = "stress-ng: info:  [7158] mmapfork             32      1.09      2.48      6.01"
    old += "        29.36         3.77"
    rates = read([Wanted.parse("stress-ng:mmapfork.bogo-ops-per-second-real-time")], old)
    assert list(rates.values()) == [[29.36]]
    stamped = old.replace("info:  [7158]", "metrc: [7158]").replace(": m", ": 11:08:36.59 m", 1)
    assert list(read([Wanted.parse("stress-ng:mmapfork.bogo-ops")], stamped).values()) == [[32]]
    # sysbench 1.1 (src/tests/fileio/sb_fileio.c).
    new = """
Throughput:
         read:  IOPS=76.50 1.20 MiB/s (1.25 MB/s)
         write: IOPS=51.00 0.80 MiB/s (0.84 MB/s)
         fsync: IOPS=163.25
"""
    found = read([Wanted.parse("sysbench")], new)
    assert {metric.name: values for metric, values in found.items()} == {
        "reads": [76.5],
        "read": [1.2],
        "writes": [51],
        "written": [0.8],
        "fsyncs": [163.25],
    }


@pytest.mark.parametrize(
    ("description", "name", "measure", "better"),
    [
        (
            "nanosecs per context switch (pipe method)",
            None,
            "ns/context-switch-pipe-method",
            "lower",
        ),
        ("nanosecs to start a pthread", None, "ns", "lower"),
        ("seconds to open all file descriptors", None, "s", "lower"),
        ("MB/sec read rate", "mbsec-read-rate", "MB/s", "higher"),
        ("MB per sec pipe write rate", None, "MB/s", "higher"),
        ("vm-splice calls per sec", "vmsplice-calls-per-sec", "vmsplice-calls/s", "higher"),
        ("opens/sec", "openssec", "opens/s", "higher"),
        ("% compression ratio", "percent-compression-ratio", "", "lower"),
        ("blocks used per file (maximum)", None, "", "lower"),
        ("maximum negative directory entries allocated", None, "", "lower"),
    ],
)
def test_a_stressors_own_metrics(
    description: str, name: str | None, measure: str, better: str
) -> None:
    """Descriptions of 0.15.06 and newer; names as YAML has them, at most 39 characters."""
    output = "stress-ng: metrc: [1] miscellaneous metrics:\n"
    output += f"stress-ng: metrc: [1] it   8365.01 {description} (geometic mean of 1 instances)"
    if name is None:
        name = description.translate({ord(" "): "-", ord("("): None, ord(")"): None})
    found = read([Wanted.parse("stress-ng")], output)
    assert [(metric.name.lower(), *metric[1:3]) for metric in found] == [
        (f"it.{name[:39]}".lower(), measure, better)
    ]


def test_sysbench_of_a_database() -> None:
    # src/db_driver.c; none is needed to know what it prints.
    output = """
SQL statistics:
    queries performed:
        read:                            1400
        total:                           2000
    transactions:                        100    (9.98 per sec.)
    queries:                             2000   (199.62 per sec.)
    ignored errors:                      1      (0.10 per sec.)
    reconnects:                          0      (0.00 per sec.)
"""
    assert read([Wanted.parse("sysbench")], output) == {
        Metric("transactions", "transactions/s", "higher"): [9.98],
        Metric("queries", "queries/s", "higher"): [199.62],
        Metric("ignored_errors", "errors/s", "lower"): [0.1],
        Metric("reconnects", "reconnects/s", "lower"): [0],
    }


def test_will_it_scale_leaves_out_what_was_not_measured() -> None:
    columns = ("processes", "processes_idle", "threads", "threads_idle")
    names = {metric.name for metric in _read("will-it-scale.csv", "will-it-scale")}
    assert names == {f"{column}.{tasks}" for column in columns for tasks in (1, 2)}


def test_the_user_knows_best() -> None:
    (metric,) = _read("fio.txt", "n:IO/s:lower=fio:a.read.iops")
    assert metric == Metric("n", "IO/s", "lower")
    assert [metric.better for metric in _read("fio.txt", "fio:a.read.iops")] == ["higher"]


@pytest.mark.parametrize(
    ("sample", "old", "new", "wanted", "message"),
    [
        ("fio.txt", '"error" : 0', '"error" : 28', "fio", "job 'a' failed, with error 28"),
        (
            "libmicro.txt",
            " 0       20",
            " 3       20",
            "libmicro:getpid",
            "no value .* failed",
        ),
        ("will-it-scale.csv", "3174722", "-1", "will-it-scale:processes.2", "no value"),
        ("hyperfine.txt", "sleep 0.02", "sleep 0.01", "hyperfine:sleep 0.01", "finds .* twice"),
        ("google-benchmark.json", '/65536"', '/4096"', "google-benchmark:touch/4096", "twice"),
    ],
)
def test_failures_and_namesakes(sample: str, old: str, new: str, wanted: str, message: str) -> None:
    text = (SAMPLES / sample).read_text()
    read([Wanted.parse(wanted)], text)
    assert old in text
    with pytest.raises(InputError, match=message):
        read([Wanted.parse(wanted)], text.replace(old, new))


def test_jobs_and_reports_of_one_name_are_ambiguous() -> None:
    for sample, wanted in (
        ("fio.txt", "fio:a.read.iops"),
        ("sysbench-memory.txt", "sysbench:events"),
    ):
        text = (SAMPLES / sample).read_text()
        with pytest.raises(InputError, match="twice"):
            read([Wanted.parse(wanted)], text + text)


def test_benchmarks_run_twice_are_repetitions() -> None:
    text = (SAMPLES / "google-benchmark.txt").read_text()
    (values,) = read([Wanted.parse("google-benchmark:touch/4096")], text + text).values()
    assert values == [4076, 3471, 4226] * 2
