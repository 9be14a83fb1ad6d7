"""Costs as lines over a sweep: what is made by a line is told as that line, and nothing else is."""

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from extent import examples
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from support import EXAMPLE, RESTORED, error_line, profdiff
from synthetic import Row, frame
from synthetic_joint import part

from profdiff.base.errors import InputError
from profdiff.evidence.findings import Findings, LazyFindings
from profdiff.session import manifest as m
from profdiff.session.points import Setting, axis
from profdiff.session.session import Session
from profdiff.session.state import PointState, State
from profdiff.topics.fits import shapes
from profdiff.topics.fits.measure import Fits

SIZES = (4, 16, 64, 256)


def _row(name: str, counts: Sequence[int], *, in_kernel: bool = True) -> Row:
    return ([frame(name)], name, in_kernel, list(counts))


def _points(sizes: Sequence[int] = SIZES, ops: int | None = 1) -> list[m.Point]:
    return [m.Point({"n": str(size)}, 1, ops) for size in sizes]


def _session(
    folder: Path, kernels: Mapping[str, Mapping[str, Sequence[int]]], points: Sequence[m.Point]
) -> Session:
    rows = {
        label: [_row(name, counts) for name, counts in functions.items()]
        for label, functions in kernels.items()
    }
    return part(folder, rows, points)


def _findings(session: Session) -> Findings:
    return LazyFindings.of(session).findings


def _line(fixed: int, slope: int, sizes: Sequence[int] = SIZES) -> list[int]:
    return [fixed + slope * size for size in sizes]


_TERMS = st.tuples(st.integers(1, 5000), st.integers(0, 300))


@given(st.lists(st.tuples(_TERMS, _TERMS), min_size=1, max_size=4), st.permutations(range(4)))
@hypothesis_settings(max_examples=examples(40))
def test_what_a_line_made_is_told_in_any_order_of_points(
    functions: list[tuple[tuple[int, int], tuple[int, int]]], order: list[int]
) -> None:
    sizes = [SIZES[at] for at in order]
    kernels = {
        label: {
            **{f"f{n}": _line(*terms[side], sizes) for n, terms in enumerate(functions)},
            "same": _line(7, 3, sizes),
        }
        for side, label in enumerate(("base", "new"))
    }
    with TemporaryDirectory() as folder:
        fits = Fits(_findings(_session(Path(folder) / "S", kernels, _points(sizes))))
        rows, (whole, _) = {row.name: row for row in fits.rows}, fits.sums
    for number, terms in enumerate(functions):
        row = rows[f"f{number}"]
        for label, (fixed, slope) in zip(("base", "new"), terms, strict=True):
            line = row.lines[label]
            assert (line.fixed, line.slope, line.residual) == (fixed, slope, 0)
        found = row.slopes["new"], row.fixed["new"]
        for difference, at in zip(found, (1, 0), strict=True):
            assert difference is not None
            delta = terms[1][at] - terms[0][at]
            assert (difference.delta, difference.low, difference.high) == (delta,) * 3
    same = rows["same"]
    assert same.part == 0
    assert same.slopes["new"] is not None
    assert same.slopes["new"].delta == 0
    assert whole.lines["new"].slope == 3 + sum(terms[1][1] for terms in functions)


def test_where_kernels_cost_the_same(tmp_path: Path) -> None:
    """1000 + 10 n against 400 + 40 n: equal at 20, between the points 16 and 64."""
    kernels = {
        "base": {"f": _line(1000, 10)},
        "new": {"f": _line(400, 40)},
        "never": {"f": _line(900, 9)},
        "far": {"f": _line(1300, 9)},
    }
    findings = _findings(_session(tmp_path / "S", kernels, _points()))
    told = shapes.section(findings)
    evens = {one.label: one for one in Fits(findings).evens()}
    assert (evens["new"].last, evens["new"].first, evens["new"].then) == (19, 21, "more")
    assert "never" not in evens
    # 300 more and 1 less for each: equal at 300, where no point is.
    assert (evens["far"].first, evens["far"].measured) == (300, None)
    assert (
        "new costs less than base up to n 19, and more from 21 on, by the line between the points "
        "16 and 64." in told.sentences
    )
    assert any("at n 300, by the line alone: no point is there" in one for one in told.sentences)


def test_what_is_no_line_has_none(tmp_path: Path) -> None:
    """And where the sign turns is told by the points alone."""
    square = [size * size for size in SIZES]
    kernels = {
        "base": {"f": _line(2000, 1), "g": square},
        "new": {"f": _line(1000, 1), "g": _bent()},
    }
    findings = _findings(_session(tmp_path / "S", kernels, _points()))
    fits = Fits(findings)
    (row,) = (one for one in fits.rows if one.name == "g")
    assert row.bent
    assert row.slopes["new"] is None
    section = shapes.section(findings)
    table = section.tables[0]
    hidden = {line[-1]: line for line in table.hidden}
    assert hidden["g"][0] is None
    assert "Changed, but no line: g." in section.notes
    (even,) = fits.evens()
    assert (even.last, even.first) == even.measured == (16, 64)
    assert "is not a line in n" in section.sentences[0]


def _bent() -> list[int]:
    return [size * size + (0 if size < 64 else size * size) for size in SIZES]


def test_points_in_another_state_are_left_out_and_named(tmp_path: Path) -> None:
    kernels = {
        label: {"f": [*_line(5, slope)[:3], 77]} for label, slope in (("base", 3), ("new", 4))
    }
    findings = _findings(_session(tmp_path / "S", kernels, _points()))
    assert Fits(findings).rows[0].bent
    last = findings.results.settings[-1]
    differs = PointState(last, {"minor_faults": {"base": "1", "new": "90"}}, {}, (), ())
    without = m.replace(findings, state=State(points=[differs]))
    fits = Fits(without)
    assert fits.rows[0].slopes["new"] is not None
    assert fits.sweep.left_out == {"256": "the state differs: minor_faults"}
    assert "Left out: n 256: the state differs: minor_faults." in shapes.section(without).notes
    both = State(points=[differs, PointState(findings.results.settings[0], *differs_of(differs))])
    with pytest.raises(InputError, match=r"fits: 2 points left \(n 4: .*; n 256: "):
        Fits(m.replace(findings, state=both))


def differs_of(one: PointState) -> tuple[object, ...]:
    return one.differences, one.equal, one.unknown, one.absent


def test_lines_over_the_number_of_ops_are_of_windows(tmp_path: Path) -> None:
    points = [m.Point({"n": str(size)}, 1, size) for size in SIZES]
    kernels = {"base": {"f": _line(100, 3)}, "new": {"f": _line(100, 4)}}
    findings = _findings(_session(tmp_path / "S", kernels, points))
    fits = Fits(findings)
    assert (fits.ops, fits.per_op, fits.sweep.is_ops) == (None, False, True)
    assert fits.rows[0].lines["base"].slope == Fraction(3)
    notes = shapes.section(findings).notes
    assert "n is the number of ops: lines are of the whole window, a slope is of one op." in notes


@given(st.lists(st.integers(1, 5000), min_size=4, max_size=4, unique=True), _TERMS, _TERMS)
@hypothesis_settings(max_examples=examples(20))
def test_lines_of_a_zipped_sweep_are_per_op(
    iters: list[int], base: tuple[int, int], new: tuple[int, int]
) -> None:
    """The number of ops is first in the session, and still not what lines are over."""
    zipped = list(zip(SIZES, iters, strict=True))
    points = [m.Point({"iters": str(ops), "n": str(n)}, 1, ops) for n, ops in zipped]
    kernels = {
        label: {"f": [(fixed + slope * n) * ops for n, ops in zipped]}
        for label, (fixed, slope) in (("base", base), ("new", new))
    }
    with TemporaryDirectory() as folder:
        fits = Fits(_findings(_session(Path(folder) / "S", kernels, points)))
        (row,) = fits.rows
        evens = list(fits.evens())
    assert (fits.sweep.name, fits.sweep.others, fits.per_op) == ("n", "", True)
    for label, (fixed, slope) in (("base", base), ("new", new)):
        line = row.lines[label]
        assert (line.fixed, line.slope, line.residual) == (fixed, slope, 0)
    found = row.slopes["new"], row.fixed["new"]
    for difference, at in zip(found, (1, 0), strict=True):
        assert difference is not None
        assert (difference.delta, difference.low) == (new[at] - base[at],) * 2
    for even in evens:
        signs = [
            new[0] + new[1] * n > base[0] + base[1] * n
            for n in (even.first + 1, max(even.last - 1, 0))
        ]
        assert signs == [even.then == "more", even.then == "less"]


def test_a_zipped_sweep_tells_each_point(tmp_path: Path) -> None:
    zipped = [(4, 4000), (40, 2000), (400, 400), (4000, 40)]
    points = [m.Point({"size": str(n), "iters": str(ops)}, 1, ops) for n, ops in zipped]
    cost = {"base": (2000, 30), "new": (1996, Fraction(99, 4)), "much": (2000, 30)}
    kernels = {
        label: {"f": [int((fixed + slope * n) * ops) for n, ops in zipped]}
        for label, (fixed, slope) in cost.items()
    }
    session = _session(tmp_path / "S", kernels, points)
    told = shapes.section(_findings(session)).sentences
    assert told[:2] == [
        "new executes 4.00 + 5.25 × size fewer instructions per op than base at 4 points from 4 to "
        "4,000.",
        "much executes as many instructions per op as base at 4 points from 4 to 4,000.",
    ]
    shown = profdiff("report", session.folder, "fits").stdout
    assert "instructions per op = fixed + slope × size: 4 points from 4 to 4,000\n" in shown
    assert "30.00  24.75  -5.25" in shown
    assert max(map(len, shown.splitlines())) <= 100


def test_a_small_point_off_the_line_is_not_hidden_by_a_large_one(tmp_path: Path) -> None:
    """90 of 180 is less than 1% of 22,000, and still half of what the smallest point differs."""
    sizes = (4, 40, 400, 4000)
    base = _line(2000, 30, sizes)
    more = [90, 400, 2364, 22153]
    kernels = {
        "base": {"f": base},
        "new": {"f": [one + extra for one, extra in zip(base, more, strict=True)]},
    }
    findings = _findings(_session(tmp_path / "S", kernels, _points(sizes)))
    assert Fits(findings).sums[0].slopes["new"] is None
    assert "is not a line in n" in shapes.section(findings).sentences[0]
    # What the base executes there hides less than 0.1% of it.
    kernels["new"]["f"] = [one + 5 * n + 170 for n, one in zip(sizes, base, strict=True)]
    kernels["new"]["f"][0] += 2
    findings = _findings(_session(tmp_path / "T", kernels, _points(sizes)))
    assert "more instructions per op than base" in shapes.section(findings).sentences[0]


def test_what_ticks_can_add_does_not_end_a_line(tmp_path: Path) -> None:
    base = _line(2000, 30)
    kernels = {
        "base": {"f": base},
        "new": {
            "f": [one + 5 * n + (100 if n == 16 else 0) for n, one in zip(SIZES, base, strict=True)]
        },
    }
    findings = _findings(_session(tmp_path / "S", kernels, _points()))
    assert Fits(findings).sums[0].slopes["new"] is None
    every = [
        m.replace(one, cells=[m.replace(cell, tick_floor=90.0) for cell in one.cells])
        for one in findings.results.every
    ]
    ticks = m.replace(findings, results=m.replace(findings.results, every=every))
    fits = Fits(ticks)
    slope = fits.sums[0].slopes["new"]
    assert slope is not None
    assert slope.low < 5 < slope.high
    # Functions have no floor.
    assert fits.rows[0].slopes["new"] is None


def test_more_points_than_a_report_reads_are_refused(tmp_path: Path) -> None:
    sizes = range(1, 1100)
    kernels = {label: {"f": list(sizes)} for label in ("base", "new")}
    session = _session(tmp_path / "S", kernels, _points(sizes))
    with pytest.raises(InputError, match="fits: 1,099 points are too many: at most 1,000"):
        shapes.section(_findings(session))


def test_numbers_of_ops_without_a_common_multiple_are_refused(tmp_path: Path) -> None:
    points = [m.Point({"n": str(n), "k": f"{n}{n}"}, 1, 2**62 + n * n + n) for n in range(1, 40)]
    kernels = {label: {"f": list(range(1, 40))} for label in ("base", "new")}
    session = _session(tmp_path / "S", kernels, points)
    said = error_line(profdiff("report", session.folder, "fits", status=2))
    assert "the numbers of ops have no common multiple" in said


def test_one_parameter_varies_and_the_others_stand(tmp_path: Path) -> None:
    points = [m.Point({"n": n, "k": k}, 1, 1) for k in ("a", "b") for n in ("1", "2", "3")]
    kernels = {
        "base": {"f": [11, 12, 13, 110, 120, 130]},
        "new": {"f": [12, 14, 16, 111, 123, 135]},
    }
    session = _session(tmp_path / "S", kernels, points)
    fits = Fits(_findings(session))
    assert (fits.sweep.name, fits.sweep.others) == ("n", "k a")
    said = profdiff("check", session.folder, "--fail-if", "fits.slope:f > +50%", status=1).stdout
    assert said.count("fits.slope:f") == 2
    assert "new at k a: +100.00%" in said
    assert "new at k b: +20.00%" in said
    assert "k b" in profdiff("report", session.folder, "fits", "--at", "n=1,k=b").stdout


@pytest.mark.parametrize(
    ("swept", "ops", "wanted"),
    [
        ({"iters": "1 2 3 4", "n": "9 8 7 6"}, (1, 2, 3, 4), ("n", [])),
        # Two lengths: half of the iterations are subtracted.
        ({"iters": "20 40 60", "n": "9 8 7"}, (10, 20, 30), ("n", [])),
        ({"n": "1 1 1 2 2 2", "k": "5 6 7 5 6 7"}, None, ("k", ["n"])),
        # Two sizes make no line, and words do not.
        ({"n": "1 1 1 2 2 2", "iters": "5 6 7 5 6 7"}, (5, 6, 7, 5, 6, 7), ("iters", ["n"])),
        ({"how": "a b c d", "n": "1 2 1 2"}, None, ("n", ["how"])),
        ({"how": "a b c d"}, None, ("how", [])),
        ({"n": "1e3 2.5 nan all", "k": "1 1 2 2"}, None, ("n", [])),
    ],
)
def test_the_axis_is_the_parameter_with_numbers_that_is_not_the_ops(
    swept: Mapping[str, str], ops: Sequence[int] | None, wanted: object
) -> None:
    rows = zip(*(values.split() for values in swept.values()), strict=True)
    made = [
        Setting(at, None, dict(zip(swept, row, strict=True)), 1, ops[at] if ops else None, [*swept])
        for at, row in enumerate(rows)
    ]
    assert axis(made) == wanted


@pytest.mark.parametrize("values", [("4", "64"), ("small", "large", "huge"), ("0x1", "0x2", "0x3")])
def test_a_sweep_without_three_numbers_has_none(values: Sequence[str], tmp_path: Path) -> None:
    points = [m.Point({"n": value}, 1, 1) for value in values]
    kernels = {label: {"f": list(range(1, 1 + len(values)))} for label in ("base", "new")}
    session = _session(tmp_path / "S", kernels, points)
    said = error_line(profdiff("report", session.folder, "fits", status=2))
    assert "no parameter alone has 3 numbers" in said
    assert "fixed + slope" not in profdiff("report", session.folder).stdout


def test_a_recorded_sweep(old_kernel: Path, new_kernel: Path, qemu: object, tmp_path: Path) -> None:
    """The batching that regressed small folios, for each KiB: what lines predict of a size is what
    the functions of that size have, and pages have 16 instructions of __pte_needs_invert each."""
    session = tmp_path / "s.profdiff"
    kernels = [f"--kernel=base={old_kernel}", f"--kernel=new={new_kernel}"]
    record = ["--sweep", "size_kib=8,16,32,64", "--ops", "100", "--vary-state", "0"]
    workload = ["--collector", "exact", "-o", session, "--", EXAMPLE, "{size_kib}", "100"]
    profdiff("record", *kernels, *RESTORED, *record, *workload)
    found = tmp_path / "fits.json"
    profdiff("report", session, "fits", "--json", found)
    (section,) = json.loads(found.read_text())["sections"]
    table = section["tables"][0]
    columns = {(one["name"], one["kernel"]): n for n, one in enumerate(table["columns"])}
    at = columns["function", None]
    rows = {row[at]: row for row in table["rows"]}
    batch = rows["commit_anon_folio_batch"]
    assert batch[columns["slope", "base"]] == 0
    assert batch[columns["slope", "new"]] == 100 * 31 / 8
    assert rows["__pte_needs_invert"][columns["slope", "base"]] == 100 * 16 / 4
    for size in (8, 64):
        listing = profdiff("report", session, "--at", f"size_kib={size}", "--csv", "-").stdout
        head, *lines = (line.split(",") for line in listing.splitlines())
        counts = {line[head.index("name")]: line[head.index("self new")] for line in lines}
        predicted = batch[columns["fixed", "new"]] + size * batch[columns["slope", "new"]]
        assert int(counts["commit_anon_folio_batch"]) == predicted
    shown = profdiff("report", session).stdout
    assert "instructions per op (100 ops) = fixed + slope × size_kib: 4 points" in shown
    assert "× size_kib more instructions per op than" in shown
    assert "change_pte_range" in profdiff("report", session, "paths").stdout
    mail = " ".join(profdiff("mail", session).stdout.split())
    assert "× size_kib more instructions per op than base" in mail
    judged = profdiff("check", session, "--fail-if", "fits.slope:change_pte_range > +5%", status=1)
    assert "new: +17.54%" in judged.stdout
