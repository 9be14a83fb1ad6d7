"""What reading any output promises: laws, errors that say what to do, and bounds."""

import json
import math
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profdiff.base.errors import InputError
from profdiff.base.metric import Metric
from profdiff.collectors.workload.metrics import FORMATS, MAX_OUTPUT, Wanted, read
from profdiff.collectors.workload.metrics.reading import number
from profdiff.collectors.workload.printed_unit import unit, unit_of_name, usual_better

SAMPLES = Path(__file__).resolve().parent / "samples"
OUTPUT = """\
warming up
ns_per_page: 12.5 nsec
  pages touched : 1,234,567
400 KiB: 8.1e3 ns per call
throughput: 12 MiB/sec
broken: nan ns
info: informative, not a number
time: 12:30
version: 1.2.3
elapsed: 3 s
twice: 1 s
twice: 2 s
"""


def _read(output: str, *wanted: str) -> dict[Metric, list[float]]:
    return read([Wanted.parse(text) for text in wanted], output)


@pytest.mark.parametrize(
    ("wanted", "metric", "value"),
    [
        ("values:ns_per_page", Metric("ns_per_page", "ns", "lower"), 12.5),
        ("values:pages touched", Metric("pages touched", "", "lower"), 1234567),
        ("values:400 KiB", Metric("400 KiB", "ns/call", "lower"), 8100),
        ("values:throughput", Metric("throughput", "MiB/s", "higher"), 12),
        ("t:B/s:lower=values:throughput", Metric("t", "B/s", "lower"), 12),
        ("pages::higher=values:pages touched", Metric("pages", "", "higher"), 1234567),
        (r"pattern:nothing|(?P<n_per_sec>\S+) MiB", Metric("n_per_sec", "n/s", "higher"), 12),
    ],
)
def test_a_value(wanted: str, metric: Metric, value: float) -> None:
    assert _read(OUTPUT, wanted) == {metric: [value]}


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (["values:ns_per_pag"], "no 'ns_per_pag': did you mean 'ns_per_page'?"),
        (["values:zzz"], "it has 'ns_per_page', 'pages touched', '400 KiB', .* and 1 more"),
        (["values:time"], "no 'time'"),
        (["values:info"], "no 'info'"),
        (["values:version"], "no 'version'"),
        (["values:twice"], "finds 'twice' twice"),
        (["values"], "finds 'twice' twice"),
        (["values:broken"], "'broken' is not a finite number"),
        (["x=values:400 KiB", "x=values:throughput"], "two metrics are called 'x'"),
        (["values:throughput", r"throughput=pattern:(?P<x>\d+) MiB"], "two metrics are called"),
        (["pattern:never (?P<x>.)"], "has no metric for pattern"),
        ([r"pattern:twice: (?P<x>\d)"], "pattern finds 'x' twice"),
        ([r"pattern:twice: 1 (?P<x>\S)"], "group 'x' matched 's', which is not a number"),
        (["fio"], "no JSON of fio --output-format=json"),
        (["google-benchmark"], "has no metric for google-benchmark"),
    ],
)
def test_errors_say_what_to_do(wanted: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        _read(OUTPUT, *wanted)


def test_order_is_that_of_what_is_wanted() -> None:
    found = _read(OUTPUT, "values:throughput", "values:400 KiB", r"pattern:(?P<x>\S+) nsec")
    assert [metric.name for metric in found] == ["throughput", "400 KiB", "x"]


def test_colours_are_no_part_of_an_output() -> None:
    assert _read("\x1b[0;32mx:\x1b[m 5 s\r\n", "values:x") == {Metric("x", "s", "lower"): [5]}


def test_names_from_an_output_cannot_reach_the_terminal_as_they_are() -> None:
    with pytest.raises(InputError) as raised:
        _read("\x1b]0;title\x07\u202ex: 5 s\n", "values:y")
    assert str(raised.value).isprintable()


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from("efgr"))
def test_numbers_as_c_and_python_print_them(value: float, form: str) -> None:
    text = repr(value) if form == "r" else f"%{form}" % value
    assert number(text) == float(text)
    assert number(f"{value:,.3f}") == float(f"{value:.3f}")


@pytest.mark.parametrize("text", ["", "1,23", "1,2345", "1_0", "0x10", "１", "1.2.3", "--1", "e5"])
def test_no_numbers(text: str) -> None:
    assert number(text) is None


def test_numbers_that_are_not_finite() -> None:
    assert [number("inf"), number("-Infinity"), number("1e999")] == [math.inf, -math.inf, math.inf]
    assert math.isnan(number("-nan") or 0)


_NAMES = st.text("abc :=/-_.1", min_size=1, max_size=15).map(str.strip)
_NAMES = _NAMES.filter(lambda name: name and not re.search(r":\s", name + " "))


@given(
    st.dictionaries(
        _NAMES,
        st.tuples(st.integers(-(10**15), 10**15), st.sampled_from(["", "ns", "KiB/s", "%"])),
        min_size=1,
    )
)
def test_named_values_are_read_back(values: dict[str, tuple[int, str]]) -> None:
    lines = [f"{name}: {value:,} {unit}".strip() for name, (value, unit) in values.items()]
    found = _read("\n".join(lines), "values")
    read_back = {metric.name: (got[0], metric.unit) for metric, got in found.items()}
    assert read_back == {
        name: (value, unit or unit_of_name(name)) for name, (value, unit) in values.items()
    }


@pytest.mark.parametrize(
    ("text", "short", "better"),
    [
        ("nsec/call", "ns/call", "lower"),
        ("microseconds per page", "us/page", "lower"),
        ("µs", "us", "lower"),
        ("MiB/sec", "MiB/s", "higher"),
        ("requests per second", "requests/s", "higher"),
        ("KIOPS", "KIOPS", "higher"),
        ("Mbps", "Mbps", "higher"),
        ("steps", "steps", "lower"),
        ("s/op", "s/op", "lower"),
        ("faults", "faults", "lower"),
        ("", "", "lower"),
    ],
)
def test_units(text: str, short: str, better: str) -> None:
    assert (unit(text), usual_better(text)) == (short, better)


_FORMATS = [f"pattern:(?P<x>{chr(92)}S+)" if name == "pattern" else name for name in FORMATS]
_LINES = sorted({line for path in SAMPLES.iterdir() for line in path.read_text().splitlines()})
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                (
                    *("name", "run_type", "real_time", "time_unit", "jobname", "read", "clat_ns"),
                    *("N", "total_ios", "percentile", "error", "command", "times", "user"),
                )
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(
    st.sampled_from(_FORMATS),
    st.lists(st.one_of(st.sampled_from(_LINES), st.text(max_size=30)), max_size=30),
)
def test_any_output_is_read_or_refused(wanted: str, lines: list[str]) -> None:
    _check("\n".join(lines), wanted)


@given(
    st.sampled_from(
        [("google-benchmark", "benchmarks"), ("fio", "jobs"), ("hyperfine", "results")]
    ),
    st.lists(_JSON, max_size=3),
)
def test_any_json_is_read_or_refused(form: tuple[str, str], records: list[object]) -> None:
    wanted, member = form
    _check(f"noise {{\n{json.dumps({member: records}, indent=1)}\n}}", wanted)


def _check(output: str, wanted: str) -> None:
    try:
        found = _read(output, wanted)
    except InputError as error:
        assert str(error).isprintable()
    else:
        assert found
        assert all(math.isfinite(value) for values in found.values() for value in values)


@pytest.mark.slow
@pytest.mark.parametrize("wanted", _FORMATS)
@pytest.mark.parametrize(
    "output",
    [
        "\n" * 10**6,
        "x" + " " * 10**6,
        ("x" + " " * 900 + "\n") * 1000,
        "Benchmark      Time     CPU\n" + ("a " * 450 + "\n") * 1000,
        ("x: " * 300 + "\n") * 1000,
        ("1," * 450 + "\n") * 1000,
        '{"a":' * 10**5,
        '{"a":\n' * 10**6,
        '{"jobs": [' * 10**5,
        "metrics:\n" + "    - stressor: x\n" * 10**5,
        "\0" * 10**6,
    ],
    ids=lambda text: repr(text[:12]),
)
def test_hostile_output_takes_no_time(wanted: str, output: str) -> None:
    start = time.process_time()
    _check(output, wanted)
    # The slowest took 0.4 s when this was written.
    assert time.process_time() - start < 5


def test_an_output_has_a_bound() -> None:
    with pytest.raises(InputError, match="printed more than 16,777,216 characters"):
        _read("x" * (MAX_OUTPUT + 1), "values")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mincore_ns_per_1k_pages", "ns/1k_pages"),
        ("nsec_per_call", "ns/call"),
        ("latency_usec", "us"),
        ("total time (ms)", ""),
        ("mean latency ns", "ns"),
        ("events_per_second", "events/s"),
        ("runs", ""),
        ("threads_s", ""),
        ("touch_third_to_second", ""),
        ("ns", "ns"),
        ("ratio", ""),
    ],
)
def test_a_name_can_say_its_unit(name: str, expected: str) -> None:
    """The published mincore() reproducer prints ``mincore_ns_per_1k_pages=16875.106``."""
    assert unit_of_name(name) == expected
    ((metric, values),) = _read(f"{name}: 5", f"values:{name}").items()
    assert (metric.name, metric.unit, values) == (name, expected, [5])
