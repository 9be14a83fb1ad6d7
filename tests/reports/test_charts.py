"""Charts: files that are there and whole, in which nothing hostile is interpreted."""

import struct
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from extent import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from support import error_line, profdiff
from synthetic import compare, example, findings, frame

from profdiff.base.metric import SAMPLED, Metric
from profdiff.reports import charts

HOSTILE = [
    "$\\alpha_{x}$ ^_ $",
    "a\u202eb\x07\x1b[2J",
    "\u6f22\u5b57",
    "</text><script>alert(1)</script>&\"'",
    "x" * 300,
    "\U0001f600",
    "e\u0301",
    "\\frac{",
]
SVG = "{http://www.w3.org/2000/svg}"


def texts(file: Path) -> str:
    """All text of an SVG file, which parses."""
    root = ET.fromstring(file.read_text())  # noqa: S314
    assert root.tag == f"{SVG}svg"
    assert not root.findall(f".//{SVG}script")
    return "\n".join(element.text or "" for element in root.iter(f"{SVG}text"))


def size(file: Path) -> tuple[int, int]:
    """Pixels of a PNG file."""
    data = file.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert data.endswith(b"IEND\xaeB`\x82")
    width, height = struct.unpack(">II", data[16:24])
    return width, height


def hostile(factor: int) -> list[tuple[list[tuple[str, str, str, bool]], str, bool, list[int]]]:
    return [([frame(n)], n, True, [(i + 1) * factor]) for i, n in enumerate(HOSTILE)]


def test_two_kernels(tmp_path: Path) -> None:
    comparison = compare(example(), ops=40_000)
    paths = charts.write(findings([comparison]), tmp_path / "new/folder")
    names = ["deltas.png", "deltas.svg", "totals.png", "totals.svg"]
    assert sorted(path.name for path in paths) == names
    assert sorted(path.name for path in (tmp_path / "new/folder").iterdir()) == names
    shown = texts(tmp_path / "new/folder/deltas.svg")
    for text in (
        "instructions per op: new minus base, all: +40.48 (+111.8%)",
        "instructions per op (40,000 ops)",
        "base: 6.0.0 (the base), new: 6.1.0",
        "less than base",
        "prot_commit_flush_ptes",
        "+27.50 (new)",
        "-7.50 (vanished)",
        "exact: every instruction",
    ):
        assert text in shown
    totals = texts(tmp_path / "new/folder/totals.svg")
    assert "instructions per op: totals" in totals
    assert "(+111.8%)" in totals
    width, height = size(tmp_path / "new/folder/deltas.png")
    assert width == 1440
    assert 300 < height < 2400
    assert (tmp_path / "new/folder/deltas.svg").stat().st_size < 100_000


def test_what_is_shown_adds_up(tmp_path: Path) -> None:
    rows = [([frame(f"f{n}")], f"f{n}", True, [1000 - n]) for n in range(30)]
    kernels = {"a": [(r[0], r[1], r[2], [1]) for r in rows], "b": rows}
    charts.write(findings([compare(kernels)]), tmp_path)
    shown = texts(tmp_path / "deltas.svg").splitlines()
    values = [int(t.split()[0].replace(",", "")) for t in shown if t.startswith("+") and "(" in t]
    assert len(values) == 16
    assert sum(values) == sum(row[3][0] for row in rows) - 30


@pytest.mark.parametrize(("per_op", "unit"), [(None, "per op"), (False, "instructions, millions")])
def test_units(per_op: bool | None, unit: str) -> None:
    deltas, _ = charts.figures(findings([compare(example(), ops=40_000)]), per_op=per_op)
    assert unit in deltas["svg"]
    assert ("per op" in deltas["title"]) == (per_op is None)
    sided, _ = charts.figures(findings([compare(example())]), side="kernel")
    assert sided["title"].startswith("instructions in the kernel: new minus base")
    assert ">main" not in sided["svg"]


def test_the_same_is_the_same_file() -> None:
    comparison = compare(example())
    assert charts.figures(findings([comparison])) == charts.figures(findings([comparison]))


def test_one_kernel_has_functions(tmp_path: Path) -> None:
    charts.write(findings([compare({"only": example()["base"]})]), tmp_path)
    assert {path.stem for path in tmp_path.iterdir()} == {"functions", "totals"}
    assert "change_pte_range" in texts(tmp_path / "functions.svg")


def test_three_kernels_have_a_panel_each(tmp_path: Path) -> None:
    rows = example()
    charts.write(
        findings([compare({"base": rows["base"], "b": rows["new"], "c": rows["base"]})]), tmp_path
    )
    shown = texts(tmp_path / "deltas.svg")
    assert "what differs most from base" in shown
    assert "b minus base, all: +1,619,275" in shown
    assert "no function differs: c is equal to base" in shown


@pytest.mark.slow
def test_many_kernels_fit(tmp_path: Path) -> None:
    rows = example()
    kernels = {f"k{n}": rows["new" if n % 2 else "base"] for n in range(60)}
    charts.write(findings([compare(kernels)]), tmp_path)
    for name in ("deltas", "totals"):
        assert max(size(tmp_path / f"{name}.png")) < 4000
        assert "more kernels are not shown" in texts(tmp_path / f"{name}.svg")


def test_equal_kernels_say_so(tmp_path: Path) -> None:
    rows = example()["base"]
    charts.write(findings([compare({"a": rows, "b": rows})]), tmp_path)
    assert "no function differs: b is equal to a" in texts(tmp_path / "deltas.svg")
    assert "(equal)" in texts(tmp_path / "totals.svg")


def test_nothing_counted(tmp_path: Path) -> None:
    rows = [([frame("f")], "f", True, [0])]
    charts.write(findings([compare({"a": rows, "b": rows})]), tmp_path)
    charts.write(findings([compare({"a": rows})]), tmp_path)


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    charts.write(
        findings([compare({"a": hostile(10**15), "n" * 64: hostile(2 * 10**15)})]), tmp_path
    )
    shown = texts(tmp_path / "deltas.svg")
    assert "$\\alpha_{x}$ ^_ $" in shown
    assert "a\\u{202e}b\\u{7}\\u{1b}[2J" in shown
    assert "\\u{6f22}" in shown
    assert not {"\u202e", "\x07", "\x1b"} & set(shown)


@pytest.mark.slow
@settings(max_examples=examples(15))
@given(st.lists(st.text(min_size=1, max_size=60), min_size=1, max_size=5, unique=True))
def test_any_name_is_drawn(names: list[str]) -> None:
    rows = [([frame(n, owner=n, file=n)], n, True, [i + 1]) for i, n in enumerate(names)]
    for figure in charts.figures(findings([compare({"a": rows, "b": rows[:1]})])):
        ET.fromstring(figure["svg"])  # noqa: S314


def test_samples_are_told(tmp_path: Path) -> None:
    exact = compare(example())
    metric = Metric("cpu-clock", "ns", kind=SAMPLED)
    sampled = replace(exact, metric=metric, samples=exact.self_ // 1000)
    charts.write(findings([exact, sampled]), tmp_path)
    names = {path.stem for path in tmp_path.iterdir()}
    assert names == {
        f"{kind}-{metric}-exact"
        for kind in ("deltas", "totals")
        for metric in ("instructions", "cpu-clock")
    }
    shown = texts(tmp_path / "deltas-cpu-clock-exact.svg")
    assert "cpu-clock (ns), sampled: new minus base" in shown
    assert "sampled: 1,447 samples of base, 3,066 samples of new" in shown
    assert "whiskers: one standard error" in shown
    assert "whiskers" not in texts(tmp_path / "totals-cpu-clock-exact.svg")


def folded(folder: Path) -> list[Path]:
    """Two files of folded stacks."""
    for name, count in (("a", 10), ("b", 30)):
        (folder / f"{name}.folded").write_text(f"main;f_[k] {count}\nmain 5\n")
    return [folder / "a.folded", folder / "b.folded"]


def test_the_command_writes_them(tmp_path: Path) -> None:
    result = profdiff("diff", *folded(tmp_path), "--charts", tmp_path / "charts")
    assert result.stdout == ""
    assert "f" in texts(tmp_path / "charts/deltas.svg")


def test_a_file_in_the_way(tmp_path: Path) -> None:
    files = folded(tmp_path)
    line = error_line(profdiff("diff", *files, "--charts", files[0], status=2))
    assert "this command reads it" in line
    other = tmp_path / "other"
    other.touch()
    line = error_line(profdiff("diff", *files, "--charts", other, status=2))
    assert "in the way" in line
    line = error_line(profdiff("diff", *files, "--charts", files[0] / "x", status=2))
    assert "in the way" in line


def test_tables_do_not_load_matplotlib(tmp_path: Path) -> None:
    script = (
        "import sys; from profdiff.cli import cli; "
        "cli(['diff', *sys.argv[1:], '--csv', '-'], standalone_mode=False); "
        "assert 'matplotlib' not in sys.modules"
    )
    files = map(str, folded(tmp_path))
    subprocess.run([sys.executable, "-c", script, *files], check=True, stdout=subprocess.DEVNULL)
