"""The experiment as CSV, and changes as ratios."""

import csv
import io

import pytest
from synthetic import compare, example, findings
from synthetic_experiment import ICOUNT, boots, recorded

from profdiff.base import units
from profdiff.evidence.results import Results
from profdiff.reports.csv import experiment
from profdiff.reports.text import session
from profdiff.session.manifest import Point
from profdiff.session.points import settings
from profdiff.topics.functions.selection import Selection

SIZES = [Point({"size": "4"}, 1), Point({"size": "400"}, 1)]


def rows(results: Results) -> list[dict[str, str]]:
    """Each with the names of its columns."""
    return list(csv.DictReader(io.StringIO(experiment(results))))


def test_a_row_for_each_point_and_kernel() -> None:
    values = {"base": [boots(100), boots(200)], "new": [boots(150), boots(500)]}
    found = rows(Results.gather(recorded(values, points=SIZES)))
    places = [(row["metric"], row["kernel"], row["size"]) for row in found]
    assert places == [("latency", label, size) for size in ("4", "400") for label in values]
    base, new, _, last = found
    assert (base["verdict"], base["ratio"], base["low"]) == ("", "", "")
    assert (new["verdict"], new["unit"], new["per_op"]) == ("changed", "ns", "")
    assert float(new["value"]) == pytest.approx(150, rel=0.02)
    assert float(new["ratio"]) == pytest.approx(float(new["value"]) / float(base["value"]))
    assert float(new["change"]) == pytest.approx(float(new["ratio"]) - 1)
    assert float(new["low"]) <= float(new["change"]) <= float(new["high"])
    assert float(last["ratio"]) == pytest.approx(2.5, rel=0.02)
    assert 0 < float(base["spread"]) < 0.1
    assert (base["boots"], base["failed"], base["collector"]) == ("9", "0", "timed")


def test_counts_are_whole_and_per_op() -> None:
    points = [Point(cpus=1, ops=3)]
    exact = {"base": [[[7_000_000_001.0]]], "new": [[[7_000_000_003.0]]]}
    described = recorded(
        exact,
        collector="exact",
        qemu=ICOUNT,
        is_total=True,
        points=points,
        name="instructions",
        unit="instructions",
    )
    base, new = rows(Results.gather(described))
    assert (base["value"], new["value"]) == ("7000000001", "7000000003")
    assert float(new["per_op"]) == pytest.approx(7_000_000_003 / 3, rel=1e-14)
    assert new["verdict"] == "exact"


def test_the_guests_clock_and_formulas() -> None:
    described = recorded({"base": [[[5.0]]], "new": [[[6.0]]]}, qemu=ICOUNT, name="=1+1")
    found = experiment(Results.gather(described))
    assert "instructions (guest clock)" in found
    assert "\n'=1+1,base,5," in found
    assert ",ns," not in found


def test_ratios() -> None:
    values = {"base": [[[100.0]], [[0.0]]], "new": [[[167.0]], [[5.0]]]}
    described = recorded(values, points=SIZES, qemu=ICOUNT)
    results = Results.gather(described)
    shown = "\n".join(session.experiment_tables(results, settings(described)[0], 100, ratios=True))
    title, header, first, second = shown.splitlines()[:4]
    # Said once where it is said of all.
    assert title.endswith("; every change is exact")
    assert header.split() == ["size", "base", "new", "ratio"]
    assert first.split()[3] == "1.67x"
    assert second.split()[3] == "new"
    functions = session.render(findings([compare(example())]), Selection(), width=100, ratios=True)
    assert "ratio and delta are relative to base" in functions
    assert "x  " in functions
    assert "vanished" not in functions


@pytest.mark.parametrize(
    ("base", "other", "said"),
    [
        (0, 0, "1.00x"),
        (0, 5, "new"),
        (5, 0, "0.00x"),
        (3, 5, "1.67x"),
        (-2, 5, "-"),
        (1, 12_345, "12,345.0x"),
    ],
)
def test_a_ratio(base: int, other: int, said: str) -> None:
    assert units.ratio(base, other) == said
