"""What the kernel counted by thread: the workload's part of it, whatever else stands there."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from profdiff.collectors.probe.entry import counted, threads

# As Documentation/trace/histogram.rst shows such files.
HIST = """# event histogram
#
# trigger info: hist:keys=common_pid,value:vals=hitcount:sort=hitcount:size=65536 [active]
#

%s
Totals:
    Hits: %d
    Entries: %d
    Dropped: %d
"""


def hist(
    rows: list[tuple[int, int, int]], dropped: int = 0, keys: tuple[str, str] | None = None
) -> bytes:
    first, second = keys or ("common_pid", "value")
    lines = "".join(
        f"{{ {first}: {one:10}, {second}: {other:20} }} hitcount: {calls:10}\n"
        for one, other, calls in rows
    )
    return (HIST % (lines, sum(row[2] for row in rows), len(rows), dropped)).encode()


def forks(pairs: list[tuple[int, int]]) -> bytes:
    return hist([(parent, child, 1) for parent, child in pairs], keys=("parent_pid", "child_pid"))


def test_only_the_workloads_threads_count() -> None:
    mine = threads(forks([(10, 11), (11, 12), (5, 6), (12, 13)]), 10)
    assert mine == {10, 11, 12, 13}
    text = hist([(11, 1, 400), (13, 1, 2), (6, 1, 1000), (12, 2**64 - 1, 3)], dropped=7)
    found = counted(text, mine)
    assert found.values == Counter({1: 402, -1: 3})
    assert found.dropped == 7


def test_threads_that_start_each_other_end() -> None:
    """Numbers of threads come again."""
    assert threads(forks([(10, 11), (11, 10)]), 10) == {10, 11}


@given(
    st.dictionaries(
        st.tuples(st.integers(1, 30), st.integers(-(2**63), 2**63 - 1)), st.integers(1, 10**9)
    ),
    st.sets(st.integers(1, 30)),
)
def test_what_is_written_is_read(rows: dict[tuple[int, int], int], mine: set[int]) -> None:
    text = hist([(thread, value % 2**64, calls) for (thread, value), calls in rows.items()])
    expected: Counter[int] = Counter()
    for (thread, value), calls in rows.items():
        if thread in mine:
            expected[value] += calls
    assert counted(text, mine).values == expected


@given(
    st.binary(max_size=300)
    | st.lists(
        st.sampled_from([b"{ common_pid:", b" 9", b", value:", b" }", b" hitcount: 1", b"\n"])
    ).map(b"".join)
)
def test_anything_may_be_in_the_file(data: bytes) -> None:
    assert sum(counted(data, {9, 99, 999}).values.values()) >= 0
    assert 9 in threads(data, 9)
