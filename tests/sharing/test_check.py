"""``profdiff check`` on lines that change hands."""

import json
from pathlib import Path

import made_sharing as made
import pytest
from made_accesses import LOAD, STORE, Layout, Site
from made_sharing import OPS, MadeLine, On
from support import error_line, profdiff
from synthetic_session import exact_session
from tables import rows, tables

import profdiff as profdiff_package

BOTH = frozenset({LOAD, STORE})
HEAP = 0xFFFF_8880_0100_0000
LAYOUTS: dict[str, Layout] = {
    "file": (184, {"f_count.counter": (0, 8), "f_mode": (12, 4), "f_pos": (64, 8)}),
}
COUNT = Site("f_count.counter", 1, "fget", does=BOTH, type="file", nested=["atomic64_t:counter"])
POSITION = Site("f_pos", 1, "vfs_read", does=BOTH, type="file", offset=64)


def line(site: Site, transfers: int, *, misses: int = 0, user: bool = False) -> MadeLine:
    """A line that both vCPUs write."""
    on = [On(site, vcpu, 0, store=True, misses=misses // 2) for vcpu in (0, 1)]
    where = 0x7F00_0000_0000 if user else HEAP
    return MadeLine(where, on, transfers, 0, misses, 0, user=user)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One more transfer of the counter on the new kernel, and recycled lines."""
    folder = tmp_path_factory.mktemp("check") / "made.profdiff"
    unnamed = Site("", 1, "free", does=BOTH).hidden()
    summed = line(unnamed, 10)._replace(lines=100)
    base = [line(COUNT, OPS, misses=2 * OPS), line(POSITION, OPS // 5), summed]
    new = [line(COUNT, 2 * OPS, misses=2 * OPS), line(POSITION, OPS // 10), summed]
    new.append(line(unnamed, OPS, user=True))
    made.session(folder, {"base": [base], "new": [new]}, LAYOUTS)
    return folder


@pytest.mark.parametrize(
    ("condition", "status", "due"),
    [
        ("transfers > +0", 1, "new: +146.15%, 130 to 320"),
        ("transfers > +2/op", 0, "1.30 to 3.20 per op"),
        ("transfers:file.f_count > +0", 1, "new: +100.00%, 100 to 200"),
        ("transfers:file.f_count > +1/op", 0, "1 to 2 per op"),
        ("transfers:file.f_count.counter > +0", 1, "100 to 200"),
        ("misses:file.f_count > +0", 0, "200 to 200"),
        ("transfers:file.f_mode > +0", 0, "0 to 0"),
        ("transfers:file > +0", 1, "120 to 210"),
        ("transfers:user > +0", 1, "0 to 100"),
        ("transfers:file.f_pos > +0", 125, "recycled, so transfers depend on the schedule"),
        ("transfers:file.f_cound > +0", 125, "no kernel is known to have file.f_cound; did you"),
        ("transfers:mm_struct > +0", 125, "no kernel is known to have mm_struct"),
        ("sharing-lines.transfers > +189", 1, "130 to 320"),
        ("sharing-lines.transfers > +1.91/op", 0, "1.30 to 3.20 per op"),
        ('sharing-transfers:"user memory" > +99', 125, "0 to 100; too few runs to tell"),
    ],
)
def test_conditions(recorded: Path, condition: str, status: int, due: str) -> None:
    said = profdiff("check", recorded, "--fail-if", condition, status=status).stdout
    assert due in said


@pytest.mark.parametrize(
    ("condition", "due"),
    [
        ("transfers:total:fget > +0", "write transfers:fget"),
        ("misses changed", "write it like 'misses:total > +0'"),
    ],
)
def test_what_cannot_be_judged(recorded: Path, condition: str, due: str) -> None:
    assert due in error_line(profdiff("check", recorded, "--fail-if", condition, status=2))


def test_without_such_runs_it_says_what_to_record(tmp_path: Path) -> None:
    exact_session(tmp_path / "exact.profdiff")
    for condition in ("transfers > +0", "misses:file.f_count > +0"):
        folder = tmp_path / "exact.profdiff"
        said = error_line(profdiff("check", folder, "--fail-if", condition, status=2))
        assert said.endswith("recorded shared lines: record with --collector sharing --cpus 2")


def test_programs_read_the_tables_of_the_report(recorded: Path) -> None:
    session = profdiff_package.open(recorded)
    assert isinstance(session, profdiff_package.Session)
    document = json.loads(profdiff("report", recorded, "sharing", "--json", "-").stdout)
    expected = {table["name"]: table for table in tables(document, "sharing")}
    found = session.topic("sharing")
    assert [*found] == [*expected]
    for name, table in found.items():
        columns = expected[name]["columns"]
        labels = expected[name]["kernels"] if any(one["kernel"] for one in columns) else [None]
        of_rows = rows(expected[name])
        assert len(table) == len(labels) * len(of_rows)
        for column, values in table.columns().items():
            for number, value in enumerate(values):
                cell = of_rows[number // len(labels)].get(column, labels[number % len(labels)])
                if isinstance(cell, dict):
                    cell = cell.get(labels[number % len(labels)])
                if isinstance(cell, list):
                    cell = " ".join(map(str, cell))
                assert value == cell, (name, column)
    polars = pytest.importorskip("polars", reason="polars is not installed")
    for table in found.values():
        assert polars.DataFrame(table).to_dict(as_series=False) == table.columns()
    with pytest.raises(profdiff_package.ProfdiffError, match="layout: name one of fits, "):
        session.topic("layout")
