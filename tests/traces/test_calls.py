"""What trace makes of ftrace's text and of what the kernel says of its buffers."""

from pathlib import Path

import pytest
from extent import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from profdiff.base.errors import SessionError
from profdiff.collectors.trace.calls import Calls, Histogram

NAMES = ["outer", "inner", "never"]
BUFFERS = b"entries: 29154\noverrun: 0\ncommit overrun: 0\nbytes: 1052128\ndropped events: %d\n"


def line(name: str, nanoseconds: int, *, nested: bool) -> str:
    """As the kernel prints it (trace_print_graph_duration())."""
    whole, part = divmod(nanoseconds, 1000)
    digits = f"{part:03}"[: max(7 - len(str(whole)), 0)]
    duration = f"{whole}.{digits} us" if digits else f"{whole} us"
    return f"  {duration:<11}|  " + (f"}} /* {name} */" if nested else f"{name}();")


times = st.lists(
    st.tuples(st.sampled_from(NAMES[:2]), st.integers(0, 9_999_999), st.booleans()), min_size=1
)


@given(times)
@settings(max_examples=examples(200), deadline=None)
def test_calls_are_those_of_the_text(wanted: list[tuple[str, int, bool]]) -> None:
    text = "\n".join(line(name, time, nested=nested) for name, time, nested in wanted)
    found = Calls(f"# tracer: function_graph\n{text}\n".encode(), b"", NAMES)
    for name in NAMES:
        mine = sorted(time for one, time, _ in wanted if one == name)
        assert sorted(found.durations.get(name, [])) == mine
        values = {one.name: one.values[0] for one in found.measured()}
        if not mine:
            assert f"{name}.calls" not in values
            continue
        assert values[f"{name}.calls"] == len(mine)
        assert values[f"{name}.average"] == pytest.approx(sum(mine) / len(mine))
        for percent in (50, 90, 99):
            # The nearest rank: the least time that so many per cent of the calls do not exceed.
            rank = -(-percent * len(mine) // 100)
            assert values[f"{name}.p{percent}"] == mine[rank - 1]


@given(times)
@settings(max_examples=examples(100), deadline=None)
def test_a_histogram_has_each_call_in_its_row(
    tmp_path_factory: pytest.TempPathFactory, wanted: list[tuple[str, int, bool]]
) -> None:
    text = "\n".join(line(name, time, nested=nested) for name, time, nested in wanted)
    file = tmp_path_factory.mktemp("histogram") / "histogram.json"
    file.write_bytes(Calls(text.encode(), b"", NAMES).histogram())
    for one in Histogram.load(file).functions:
        mine = [time for name, time, _ in wanted if name == one.name]
        assert sum(one.calls) == len(mine)
        for power, number in enumerate(one.calls):
            low = 0 if power == 0 else 2**power
            assert number == sum(low <= time < 2 ** (power + 1) for time in mine)


def test_lost_calls_leave_times_and_no_number() -> None:
    text = line("outer", 1500, nested=False).encode()
    found = Calls(text, BUFFERS % 3 + BUFFERS % 0, NAMES)
    assert (found.kept, found.lost, found.part) == (1, 3, 0.25)
    assert [(one.name, one.counted_part) for one in found.measured()] == [
        (f"outer.{what}", 0.25) for what in ("average", "p50", "p90", "p99")
    ]
    assert Calls(text, BUFFERS % 0, NAMES).part == 1


@given(st.binary(max_size=300), st.binary(max_size=100))
@settings(max_examples=examples(200), deadline=None)
def test_anything_may_come_from_a_guest(text: bytes, buffers: bytes) -> None:
    found = Calls(text + b" 1.000 us |  inner();\n" + text, buffers, NAMES)
    assert found.kept >= 0
    assert len(found.measured()) in (0, 4, 5, 8, 9, 10)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b'{"schema":"profdiff.trace/2","functions":[],"part":1}',
        b'{"schema":"profdiff.trace/1","functions":[{"name":"x","calls":[-1]}],"part":1}',
        b'{"schema":"profdiff.trace/1","functions":[{"name":"x","calls":%s}],"part":1}'
        % str([0] * 65).encode(),
        b'{"schema":"profdiff.trace/1","functions":[],"part":1}' + b" " * (1 << 20),
    ],
)
def test_a_damaged_histogram_is_refused(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "histogram.json"
    file.write_bytes(content)
    with pytest.raises(SessionError, match=r"histogram\.json"):
        Histogram.load(file)
