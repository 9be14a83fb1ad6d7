"""Charts of an experiment: what stands where, that strangers' words are text, and bounds."""

import os
import re
import shutil
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from statistics import median

import msgspec
import pytest
from extent import examples
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text
from support import ROOT, error_line, profdiff
from synthetic import compare, frame
from synthetic_experiment import ICOUNT, Values, boots, found, recorded

from profdiff.evidence.results import Results
from profdiff.evidence.statistics import Level, Rule, level
from profdiff.reports import charts
from profdiff.reports.charts import bars, experiment
from profdiff.reports.charts.layout import Caption, plain, wrapped
from profdiff.session import manifest as m
from profdiff.session.points import settings
from profdiff.session.session import Session

SVG = "{http://www.w3.org/2000/svg}"
# Fewer resamples than a report has: charts are tested here, not verdicts.
RULE = Rule(resamples=200)
SIZES = [4, 40, 400, 4000]
HOSTILE = ["$\\alpha_{x}$", "a\u202eb\x07\x1b[2J", "</text><script>alert(1)</script>&\"'", "\u6f22"]


def sizes(values: list[int] | list[str], cpus: tuple[int, ...] = (1,)) -> list[m.Point]:
    return [m.Point({"size": str(value)}, count) for value in values for count in cpus]


def swept(factor: float = 1.5, count: int = 9, spread: float = 0.01) -> Values:
    return {
        "base": [boots(10.0 * size, count, spread) for size in SIZES],
        "new": [boots(10.0 * size * factor, count, spread) for size in SIZES],
    }


def sweep(described: m.Manifest) -> tuple[str, Figure]:
    evidence = Results.gather(described, RULE)
    with charts.matplotlib_as_ours():
        caption, figure = experiment.sweep(evidence, evidence.every, [])
    return caption.title, figure


def ladder(described: m.Manifest) -> tuple[str, Figure]:
    evidence = Results.gather(described, RULE)
    with charts.matplotlib_as_ours():
        drawn = experiment.ladder(evidence, evidence.at(settings(described)[-1])[0], [])
    assert drawn is not None
    return drawn[0].title, drawn[1]


def rungs(axes: Axes) -> list[list[str]]:
    """What stands beside each kernel of a ladder: its label left, what was found right."""
    told = [[label.get_text()] for label in axes.get_yticklabels()]
    for text in axes.texts:
        told[text.xy[1]] += [text.get_text()] if text.get_text() else []
    return told


def lines(axes: Axes, marker: str) -> list[tuple[list[float], list[float]]]:
    """Places of what is drawn with a marker and joined by a line."""
    return [
        (list(line.get_xdata()), list(line.get_ydata()))
        for line in axes.get_lines()
        if line.get_marker() == marker and line.get_linestyle() != "None"
    ]


def dots(axes: Axes, marker: str) -> list[tuple[float, float]]:
    """Places of what is drawn with a marker and not joined."""
    return [
        (float(x), float(y))
        for line in axes.get_lines()
        if line.get_marker() == marker and line.get_linestyle() == "None"
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
    ]


def written(figure: Figure) -> list[Text]:
    """All text of a figure that is seen, with its place."""
    beyond = set()
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        low, high = sorted(axis.get_view_interval())
        beyond |= {t.label1 for t in axis.get_major_ticks() if not low <= t.get_loc() <= high}
    found_ = figure.findobj(lambda one: isinstance(one, Text) and one.get_visible())
    return [text for text in found_ if text.get_text() and text not in beyond]


def words(figure: Figure) -> str:
    """All text of a figure."""
    return "\n".join(text.get_text() for text in written(figure))


def texts(svg: str) -> str:
    """All text of an SVG document, which parses and runs nothing."""
    root = ET.fromstring(svg)  # noqa: S314
    assert not root.findall(f".//{SVG}script")
    return "\n".join(element.text or "" for element in root.iter(f"{SVG}text"))


def test_a_sweep_has_every_boot_the_median_and_its_interval() -> None:
    values = swept()
    title, figure = sweep(recorded(values, points=sizes(SIZES)))
    assert title == "latency, ns, by size"
    (axes,) = figure.axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("size", "ns")
    bands = [one for one in axes.collections if isinstance(one, PolyCollection)]
    for marker, band, label in zip("os", bands, values, strict=True):
        cells = values[label]
        ((xs, medians),) = lines(axes, marker)
        assert xs == SIZES
        assert medians == pytest.approx([median(b for (b,) in cell) for cell in cells])
        every = sorted((size, b) for size, cell in zip(SIZES, cells, strict=True) for (b,) in cell)
        assert sorted(dots(axes, marker)) == every
        edge = {(float(x), float(y)) for x, y in band.get_paths()[0].vertices}
        for size, cell in zip(SIZES, cells, strict=True):
            around = level(cell)
            assert around is not None
            assert {(size, around.low), (size, around.high)} <= edge
    assert "96.1% with 9 boots" in words(figure)
    assert ".." not in words(figure)
    assert "lower is better" in words(figure)


def test_what_is_not_positive_has_a_linear_scale() -> None:
    values = {"base": [boots(5), boots(9)], "new": [boots(-3), boots(7)]}
    (axes,) = sweep(recorded(values, points=sizes([0, 10])))[1].axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("linear", "linear")
    low, high = axes.get_ylim()
    assert low < -3.02
    assert high > 9


def test_what_is_no_number_stands_in_its_order_and_is_not_joined() -> None:
    names = ["seq", "4k", "rand", "1"]
    (axes,) = sweep(recorded(swept(), points=sizes(names)))[1].axes
    assert [label.get_text() for label in axes.get_xticklabels()] == names
    assert lines(axes, "o") == lines(axes, "s") == []
    assert {round(x) for x, _ in dots(axes, "o")} == {0, 1, 2, 3}
    assert not {x for x, _ in dots(axes, "o")} & {x for x, _ in dots(axes, "s")}


def test_another_parameter_has_panels_a_zipped_one_none() -> None:
    two = {label: [boots(100.0)] * 8 for label in ("base", "new")}
    figure = sweep(recorded(two, points=sizes(SIZES, (1, 2))))[1]
    assert len(figure.axes) == 2
    assert "vCPUs 1" in words(figure)
    assert len({axes.get_ylim() for axes in figure.axes}) == 1
    zipped = [m.Point({"size": str(size), "rounds": str(10**9 // size)}, 1) for size in SIZES]
    figure = sweep(recorded(swept(), points=zipped))[1]
    assert len(figure.axes) == 1
    assert list(lines(figure.axes[0], "o")[0][0]) in (SIZES, [10**9 // s for s in SIZES[::-1]])


@pytest.mark.slow
def test_more_than_can_be_seen_is_counted() -> None:
    pairs = [m.Point({"size": str(s), "mode": f"m{n}"}, 1) for n in range(9) for s in SIZES]
    labels = [f"k{n}" for n in range(12)]
    described = recorded({label: [boots(100.0, 1)] * 36 for label in labels}, points=pairs)
    figure = sweep(described)[1]
    assert len(figure.axes) == 6
    assert "3 more combinations of the other parameters are not shown" in words(figure)
    assert "5 more kernels are not shown" in words(figure)
    many = recorded({f"k{n}": [boots(100.0 + n, 2)] for n in range(50)})
    shown = words(ladder(many)[1])
    assert "10 more kernels are not shown" in shown
    assert "k39" in shown
    assert "k40" not in shown


def test_too_many_boots_are_not_drawn_each() -> None:
    described = recorded({"base": [[[1.0]] * 3000] * 2, "new": [[[2.0], [3.0]] * 1500] * 2})
    described = m.replace(described, points=sizes([1, 2]))
    figure = sweep(described)[1]
    assert dots(figure.axes[0], "o") == []
    assert "too many boots to draw each; bands: the median's confidence" in words(figure)
    assert ".." not in words(figure)


def test_equal_boots_have_no_band() -> None:
    exact = {"base": [[[100.0]] * 3, [[200.0]] * 3], "new": [[[150.0]] * 3, [[200.0]] * 3]}
    described = recorded(exact, points=sizes([1, 2]), collector="exact", qemu=ICOUNT)
    (axes,) = (figure := sweep(described)[1]).axes
    assert not axes.collections
    assert "every boot of a cell gave the same value" in words(figure)
    assert "confidence" not in words(figure)
    one = recorded({"base": [[[1.0]]], "new": [[[2.0]]]})
    assert "the spread between boots is not known" in words(ladder(one)[1])


@pytest.mark.parametrize("name", ["wall-time", "x" * 300, HOSTILE[1] * 50])
def test_virtual_time_is_called_instruction_counts(name: str) -> None:
    points = [m.Point({"p" * 60: str(size) * 20}, 1) for size in (4, 5)]
    values = {"base": [boots(1.0)] * 2, "new": [boots(2.0)] * 2}
    for qemu in (ICOUNT, None):
        shown = found(recorded(values, points=points, qemu=qemu, name=name))
        drawn = charts.figures(shown)
        assert len(drawn) == 2
        for chart in drawn:
            drawn_texts = re.sub(r"\s", "", texts(chart["svg"]))
            unit = "instructions (guest clock)" if qemu else "ns"
            # What stands behind the name, perhaps in two lines.
            _, found_unit, end = chart["title"].partition(f", {unit}, ")
            assert found_unit
            assert f"{unit},{end}".replace(" ", "") in drawn_texts
            if qemu:
                assert not re.search(r"\bns\b", texts(chart["svg"]))
                assert "wall-time" not in texts(chart["svg"])


def test_a_ladder_has_every_boot_in_order_and_the_verdict() -> None:
    values = {
        "base": [boots(100)],
        "faster": [boots(80)],
        "same": [boots(100.01)],
        "slower": [boots(130)],
    }
    title, figure = ladder(recorded(values))
    assert title == "latency, ns, kernel by kernel"
    (axes,) = figure.axes
    assert rungs(axes) == [
        ["base", "100", "the base"],
        ["faster", "80", "-20.0%", "changed"],
        ["same", "100.01", "+0.0%", "unchanged"],
        ["slower", "130", "+30.0%", "changed"],
    ]
    assert axes.get_xscale() == "linear"
    assert axes.get_ylim()[0] > axes.get_ylim()[1]  # the first on top
    for marker, place, label in (("o", 0, "base"), ("<", 1, "faster"), (">", 3, "slower")):
        drawn = dots(axes, marker)
        assert [x for x, _ in drawn] == [value for (value,) in values[label][0]]
        ys = [y for _, y in drawn]
        assert ys == sorted(ys)
        assert all(abs(y - place) < 0.5 for y in ys)
    medians = [bar.get_segments()[0] for bar in axes.collections]
    assert [x for ((x, _), _) in medians] == [100, 80, 100.01, 130]
    assert [y + z for ((_, y), (_, z)) in medians] == pytest.approx([0, 2, 4, 6])
    colours = [to_hex(bar.get_color()[0]) for bar in axes.collections]
    assert colours == [
        "#000000",
        bars.LESS.lower(),
        experiment.NEITHER.lower(),
        bars.MORE.lower(),
    ]


def test_what_stands_beside_a_ladder_is_in_columns() -> None:
    """Of SVG too, which shows many blanks as one: each column is left-aligned at an x of its own,
    right of all words of the column before."""
    values = {"base": [boots(52.49)], "less": [boots(7)], "more": [boots(123.25)]}
    shown = found(recorded(values))
    (chart,) = charts.figures(shown)
    table = (
        ("52.49", "7", "123.25"),
        ("the base", "-86.7%", "+134.8%"),
        ("changed", "changed"),
    )
    drawn: dict[str, list[dict[str, str]]] = {}
    for text in ET.fromstring(chart["svg"]).iter(f"{SVG}text"):  # noqa: S314
        drawn.setdefault(text.text or "", []).append(dict(text.attrib))
    assert not [text for text in drawn if "  " in text]
    end = 0.0
    for column in table:
        looks = [look for text in dict.fromkeys(column) for look in drawn[text]]
        assert len(looks) == len(column)
        assert all("text-anchor: start" in look["style"] for look in looks)
        (x,) = {float(look["x"]) for look in looks}
        assert x > end
        end = x + 7 * 0.6 * max(map(len, column))


def test_the_noise_floor_lies_around_the_bases_median() -> None:
    values = {
        "base": [boots(100, 9, 0.02)],
        "base.aa": [boots(104, 9, 0.02)],
        "new": [boots(105, 9, 0.0005)],
    }
    described = recorded(values, twin_repeat=9)
    (result,) = Results.gather(described, RULE).every
    assert result.noise is not None
    figure = ladder(described)[1]
    (patch,) = figure.axes[0].patches
    low, high = patch.get_extents().transformed(figure.axes[0].transData.inverted()).intervalx
    assert low == pytest.approx(100 * (1 - result.noise))
    assert high == pytest.approx(100 * (1 + result.noise))
    assert "A/A: base against itself" in words(figure)
    assert "base.aa" not in words(figure)
    assert "unsure" in words(figure)
    assert not ladder(recorded({"base": [boots(100)], "new": [boots(90)]}))[1].axes[0].patches


def test_a_kernel_without_a_result_keeps_its_place() -> None:
    described = recorded({"base": [boots(100)], "broken": [boots(90)], "new": [boots(110)]})
    failure = m.Failure(kind="panic", message="Oops")
    runs = [
        m.replace(run, failure=failure, measured=[]) if run.kernel == "broken" else run
        for run in described.runs
    ]
    figure = ladder(m.replace(described, runs=runs))[1]
    assert rungs(figure.axes[0])[1] == ["broken", "no result"]
    assert "failed runs: broken 9" in words(figure)
    nothing = [m.replace(run, failure=failure, measured=[]) for run in described.runs]
    with pytest.raises(Exception, match="nothing to draw"):
        charts.write(found(m.replace(described, runs=nothing)), Path("never-made"))
    assert not Path("never-made").exists()


def test_files_by_metric(tmp_path: Path) -> None:
    described = recorded(swept(), points=sizes(SIZES), name="ops/s")
    other = [
        m.replace(one.measured[0], name="OPS s", unit="1/s", better="higher")
        for one in described.runs
    ]
    runs = [
        m.replace(run, measured=[*run.measured, more])
        for run, more in zip(described.runs, other, strict=True)
    ]
    described = m.replace(described, runs=runs)
    paths = charts.write(found(described, "size=40"), tmp_path)
    assert {path.name for path in paths} == {
        f"{kind}-{name}.{suffix}"
        for kind in ("sweep", "ladder")
        for name in ("ops-s", "OPS-s-2")
        for suffix in ("svg", "png")
    }
    assert "latency" not in (shown := texts((tmp_path / "ladder-OPS-s-2.svg").read_text()))
    assert "OPS s, 1/s, at size 40" in shown
    assert "higher is better" in shown
    data = (tmp_path / "sweep-ops-s.png").read_bytes()
    assert struct.unpack(">I", data[16:20]) == (1440,)
    assert data.endswith(b"IEND\xaeB`\x82")


@pytest.mark.slow
def test_strangers_words_are_text(tmp_path: Path) -> None:
    points = [m.Point({"mode": text, "size": str(n)}, 1) for text in HOSTILE for n in (1, 2)]
    values = {label: [boots(100.0, 3)] * 8 for label in ("base", "new")}
    for name in HOSTILE:
        described = recorded(values, points=points, name=name, unit=name)
        workload = m.replace(described.workload, argv=HOSTILE)
        for path in charts.write(found(m.replace(described, workload=workload)), tmp_path):
            assert path.parent == tmp_path
            assert re.fullmatch(r"[A-Za-z0-9.-]+", path.name)
            if path.suffix == ".svg":
                shown = texts(path.read_text())
                assert not re.search(r"[\u202e\x07\x1b]", shown)
                assert "$\\alpha_{x}$" in shown or "$" not in name


@pytest.mark.slow
def test_the_same_experiment_is_the_same_file(tmp_path: Path) -> None:
    """In another process too, whose hashes have another seed."""
    script = (
        "import sys; sys.path.insert(0, 'tests'); from pathlib import Path; "
        "from reports.test_experiment_charts import *; "
        "charts.write(found(recorded(swept(), points=sizes(SIZES))), Path(sys.argv[1]))"
    )
    there = tmp_path / "there"
    subprocess.run(
        [sys.executable, "-c", script, str(there)],
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "7"},
        cwd=ROOT,
    )
    paths = charts.write(found(recorded(swept(), points=sizes(SIZES))), tmp_path / "here")
    assert len(paths) == 4
    for path in paths:
        assert path.read_bytes() == (there / path.name).read_bytes()


@pytest.mark.slow
def test_a_session_of_timed_runs_alone(tmp_path: Path) -> None:
    described = recorded(swept(), points=sizes(SIZES))
    session = tmp_path / "timed.profdiff"
    session.mkdir()
    (session / "manifest.json").write_bytes(msgspec.json.encode(described))
    profdiff("report", session, "--charts", tmp_path / "out", "--html", tmp_path / "page.html")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {f"{n}-latency.{s}" for n in ("sweep", "ladder") for s in ("svg", "png")}
    assert (tmp_path / "page.html").stat().st_size > 50_000
    failed = [m.replace(run, measured=[]) for run in described.runs]
    empty = msgspec.json.encode(m.replace(described, runs=failed))
    (session / "manifest.json").write_bytes(empty)
    result = profdiff("report", session, "--charts", tmp_path / "none", status=2)
    assert "nothing to draw" in error_line(result)


@pytest.mark.guest
def test_a_recorded_session(recorded: Path, tmp_path: Path) -> None:
    """Exact runs of two kernels, equal bit for bit, say in the totals all that a ladder would; a
    third kernel makes one."""
    profdiff("report", recorded, "--charts", tmp_path / "two")
    assert {path.stem for path in (tmp_path / "two").iterdir()} == {"deltas", "totals"}
    copy = tmp_path / "three.profdiff"
    shutil.copytree(recorded, copy)
    session = Session.open(copy)
    third = [
        m.replace(run, id=f"x-{run.id}", kernel="x") for run in session.finished("new", "exact")
    ]
    kernels = [*session.manifest.kernels, m.replace(session.kernel("new"), label="x", symbols=None)]
    runs = [*session.manifest.runs, *third]
    session.save(m.replace(session.manifest, kernels=kernels, runs=runs))
    profdiff("report", copy, "--charts", tmp_path / "charts")
    shown = texts((tmp_path / "charts/ladder-instructions.svg").read_text())
    base, new = (
        session.finished(label, "exact")[0].measured[0].values[0] for label in ("base", "new")
    )
    per_op = f"{base / (session.manifest.points[0].ops or 1):,.2f}"
    change = f"{100 * (new / base - 1):+.1f}%"
    for text in ("instructions per op, kernel by kernel", per_op, change, "exact"):
        assert text in shown
    assert "every boot of a kernel gave the same value" in shown


@limits(max_examples=examples(40))
@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=8))
def test_scales_hold_their_values(values: list[float]) -> None:
    """Ticks too, which are few, and short enough to read."""
    marks = [experiment.Mark(n, Level(v, v, v, 0.95), [v]) for n, v in enumerate(values, 1)]
    with charts.matplotlib_as_ours():
        caption = Caption("title", ["note"])
        figure = experiment.draw_sweep(caption, [("", {"base": marks})], ("x", "y"), [])
    (axes,) = figure.axes
    assert (axes.get_yscale() == "log") == (min(values) > 1e-250 and max(values) < 1e250)
    low, high = axes.get_ylim()
    assert low <= min(values) <= max(values) <= high
    labels = [tick.label1.get_text() for tick in axes.yaxis.get_major_ticks()]
    assert len(labels) <= 22
    assert all(len(label) < 24 for label in labels)


def overlaps(figure: Figure) -> list[str]:
    """Texts that stand in one another, or that the figure's edge cuts."""
    figure.draw_without_rendering()  # places a legend's texts
    boxes = [(text.get_text(), text.get_window_extent()) for text in written(figure)]
    whole = figure.bbox
    cut = [
        text
        for text, box in boxes
        if min(box.x0, box.y0) < -1 or box.x1 > whole.x1 + 1 or box.y1 > whole.y1 + 1
    ]
    # A pixel is a hundredth of an inch.
    return cut + [
        f"{one} | {other}"
        for (one, a), (other, b) in combinations(boxes, 2)
        if min(a.x1, b.x1) - max(a.x0, b.x0) > 1 and min(a.y1, b.y1) - max(a.y0, b.y0) > 1
    ]


def crowded() -> Iterator[tuple[str, m.Manifest]]:
    """Experiments of which much must be said."""
    long = "a-very-long-label-of-a-kernel"
    many = {f"{long}-{n}": [boots(1e9 + n, 3)] for n in range(45)}
    yield "many kernels", recorded(many, name="W" * 80, unit="W" * 80)
    two = {label: [boots(10.0**size, 3, 0.1) for size in range(20)] for label in ("base", long)}
    yield "decades", recorded(two, points=sizes([10**size for size in range(20)]))
    cpus = {label: [boots(100.0 * n, 3) for n in range(1, 65)] for label in ("base", long)}
    yield "places without room", recorded(cpus, points=[m.Point({}, n) for n in range(1, 65)])
    names = {label: [boots(1.0, 3)] * 20 for label in ("base", long)}
    yield "words along the axis", recorded(names, points=sizes([f"{long}{n}" for n in range(20)]))
    panels = [m.Point({"size": str(s), "m" * 40: f"{long}{n}"}, 1) for n in range(5) for s in SIZES]
    seven = {f"{long}{n}": [boots(1e-7, 3, 0.3)] * 20 for n in range(9)}
    yield "panels", recorded(seven, points=panels, qemu=ICOUNT)
    described = recorded({label: [boots(1.0, 3)] * 4 for label in ("base", "W" * 64)})
    argv = [*HOSTILE, "W" * 900, "$\\frac{$", *["word"] * 200]
    workload = m.replace(described.workload, argv=argv)
    yield "a long command", m.replace(described, workload=workload)


@pytest.mark.slow
@pytest.mark.parametrize(("described"), [pytest.param(d, id=what) for what, d in crowded()])
def test_no_text_is_cut_or_stands_in_another(described: m.Manifest) -> None:
    shown = found(described)
    with charts.matplotlib_as_ours():
        drawn = list(experiment.charts(shown.results, shown.setting))
    assert drawn
    for chart in drawn:
        assert overlaps(chart.figure) == []
        assert chart.figure.get_figwidth() == 7.2
        assert chart.figure.get_figheight() < 16
        title = chart.caption.title.replace(" ", "")
        assert title in words(chart.figure).replace("\n", "").replace(" ", "")


@pytest.mark.slow
@pytest.mark.parametrize("kernels", [1, 2, 7, 50])
def test_no_text_of_functions_is_cut_or_stands_in_another(kernels: int) -> None:
    def rows(kernel: int) -> list[tuple[list[tuple[str, str, str, bool]], str, bool, list[int]]]:
        names = [f"{'W' * n}_{n}" for n in range(60)]
        return [([frame(n)], n, True, [10**16 + at * kernel**2]) for at, n in enumerate(names)]

    comparison = compare({f"{n}{'W' * 60}": rows(n) for n in range(kernels)})
    with charts.matplotlib_as_ours():
        drawn = list(bars.function_charts([comparison], None, per_op=None))
    for chart in drawn:
        assert overlaps(chart.figure) == []
        assert chart.figure.get_figheight() < 20


@limits(max_examples=examples(40))
@given(st.text(max_size=300), st.floats(0.3, 7))
def test_wrapped_text_fits_and_loses_nothing(text: str, room: float) -> None:
    lines = wrapped(text, room).split("\n")
    with charts.matplotlib_as_ours():
        figure = Figure()
        for line in lines:
            wide = figure.text(0, 0, line, size=8).get_window_extent().width / figure.dpi
            assert wide <= room * 1.02 + 0.02
    shown = "".join(lines).replace(" ", "")
    assert ".." in shown or shown == plain(text).replace(" ", "")
