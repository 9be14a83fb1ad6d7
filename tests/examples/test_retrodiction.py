"""The published pairs, and the arithmetic over them, by numbers worked out by hand."""

import importlib.util
import math
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import msgspec
import pytest
from support import ROOT, need_kernel, need_program

from profdiff.collectors.kernels.kinds.registry import parse
from profdiff.views.results import recording

FOLDER = ROOT / "examples/retrodiction"


def bench() -> ModuleType:
    """benches/retrodiction.py."""
    spec = importlib.util.spec_from_file_location("retrodiction", ROOT / "benches/retrodiction.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


retrodiction = bench()
PAIRS = retrodiction.read_pairs()


@pytest.mark.parametrize("name", PAIRS)
def test_a_pair_says_what_to_run(name: str) -> None:
    pair = PAIRS[name]
    assert pair.kernels or pair.linux
    assert pair.checked == "unchecked" or re.match(r"read on \d{4}-\d\d-\d\d in ", pair.checked)
    for row in pair.row:
        assert (row.change_pct is None) == (row.before is not None and row.after is not None)
        before, after = retrodiction.cells(pair, row, "/a repository")
        assert before.kernel == 0 and after.kernel == 1
        # A row that differs in nothing says nothing.
        assert (before.command, before.machine.append, before.machine.kernels[0]) != (
            after.command,
            after.machine.append,
            after.machine.kernels[1],
        )
        for cell in (before, after):
            assert (FOLDER / cell.command[0]).is_file()
            assert cell.ops > 1
            for spec in row.kernels or pair.kernels or []:
                parse(spec)


def test_as_many_as_the_page_needs_can_be_run() -> None:
    runnable = [name for name, pair in PAIRS.items() if pair.kernels]
    assert len(runnable) >= 30


def test_an_unknown_key_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (FOLDER / "vfs-failed-open.toml").read_text()
    (tmp_path / "pair.toml").write_text(f'kernel = "debian:sid"\n{text}')
    monkeypatch.setattr(retrodiction, "FOLDER", tmp_path)
    with pytest.raises(msgspec.ValidationError, match="unknown field `kernel`"):
        retrodiction.read_pairs()


def test_halves_share_nothing_and_depend_on_the_seed_alone() -> None:
    names = [f"pair-{number}" for number in range(7)]
    rules, held = (retrodiction.half(names, 5, which) for which in ("rules", "held-out"))
    assert (len(rules), len(held)) == (3, 4)
    assert sorted([*rules, *held]) == names
    assert retrodiction.half(names[::-1], 5, "rules") == rules
    assert any(retrodiction.half(names, seed, "rules") != rules for seed in range(6, 12))


def test_the_second_search_is_in_no_half() -> None:
    pairs = retrodiction.read_pairs()
    parts = [retrodiction.drawn(pairs, 5, which) for which in ("rules", "held-out", "second")]
    assert sorted(name for part in parts for name in part) == sorted(pairs)
    assert [len(part) for part in parts] == [18, 19, 12]
    assert retrodiction.drawn(pairs, 5, "all") == list(pairs)


@pytest.mark.parametrize(
    ("better", "row", "ratio"),
    [
        ("lower", {"before": 100, "after": 150}, 1.5),
        ("higher", {"before": 100, "after": 150}, 1 / 1.5),
        ("lower", {"change_pct": -20}, 0.8),
        ("higher", {"change_pct": -20}, 1.25),
    ],
)
def test_a_published_change_is_one_of_time(
    better: str, row: dict[str, float], ratio: float
) -> None:
    words = dict.fromkeys(["title", "change", "source", "checked", "date", "machine"], "a word")
    words |= {"workload": "a loop", "unit": "ns", "machine_kind": "bare metal", "better": better}
    pair = msgspec.convert({**words, "row": [{"label": "a row", **row}]}, retrodiction.Pair)
    assert pair.published(pair.row[0]) == pytest.approx(math.log(ratio))


def test_sums() -> None:
    """ln of time: 1, -1, 0.5, and 0.01, which has no sign; of counts: 0.5, 0.2, 0.001, -3."""
    of = retrodiction.Result
    results = [of(1, 0.5, 1), of(-1, 0.2, -1), of(0.5, 0.001, -0.25), of(0.01, -3, 1)]
    once = retrodiction.Sums.of(results)
    # 0.001 is less than what has a sign, so it agrees with none. Errors: 0.5, 1.2, 0.499.
    assert (once.agreeing, once.cases) == (1, 3)
    assert once.error == pytest.approx(0.5) and once.worst == pytest.approx(1.2)
    assert once.share == pytest.approx(0.002)
    each = retrodiction.Sums.of(results, "each")
    assert (each.agreeing, each.cases, each.share) == (2, 3, 1)
    assert (each.error, each.worst) == (0, 0.75)
    assert retrodiction.Sums.of(results[3:]) is None
    assert retrodiction.Sums.of(results, "priced") is None


def test_prices_say_a_sign_only_if_both_ends_do() -> None:
    of, counts = retrodiction.compared, retrodiction.Counts
    sure = of(1, counts(10, 10, 4, 10), counts(20, 30, 8, 40))
    assert sure.priced == pytest.approx((math.log(2) + math.log(4)) / 2)
    assert of(1, counts(10, 10, 4, 10), counts(20, 30, 8, 9)).priced == 0
    foreign = of(1, counts(10, 10), counts(20, 30))
    assert math.isnan(foreign.priced) and foreign.each == pytest.approx(math.log(3))
    sums = retrodiction.Sums.of(
        [sure, foreign, of(1, counts(1, 1, 2, 2), counts(2, 2, 1, 4))], "priced"
    )
    assert (sums.agreeing, sums.cases) == (1, 2)


def test_the_interval_of_a_proportion() -> None:
    """Newcombe (1998), table I: 81 of 263, 15 of 148, 0 of 20, and 1 of 29, by the score method
    without continuity correction."""
    for hits, cases, low, high in [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ]:
        assert retrodiction.wilson(hits, cases) == pytest.approx((low, high), abs=5e-5)


def test_reports_and_documents_have_the_same_numbers() -> None:
    """Those of the page's table, whose rows have a yes or a no where time has a sign."""
    page = (FOLDER / "README.md").read_text()
    signs, of_prices = [], []
    for name, rest in re.findall(r"(?m)^\| \*\*(\S+)\*\* \|(.*)\|$", page):
        differs, time, instructions, sign, *each = (cell.strip(" *") for cell in rest.split("|"))
        assert differs == retrodiction.comparison(PAIRS[name]) and len(each) == 4
        assert sign or abs(float(time.rstrip("%"))) < 100 * retrodiction.PUBLISHED
        # A sign that agrees is that of the two changes.
        assert sign != "yes" or time[0] == instructions[0]
        if retrodiction.group(PAIRS[name]) == "one thread":
            signs.append(sign)
            of_prices += [(sign, each[3])] if each[3] else []
    agreeing, published = signs.count("yes"), signs.count("yes") + signs.count("no")
    assert (agreeing, published) == (recording.AGREEING, recording.PUBLISHED)
    told = f"n {agreeing} of {published} published cases, the sign of instructions was"
    assert f"I{told} that of time" in page
    assert f"I{told} that of time" in (ROOT / "docs/retrodiction.md").read_text()
    assert f"I{told} [that of time](docs/retrodiction.md)" in (ROOT / "README.md").read_text()
    assert f"in {agreeing} of {published} published cases, time and" in recording.TIME_SIGN
    assert f"| one thread | instructions | {agreeing} of {published} (" in page
    cases, right = len(of_prices), sum(priced == "yes" for _, priced in of_prices)
    assert f"| one thread | at prices | {right} of {cases} (" in page
    counted = sum(sign == "yes" for sign, _ in of_prices)
    assert f"Instructions have the sign in {counted} of the same {cases} pairs" in page
    short = (ROOT / "docs/retrodiction.md").read_text()
    assert f"the sign of time in {right} of {cases} cases" in short
    assert f"instructions have it in {counted} of these {cases}" in short


@pytest.mark.build
def test_programs_refuse_wrong_words(tmp_path: Path) -> None:
    for source, words in [("calls", "dup"), ("folios", "mmap 4 64"), ("writes", "read clear 4k")]:
        program = tmp_path / source
        argv = [need_program("cc", "gcc"), "-O2", f"-I{ROOT / 'collectors/guest'}", "-o"]
        subprocess.run([*argv, str(program), str(FOLDER / f"{source}.c")], check=True)
        done = subprocess.run([str(program), *words.split(), "3"], capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr


@pytest.mark.guest
@pytest.mark.slow
def test_a_pair_is_recorded(tmp_path: Path) -> None:
    """fstat() takes fewer instructions than fstatat() with an empty path on one kernel, and as many
    as the suite's own fstat; a second time records nothing."""
    kernel = str(need_kernel("v6.12.107"))
    machine = retrodiction.Machine((kernel, kernel), "", "", "512M")
    paths, descriptors, suite = (
        retrodiction.Cell(machine, (program, word, "{ops}"), 100, 0)
        for program, word in (
            ("calls.c", "fstatat"),
            ("calls.c", "fstat"),
            ("../suite/stat.c", "fstat"),
        )
    )
    recordings = retrodiction.Recordings(tmp_path, [paths, descriptors, suite])
    assert recordings.counts(paths) is None
    recordings.record()
    by_path, by_descriptor = recordings.counts(paths), recordings.counts(descriptors)
    assert 0 < by_descriptor.once < by_path.once
    assert by_path.each >= by_path.once
    manifests = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("manifest.json")}
    recordings.record()
    assert manifests == {path: path.stat().st_mtime_ns for path in manifests}
