"""Tables have the numbers of the report, and dataframes read them as they are."""

import subprocess
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import pytest
from extent import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from support import IMPORTED, error_line, profdiff

import profdiff as package
from profdiff.views.record import Record


def test_results_are_those_of_the_report(session: package.Session) -> None:
    rows = iter(session.results())
    for result in sorted(session.document().experiment.results, key=lambda one: one.collector):
        for told in result.kernels:
            row = next(rows)
            assert (row.metric, row.collector, row.kernel) == (
                result.metric,
                result.collector,
                told.label,
            )
            assert (row.parameters, row.vcpus) == (result.parameters, result.cpus)
            value = median(map(median, told.boots))
            assert (row.per_op if result.per_op else row.value) == pytest.approx(value, rel=1e-12)
            assert (row.boots, row.failed) == (len(told.boots), told.failed)
            change = told.change
            if change is None:
                assert (row.change, row.ratio, row.verdict, row.states) == (None,) * 4
            else:
                assert [row.change, row.low, row.high] == change.median
                assert (row.verdict, row.quality) == (change.verdict, change.quality)
                assert row.ratio == pytest.approx(1 + (row.change or 0))
    assert next(rows, None) is None
    assert session.results().columns()["parameters.size_kib"][-1] == "40"


@pytest.mark.parametrize("metric", ["exact:instructions", "perf:cpu-clock"])
def test_functions_and_addresses_sum_to_the_report(session: package.Session, metric: str) -> None:
    document = session.document()
    (told,) = (one for one in document.metrics if f"{one.collector}:{one.metric}" == metric)
    rows = session.functions(metric)
    totals = Counter[str]()
    for row in rows:
        totals[row.kernel] += row.self
        assert (row.function is None) == (row.reason is not None)
        assert (row.delta is None) == (row.kernel == document.base)
    assert totals == told.totals
    of = {(row.function, row.object, row.file, row.side, row.kernel): row for row in rows}
    for one in told.functions:
        for label in told.totals:
            row = of[one.name, one.object, one.file, one.side, label]
            assert (row.self, row.total) == (one.self[label], one.total[label])
            assert (row.line or 0) == one.line[label]
            assert row.samples == (one.samples and one.samples[label])
    by_function = Counter[tuple[str | None, str | None, str]]()
    for address in session.addresses(metric):
        by_function[address.function, address.reason, address.kernel] += address.count
        assert address.side == ("kernel" if address.address >> 63 else "user")
        assert (address.samples is None) == (metric == "exact:instructions")
    expected = Counter[tuple[str | None, str | None, str]]()
    for row in rows:
        expected[row.function, row.reason, row.kernel] += row.self
    assert by_function == +expected


def test_calls(session: package.Session) -> None:
    counted = {(one.function, one.file, one.kernel): one for one in session.functions()}
    rows = session.calls()
    assert len(rows) > 50
    for row in rows:
        function = counted[row.function, row.file, row.kernel]
        assert row.calls == function.calls
        assert row.self is None or row.self + row.no_call == function.self
    called = {key for key, one in counted.items() if one.calls}
    assert called <= {(row.function, row.file, row.kernel) for row in rows}


def test_another_setting(session: package.Session) -> None:
    assert (session.setting, session.ops) == ("size_kib=40", 2000)
    other = session.at("size_kib=4")
    assert (other.setting, other.folder) == ("size_kib=4", session.folder)
    by_setting = {
        row.parameters["size_kib"]: row.value
        for row in session.results()
        if row.metric == "instructions" and row.kernel == "new"
    }
    for one in (session, other):
        total = sum(row.self for row in one.functions() if row.kernel == "new")
        assert total == by_setting[one.setting.partition("=")[2]]
    judged = session.at("size_kib=40").check("instructions > +20%", kernels=["new"])
    assert [(row.at, row.outcome) for row in judged] == [("size_kib 40", "holds")]
    assert [row.outcome for row in session.check("instructions > +20%")] == [
        "does not hold",
        "holds",
    ]


def test_an_error_is_the_line_that_is_printed(session: package.Session, folder: Path) -> None:
    with pytest.raises(package.ProfdiffError) as error:
        session.topic("events")
    assert error_line(profdiff("report", folder, "--events", status=2)) == str(error.value)
    with pytest.raises(package.ProfdiffError, match="--metric x: the session has exact:instr"):
        session.functions("x")
    with pytest.raises(package.ProfdiffError, match="is not a session"):
        package.open(folder.parent)


def test_what_folded_stacks_do_not_say_is_not_known(tmp_path: Path) -> None:
    for label, count in (("a", 5), ("b", 7)):
        (tmp_path / label).write_text(f"main;[kernel] mas_walk {count}\nmain 2\n")
    profdiff("import", f"a={tmp_path / 'a'}", f"b={tmp_path / 'b'}", "-o", tmp_path / "s.profdiff")
    session = package.open(tmp_path / "s.profdiff")
    assert isinstance(session, package.Session)
    rows = session.functions()
    assert {(row.function, row.kernel): row.self for row in rows if row.self} == {
        ("main", "a"): 2,
        ("main", "b"): 2,
        ("[kernel] mas_walk", "a"): 5,
        ("[kernel] mas_walk", "b"): 7,
    }
    assert {(row.samples, row.calls, row.line) for row in rows} == {(None, None, None)}
    for table, why in (
        (session.addresses, "its functions came as names"),
        (session.calls, "calls were not counted"),
        (partial(session.topic, "events"), "events are known only of exact counts"),
    ):
        with pytest.raises(package.ProfdiffError, match=why):
            table()


class Sample(Record, frozen=True):
    """A field of each type that columns have."""

    whole: int
    some: int | None
    place: Annotated[int, "uint64"]
    part: float | None
    flag: bool | None
    text: str | None
    named: dict[str, str]


_INT = st.integers(-(2**63), 2**63 - 1)
_NAMED = st.fixed_dictionaries({"a": st.text(), "é": st.text()})
SAMPLES = st.builds(
    Sample,
    whole=_INT,
    some=st.none() | _INT,
    place=st.integers(0, 2**64 - 1),
    part=st.none() | st.floats(allow_nan=False),
    flag=st.none() | st.booleans(),
    text=st.none() | st.text(),
    named=_NAMED,
)
TYPES = ["int64", "int64", "uint64", "double", "bool", "large_string", "large_string"]


@settings(max_examples=examples(200))
@given(st.lists(SAMPLES, min_size=1, max_size=20))
def test_arrow_and_polars_read_what_columns_have(rows: list[Sample]) -> None:
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    polars = pytest.importorskip("polars", reason="polars is not installed")
    table = package.Table(Sample, rows)
    read = arrow.table(table)
    read.validate(full=True)
    assert [str(one) for one in read.schema.types] == [*TYPES, TYPES[-1]]
    assert read.to_pydict() == table.columns()
    assert polars.DataFrame(table).to_dict(as_series=False) == table.columns()


def test_rows() -> None:
    one = {"some": None, "place": 1, "part": None, "flag": None, "text": None, "named": {}}
    table = package.Table(Sample, (Sample(whole=number, **one) for number in range(5)))
    assert (len(table), table[-1].whole, [row.whole for row in table[1:3]]) == (5, 4, [1, 2])
    assert repr(table) == "<Table of 5 rows: whole, some, place, part, flag, text>"


KEPT = """
import sys, threading
import pandas, polars, pyarrow, profdiff
readers = (pandas.DataFrame.from_arrow, polars.DataFrame, pyarrow.table)
def read():
    table = profdiff.open(sys.argv[1]).addresses()
    kept.extend(reader(table) for reader in readers * 2)
kept = []
threads = [threading.Thread(target=read) for _ in range(4)]
for one in threads:
    one.start()
for one in threads:
    one.join()
del kept[::2]
print(len(kept), {frame.shape for frame in kept})
"""


@pytest.mark.slow
def test_columns_outlive_their_table(folder: Path, session: package.Session) -> None:
    """Also in threads, and until after the interpreter has ended."""
    for name in ("pandas", "polars", "pyarrow"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    command: list[Any] = [sys.executable, "-c", KEPT, folder]
    told = subprocess.run(
        command, cwd=IMPORTED, capture_output=True, text=True, check=False, timeout=120
    )
    rows = session.addresses()
    shape = (len(rows), len(rows.columns()))
    assert (told.returncode, told.stdout, told.stderr) == (0, f"12 {{{shape}}}\n", "")
