"""What the statistics state holds over thousands of synthetic experiments whose truth is known, and
docs/statistics.md says what was measured. The usual run tries a quarter of those
without a difference. ``pytest -s`` prints the tables."""

import importlib.util
import re
import sys
from itertools import pairwise
from types import ModuleType

import numpy as np
import pytest
from extent import is_nightly
from support import ROOT

from profdiff.evidence.statistics import smallest_p

ALPHA = 0.05
DOCUMENT = (ROOT / "docs/statistics.md").read_text()


def _calibration() -> ModuleType:
    spec = importlib.util.spec_from_file_location("calibration", ROOT / "benches/calibration.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["calibration"] = module
    spec.loader.exec_module(module)
    return module


calibration = _calibration()
# Each table, and how many experiments are behind one of its figures.
TABLES = {
    "null": (calibration.null_table, 10_000),
    "verdict": (calibration.verdict_table, 2_500),
    "power": (calibration.power_table, 500),
    "two levels": (calibration.two_level_table, 1_000),
    "discoveries": (calibration.discovery_table, 200),
}


class Measured:
    """A table's rows: labels by the leading columns, and its figures as fractions."""

    def __init__(self, name: str) -> None:
        compute, experiments = TABLES[name]
        # The dearest one. How far chance leads is of as many experiments as there are.
        part = 4 if name == "null" and not is_nightly() else 1
        self.experiments = experiments // part
        self.table = compute(self.experiments)
        print(*map(" | ".join, self.table), sep="\n")
        self.header, self.rows = self.table[0], self.table[1:]

    def column(self, name: str) -> dict[tuple[str, ...], float]:
        at = self.header.index(name)
        first = next(i for i, cell in enumerate(self.rows[0]) if fraction(cell) is not None)
        return {row[:first]: fraction(row[at]) or 0.0 for row in self.rows}

    def chance(self, part: float) -> float:
        """Three binomial standard errors of a part that is so in truth."""
        return float(3 * np.sqrt(part * (1 - part) / self.experiments))


def fraction(cell: str) -> float | None:
    found = re.fullmatch(r"([\d.]+)%", cell)
    return float(found[1]) / 100 if found else None


@pytest.fixture(scope="module")
def measured() -> dict[str, Measured]:
    return {name: Measured(name) for name in TABLES}


def unequal(label: tuple[str, ...]) -> bool:
    return "CV" in label[0]


@pytest.mark.slow
def test_false_alarms_stay_at_the_stated_rate(measured: dict[str, Measured]) -> None:
    null = measured["null"]
    most = ALPHA + null.chance(ALPHA)
    assert {label[0] for label in null.column("changed")} >= {"normal", "skewed", "bimodal"}
    assert all(part <= most for part in null.column("changed").values())
    for test in ("Mann-Whitney", "Welch"):
        for label, part in null.column(test).items():
            # Where the sides scatter differently the document allows Mann-Whitney 7%.
            assert part <= (0.07 if unequal(label) else most), (test, label)


@pytest.mark.slow
def test_intervals_hold_the_truth(measured: dict[str, Measured]) -> None:
    null = measured["null"]
    least = 0.95 - null.chance(0.95)
    assert all(part >= least for part in null.column("median in").values())
    for label, part in null.column("mean in").items():
        assert part >= (0.92 if unequal(label) else least), label


@pytest.mark.slow
def test_what_changed_is_not_called_unchanged(measured: dict[str, Measured]) -> None:
    verdicts = measured["verdict"]
    at_the_bound, beyond = (verdicts.column(f"+{by}%: *unchanged*") for by in (1, 2))
    for label in beyond:
        assert at_the_bound[label] <= 0.025 + verdicts.chance(0.025)
        assert beyond[label] <= 0.001
    assert all(part > 0.9 for part in verdicts.column("+2%: *changed*").values())
    # And what is equal may be called so, given boots enough.
    assert verdicts.column("+0%: *unchanged*")["normal", "9, 9"] > 0.5


@pytest.mark.slow
def test_power_grows_with_the_change_and_the_boots(measured: dict[str, Measured]) -> None:
    power = measured["power"]
    slack = power.chance(0.5)
    changes = [power.column(name) for name in power.header[2:]]
    for smaller, larger in pairwise(changes):
        assert all(larger[label] >= smaller[label] - slack for label in smaller)
    for noise in ("normal", "skewed", "bimodal"):
        assert changes[0][noise, "9, 9"] <= ALPHA
        assert changes[2][noise, "9, 9"] > changes[2][noise, "5, 5"]
        assert changes[4][noise, "5, 5"] > 0.9


@pytest.mark.slow
def test_boots_are_what_is_repeated(measured: dict[str, Measured]) -> None:
    levels = measured["two levels"]
    for name, least, most in (
        ("Mann-Whitney", 0.0, ALPHA + levels.chance(ALPHA)),
        ("median in", 0.95 - levels.chance(0.95), 1.0),
        # Runs taken for boots raise several times too many alarms.
        ("all runs pooled", 2 * ALPHA, 1.0),
    ):
        assert all(least <= part <= most for part in levels.column(name).values()), name


@pytest.mark.slow
def test_false_discoveries_stay_at_the_stated_rate(measured: dict[str, Measured]) -> None:
    tables = measured["discoveries"]
    for name in ("false", "wrong *changed*"):
        most = ALPHA + tables.chance(ALPHA)
        assert all(part <= most for part in tables.column(name).values())
    found, unadjusted = tables.column("found"), tables.column("unadjusted")
    assert unadjusted["20", "9, 9"] > 0.2
    assert found["20", "9, 9"] > 0.95
    # 200 x 0.0079 / 20 is more than 0.05: no data can tell.
    assert found["20", "5, 5"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_the_document_says_what_was_measured(name: str, measured: dict[str, Measured]) -> None:
    """Within what another random generator or library version would give."""
    own = measured[name]
    told = documented(own.header)
    assert [row[:2] for row in told] == [row[:2] for row in own.rows]
    for row, other in zip(told, own.rows, strict=True):
        for cell, expected in zip(row, other, strict=True):
            part, now = fraction(cell), fraction(expected)
            if part is None or now is None:
                assert cell == expected
                continue
            scatter = own.chance(max(now, 1 / own.experiments)) * np.sqrt(2)
            assert abs(part - now) <= scatter + 0.001, (row, other)


def test_the_document_says_which_p_can_be_reached() -> None:
    boots = range(2, 11)
    (title, *told), (_, *functions) = documented(("boots on each side", *map(str, boots)))
    assert title == "smallest p"
    for count, p, most in zip(boots, told, functions, strict=True):
        exact = smallest_p(count, count)
        assert p == f"{exact:.2g}"
        assert most == (f"{int(ALPHA / exact):,}" if exact <= ALPHA else "-")


def documented(header: tuple[str, ...]) -> list[tuple[str, ...]]:
    lines = DOCUMENT.splitlines()
    start = lines.index(f"| {' | '.join(header)} |")
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("| "):
            break
        rows.append(tuple(line.removeprefix("| ").removesuffix(" |").split(" | ")))
    return rows
