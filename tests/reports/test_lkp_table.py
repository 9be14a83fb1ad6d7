"""The 0-day robot's layout: against mails that it sent, and against lkp-tests itself.

`LKP_TESTS` names a checkout of https://github.com/intel/lkp-tests; ruby runs it.
"""

import json
import math
import os
import random
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import need_program

from profdiff.reports.exports.lkp_table import Failures, Row, table

HERE = Path(__file__).parent
VALUE, SPREAD, CHANGE = 10, 6, 12
RUNS = st.lists(st.floats(0, 1e12), min_size=1, max_size=6)
VALUES = st.integers(2, 4).flatmap(lambda n: st.lists(RUNS, min_size=n, max_size=n))


def cells(line: str) -> tuple[list[str], str]:
    """Cells of a row of n kernels: value, spread, change, value, spread …; and the name."""
    found, rest = [line[:VALUE], line[VALUE : VALUE + SPREAD]], line[VALUE + SPREAD :]
    while not rest.startswith("  ") or re.match(r" {3,}[-+\d]", rest):
        for width in (CHANGE, VALUE, SPREAD):
            found.append(rest[:width])
            rest = rest[width:]
    return found, rest.strip()


def runs(value: str, spread: str) -> list[float]:
    """Two runs that have this mean and this deviation."""
    # Whole numbers were cut, not rounded.
    mean = float(value) + 0.5 * value.strip().isdigit()
    percent = re.search(r"\d+", spread)
    # A mean that is printed as zero is not zero where it has a spread.
    deviation = (mean or 0.001) * (int(percent[0]) + 0.5) / 100 if percent else 0
    mean = mean or (0.001 if percent else 0)
    return [mean - deviation, mean + deviation]


def between(value: str) -> tuple[float, float]:
    """What the printed value may have been: Ruby cuts whole numbers, and rounds others."""
    mean = float(value)
    if value.strip().isdigit():
        return mean, mean + 1
    unit = 10 ** (math.floor(math.log10(mean)) - 3) if "e" in value else 0.01
    return mean - unit / 2, mean + unit / 2


def possible(base: str, other: str, *, points: bool) -> tuple[float, float]:
    """What the change may have been, as printed with one decimal."""
    lows, highs = zip(between(base), between(other), strict=True)
    if points:
        return lows[1] - highs[0] - 0.06, highs[1] - lows[0] + 0.06
    return 100 * (lows[1] / highs[0] - 1) - 0.06, 100 * (highs[1] / lows[0] - 1) + 0.06


def mail(name: str) -> tuple[list[str], list[str], list[str]]:
    """The columns' heads, the lines of the head, and the rows."""
    lines = (HERE / f"robot/{name}.txt").read_text().splitlines()
    return lines[0].split(), lines[:4], lines[4:]


@pytest.mark.parametrize("name", ["two-kernels", "four-kernels"])
def test_rows_of_mails_are_printed_as_in_the_mail(name: str) -> None:
    """All but the changes, which come from means before rounding: these within the rounding."""
    columns, head, lines = mail(name)
    rows = []
    for line in lines:
        found, metric = cells(line)
        pairs = [found[:2], *(found[at + 1 : at + 3] for at in range(2, len(found), 3))]
        rows.append(Row(metric, [runs(*pair) for pair in pairs]))
    printed = table(columns, [], rows)
    assert printed[:4] == head
    ours = {cells(line)[1]: cells(line)[0] for line in printed[4:]}
    theirs = {cells(line)[1]: cells(line)[0] for line in lines}
    assert ours.keys() == theirs.keys()
    if name == "two-kernels":
        assert list(ours) == list(theirs)
    for metric, mine in ours.items():
        for at, (cell, expected) in enumerate(zip(mine, theirs[metric], strict=True)):
            if at % 3 != 2:
                assert cell == expected, metric
                continue
            points = "%" not in expected
            base, other = theirs[metric][0], theirs[metric][at + 1]
            low, high = possible(base, other, points=points)
            assert re.fullmatch(r" *[+-]\d+\.\d(% |  )", cell)
            assert ("%" in cell) != points
            for change in (cell, expected):
                assert low <= float(change.strip(" %")) <= high, (metric, change)


def test_failures_of_a_mail_are_printed_as_in_the_mail() -> None:
    columns, head, lines = mail("failures")
    failures = []
    for line in lines:
        found = re.match(r" *(\d*):(\d+) +-?\d+% +(\d*):(\d+) +(\S+)", line)
        assert found
        failed, runs_ = ([int(found[at] or 0) for at in pair] for pair in ((1, 3), (2, 4)))
        failures.append(Failures(found[5], failed, runs_))
    assert table(columns, failures[::-1], []) == [*head, *lines]


def lkp_tests() -> Path:
    """A checkout of lkp-tests, or skip."""
    if "LKP_TESTS" not in os.environ:
        pytest.skip("LKP_TESTS does not name a checkout of github.com/intel/lkp-tests")
    return Path(os.environ["LKP_TESTS"])


def random_rows(seed: int, columns: int) -> dict[str, list[list[float]]]:
    """Rows of all magnitudes, spreads and numbers of runs."""
    numbers = random.Random(seed)
    rows: dict[str, list[list[float]]] = {}
    for number in range(300):
        kind = ["work.", "perf-profile.self.cycles.", "perf-profile.children.cycles."][number % 3]
        name = f"{kind}f{number}{'%' if number % 7 == 0 else ''}"
        size, spread = 10 ** numbers.uniform(-3, 12), numbers.choice([0, 0.01, 0.1, 1, 3])
        rows[name] = []
        # Of nothing on both sides lkp-tests says -100%, as it takes the base for 1e-100.
        nothing = numbers.randrange(5 * columns)
        for column in range(columns):
            factor = numbers.choice([1, 1 + spread, 10 ** numbers.uniform(-3, 8)])
            # Never exactly equal: Ruby's sort leaves the order of equal changes open.
            factor *= numbers.uniform(0.999, 1.001)
            factor = 0 if column == nothing else factor
            count = numbers.choice([1, 2, 3, 4, 5, 40, 100])
            values = [size * factor * (1 + spread * numbers.random()) for _ in range(count)]
            # Small whole numbers make ties (21.075), of which Ruby's sprintf rounds some up.
            whole = number % 5 == 0 and min(values) > 1e5
            rows[name].append([float(int(v)) for v in values] if whole else values)
    return rows


@pytest.mark.parametrize("columns", [2, 3])
def test_lkp_tests_prints_the_same(columns: int) -> None:
    checkout, ruby = lkp_tests(), need_program("ruby")
    labels = ["base", "new", "a-label-that-is-longer-than-its-column"][:columns]
    rows = random_rows(columns, columns)
    failed = {
        f"work.{kind}.fail": [[1.0] * (3 * number + column) for column in range(columns)]
        for number, kind in enumerate(["boot", "panic", "timeout"])
    }
    given = {"columns": labels, "runs": [7] * columns, "rows": rows | failed}
    command = [ruby, HERE / "lkp_oracle.rb", checkout]
    told = subprocess.run(
        command, input=json.dumps(given), capture_output=True, text=True, check=True
    )
    changed, _, shown = told.stdout.partition("\n")
    made = [Row(name, values) for name, values in rows.items()]
    assert {row.name for row in made if row.changed} == set(json.loads(changed)) - failed.keys()
    assert 20 < len(json.loads(changed)) < len(rows)
    failures = [
        Failures(name, [len(runs) for runs in values], [7] * columns)
        for name, values in failed.items()
    ]
    expected = [line.rstrip() for line in shown.rstrip("\n").splitlines()]
    ours = table(labels, failures, made)
    assert ours == expected[-len(ours) :]


@given(VALUES)
def test_a_row_keeps_its_columns(values: list[list[float]]) -> None:
    for name in ("work.x", "work.x%", "perf-profile.self.cycles.f"):
        row = Row(name, values)
        line = table(["k"] * len(values), [], [row])[-1]
        wide = any(abs(change or 0) >= 1e5 for change in row.changes)
        start = VALUE + SPREAD + (CHANGE + VALUE + SPREAD) * (len(values) - 1) + 2
        assert line.endswith(name)
        assert wide or line[:start].isprintable()
        assert wide or line[start:] == name


@given(VALUES, st.randoms(use_true_random=False))
def test_the_order_of_runs_does_not_matter(values: list[list[float]], chance: object) -> None:
    other = [sorted(one, key=lambda _: chance.random()) for one in values]  # type: ignore[attr-defined]
    rows = [Row("work.x", one) for one in (values, other)]
    assert table(["k"] * len(values), [], rows[:1]) == table(["k"] * len(values), [], rows[1:])
    assert rows[0].changed == rows[1].changed


@given(RUNS, st.integers(2, 4))
def test_the_same_runs_are_no_change(runs: list[float], columns: int) -> None:
    row = Row("work.x", [runs] * columns)
    assert not row.changed
    assert row.changes == [0] * (columns - 1)


@given(RUNS, RUNS)
def test_what_changed_lies_apart(base: list[float], other: list[float]) -> None:
    """All of one side above all of the other is a change; medians in each other's range is none."""
    row, swapped = Row("x", [base, other]), Row("x", [other, base])
    assert row.changed == swapped.changed
    if min(other) > max(base):
        assert row.changed
        assert row.changes[0] is not None
        assert row.changes[0] > 0
    middle = sorted(other)[len(other) // 2]
    if min(base) <= middle <= max(base) and len(base) < 32:
        assert not row.changed


@pytest.mark.parametrize(
    ("base", "other", "changed"),
    [
        ([1, 2, 3], [2.5, 4, 5], True),
        ([1, 2, 3], [2.5, 2.9, 5], False),
        ([1, 2, 3], [1.5, 4, 5], False),
        ([1], [1.01], True),
        # Of 32 runs and more the outermost do not count.
        ([1] * 39 + [100], [50] * 40, True),
        ([1] * 29 + [100], [50] * 30, False),
        ([], [1], False),
    ],
)
def test_what_counts_as_changed(base: list[float], other: list[float], changed: bool) -> None:
    assert Row("x", [base, other]).changed == changed


def test_what_was_not_measured_is_not_nothing() -> None:
    (line,) = [one for one in table(["a", "b"], [], [Row("w.x", [[5.0], []])]) if "w.x" in one]
    assert line.split() == ["5.00", "-", "w.x"]
