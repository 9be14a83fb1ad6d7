"""Real programs, and what they say of the same run in another form."""

import csv
import json
import math
import os
import statistics
import subprocess
from pathlib import Path

import pytest
from support import need_program

from profdiff.base.errors import InputError
from profdiff.base.metric import Metric
from profdiff.collectors.workload.metrics import Wanted, read

HERE = Path(__file__).resolve().parent


def _run(argv: list[str], folder: Path) -> tuple[str, str]:
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def _all(format_name: str, output: str) -> dict[str, tuple[Metric, list[float]]]:
    found = read([Wanted.parse(format_name)], output)
    return {metric.name: (metric, values) for metric, values in found.items()}


@pytest.fixture(scope="module")
def benchmarks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not Path("/usr/include/benchmark/benchmark.h").exists():
        pytest.skip("google/benchmark is not installed (apt-get install libbenchmark-dev)")
    program = tmp_path_factory.mktemp("benchmarks") / "benchmarks"
    source = HERE / "benchmarks.cc"
    argv = [need_program("g++"), "-O2", "-o", str(program), str(source)]
    _run([*argv, "-lbenchmark", "-lpthread"], program.parent)
    return program


def _as_console(time: float) -> str:
    """FormatTime() of google/benchmark's console_reporter.cc."""
    digits = 3 if time < 1 else 2 if time < 10 else 1 if time < 100 else 0
    return f"{time:.{digits}f}"


@pytest.mark.build
def test_google_benchmark_says_the_same_in_both_forms(benchmarks: Path) -> None:
    argv = [str(benchmarks), "--benchmark_min_time=0.01", "--benchmark_repetitions=3"]
    argv += ["--benchmark_filter=-fails", "--benchmark_out=both.json"]
    console = _all("google-benchmark", _run(argv, benchmarks.parent)[0])
    text = (benchmarks.parent / "both.json").read_text()
    exact = _all("google-benchmark", text)
    runs = [run for run in json.loads(text)["benchmarks"] if run["run_type"] == "iteration"]
    names = {run["name"] for run in runs}
    assert names == {"touch/4096", "touch/65536", "labelled", "threads/real_time/threads:2"}
    assert set(console) == names | {f"{name}.cpu_time" for name in names}
    for name, (metric, values) in console.items():
        assert exact[name][0] == metric
        assert len(values) == 3
        assert values == [float(_as_console(value)) for value in exact[name][1]]
    assert console["labelled"][0] == Metric("labelled", "us", "lower")
    rates = [run["bytes_per_second"] for run in runs if run["name"] == "touch/65536"]
    metric, values = exact["touch/65536.bytes_per_second"]
    assert (metric.unit, metric.better, values) == ("B/s", "higher", rates)
    assert exact["touch/65536.pages"][1] == [16, 16, 16]


@pytest.mark.build
def test_google_benchmark_of_aggregates_alone_has_no_metric(benchmarks: Path) -> None:
    argv = [str(benchmarks), "--benchmark_min_time=0.01", "--benchmark_repetitions=2"]
    argv += ["--benchmark_filter=touch", "--benchmark_report_aggregates_only"]
    for form in ("console", "json"):
        output = _run([*argv, f"--benchmark_format={form}"], benchmarks.parent)[0]
        assert "touch/4096_mean" in output
        with pytest.raises(InputError, match="no metric for google-benchmark"):
            _all("google-benchmark", output)


def test_fio_agrees_with_its_terse_form(tmp_path: Path) -> None:
    argv = [need_program("fio"), "--name=job", "--size=1M", "--rw=randrw", "--ioengine=psync"]
    output, _ = _run([*argv, "--output-format=json,terse", "--terse-version=3"], tmp_path)
    terse = next(line for line in output.splitlines() if line.startswith("3;")).split(";")
    found = _all("fio", output)
    # fio(1), "Terse output": 8 is read IOPS, 16 the mean completion latency in us; 41 fields later
    # the same of writes.
    for name, iops, latency in (("job.read", 7, 15), ("job.write", 48, 56)):
        assert math.floor(found[f"{name}.iops"][1][0]) == int(terse[iops])
        assert found[f"{name}.iops"][0].better == "higher"
        mean, values = found[f"{name}.clat_ns.mean"]
        assert (mean.unit, mean.better) == ("ns", "lower")
        assert values[0] / 1000 == pytest.approx(float(terse[latency]), abs=1e-5)
    assert not any(name.startswith("job.trim") for name in found)


def test_stress_ng_says_the_same_in_text_and_yaml(tmp_path: Path) -> None:
    stressors = {"fault": 1_000, "brk": 20_000, "switch": 20_000, "vm-splice": 20_000}
    # It ends when all have made their operations. By time alone, a stressor that a loaded machine
    # starts too late makes none, and has no metric of its own.
    argv = [need_program("stress-ng"), "-t", "60", "--metrics"]
    for stressor, ops in stressors.items():
        argv += [f"--{stressor}", "1", f"--{stressor}-ops", str(ops)]
    output = "\n".join(_run([*argv, "--yaml", "run.yaml"], tmp_path))
    text = _all("stress-ng", output)
    yaml = _all("stress-ng", (tmp_path / "run.yaml").read_text())
    assert text.keys() == yaml.keys()
    assert {"fault.bogo-ops-per-second-real-time", "brk.bogo-ops"} <= text.keys()
    assert "switch.nanosecs-per-context-switch-pipe-method" in text
    for name, (metric, values) in text.items():
        assert yaml[name][0] == metric
        # One instance: the means are the value itself; text has two decimals.
        assert values == pytest.approx(yaml[name][1], abs=0.00501)
    rate = yaml["fault.bogo-ops-per-second-real-time"]
    assert rate[0].better == "higher"
    ops, seconds = (yaml[f"fault.{name}"][1][0] for name in ("bogo-ops", "wall-clock-time"))
    assert rate[1][0] == pytest.approx(ops / seconds, rel=1e-3)
    assert yaml["fault.nanosecs-per-page-fault"][0].unit == "ns/page-fault"


def test_stress_ng_brief(tmp_path: Path) -> None:
    argv = [need_program("stress-ng"), "--brk", "1", "-t", "1", "--metrics-brief"]
    found = _all("stress-ng", "\n".join(_run(argv, tmp_path)))
    assert found["brk.bogo-ops"][1][0] > 0
    assert "brk.max-rss" not in found


@pytest.mark.parametrize("test", ["cpu", "memory", "threads"])
def test_sysbench_adds_up(test: str, tmp_path: Path) -> None:
    argv = [need_program("sysbench"), test, "--time=1", "--percentile=90"]
    found = _all("sysbench", _run([*argv, "run"], tmp_path)[0])
    seconds, events = found["total_time"][1][0], found["events"][1][0]
    assert events > 0
    assert found["latency_p90"][0] == Metric("latency_p90", "ms", "lower")
    assert found["latency_min"][1][0] <= found["latency_avg"][1][0] <= found["latency_max"][1][0]
    rate = {"cpu": "events_per_second", "memory": "operations"}.get(test)
    if rate:
        assert found[rate][0].better == "higher"
        assert found[rate][1][0] == pytest.approx(events / seconds, rel=0.05)


def test_hyperfine_agrees_with_its_csv(tmp_path: Path) -> None:
    argv = [need_program("hyperfine"), "-N", "-w", "0", "-r", "3", "--export-csv", "run.csv"]
    commands = ["sleep 0.01", "sleep 0.02"]
    output, _ = _run([*argv, "--export-json", "/dev/stdout", *commands], tmp_path)
    found = _all("hyperfine", output)
    rows = list(csv.DictReader((tmp_path / "run.csv").read_text().splitlines()))
    assert [row["command"] for row in rows] == commands
    for row in rows:
        metric, values = found[row["command"]]
        assert metric == Metric(row["command"], "s", "lower")
        assert len(values) == 3
        assert statistics.mean(values) == pytest.approx(float(row["mean"]))
        assert [min(values), max(values)] == pytest.approx([float(row["min"]), float(row["max"])])


def test_dd_by_a_pattern(tmp_path: Path) -> None:
    argv = [need_program("dd", "coreutils"), "if=/dev/zero", "of=/dev/null", "bs=1000", "count=7"]
    done = subprocess.run(
        argv, cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}
    )
    pattern = r"copied, *(?P<time>\S+) s, *(?P<megabytes_per_second>[\d.]+) .B/s"
    found = read([Wanted.parse("bytes:B=pattern:^(?P<n>\\d+) bytes")], done.stderr)
    assert found == {Metric("bytes", "B", "lower"): [7000]}
    both = read([Wanted.parse(f"pattern:{pattern}")], done.stderr)
    assert [(metric.name, metric.unit, metric.better) for metric in both] == [
        ("time", "", "lower"),
        ("megabytes_per_second", "megabytes/s", "higher"),
    ]
