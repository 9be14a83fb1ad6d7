"""Known changes that a file acknowledges, and files with mistakes."""

import datetime
import shutil
from pathlib import Path

import pytest
from made_atlas import suite
from support import error_line, profdiff
from synthetic import frame
from synthetic_joint import part

import profdiff as library
from profdiff.checks.known import acknowledged, read_known
from profdiff.evidence.conditions.condition import Condition, Judgement, MeasuredChange
from profdiff.session import manifest as m

GROWS = Condition.parse("instructions > +2%")
REASON = "accounting by folio"


def known(folder: Path, text: str) -> Path:
    """A file of one entry."""
    file = folder / "known.toml"
    file.write_text(f"[[known]]\n{text}\n")
    return file


def entry(change: str = "instructions", bounds: str = '["+1%", "+3%"]', more: str = "") -> str:
    return f'change = "{change}"\nbounds = {bounds}\nreason = "{REASON}"\n{more}'


def judged(condition: Condition, low: float, high: float) -> Judgement:
    change = MeasuredChange("new", 100, 100 * (1 + (low + high) / 2), low, high)
    return Judgement(condition, change, condition.judge(change))


@pytest.fixture
def suite_folder(tmp_path: Path) -> Path:
    """Changes of +2.5% and +9%; getpid is the same."""
    cells = {"mprotect-anon": 1025, "mprotect-shm": 1090, "getpid": 1000}
    kernels = {
        name: {"6.1.0": {"entry": 1000}, "6.2.0": {"entry": count}} for name, count in cells.items()
    }
    return suite(tmp_path / "s.profdiff", kernels).folder


@pytest.mark.parametrize(
    ("low", "high", "is_known"),
    [
        (0.025, 0.025, True),
        (0.03, 0.03, True),
        (0.0301, 0.0301, False),
        (0.021, 0.029, True),
        (0.021, 0.035, False),
        (0.04, 0.05, False),
        # Inconclusive, and that it stays.
        (0.01, 0.025, False),
    ],
)
def test_the_whole_interval_lies_within_the_bounds(
    tmp_path: Path, low: float, high: float, is_known: bool
) -> None:
    one = judged(GROWS, low, high)
    entries = read_known(known(tmp_path, entry()), [GROWS])
    (found,), _ = acknowledged([one], entries, datetime.date(2026, 1, 1), {})
    assert found.acknowledged == (REASON if is_known else "")
    assert found.outcome == one.outcome
    told = f"acknowledged only from +1% to +3%: {REASON}"
    assert (told in found.change.note) == (one.outcome == "holds" and not is_known)


def test_an_entry_ends_after_its_last_day(tmp_path: Path) -> None:
    entries = read_known(known(tmp_path, entry(more="until = 2026-05-31")), [GROWS])
    last, after = datetime.date(2026, 5, 31), datetime.date(2026, 6, 1)
    for day, reason in ((last, REASON), (after, "")):
        (found,), _ = acknowledged([judged(GROWS, 0.025, 0.025)], entries, day, {})
        assert found.acknowledged == reason
    assert "from +1% to +3% until 2026-05-31" in found.change.note


def test_cells_of_a_suite_are_known_by_pattern(tmp_path: Path, suite_folder: Path) -> None:
    file = known(tmp_path, entry(more='cell = "mprotect-*"\nkernel = "6.2.0"'))
    arguments = ("check", suite_folder, "--fail-if", "instructions > +2%", "--acknowledge", file)
    said = profdiff(*arguments, status=1).stdout.splitlines()
    assert said == [
        "acknowledged: instructions:total > +2%",
        "  6.2.0 in mprotect-anon: +2.50%, 1,000.00 to 1,025.00 per op; acknowledged: "
        "accounting by folio",
        "fails: instructions:total > +2%",
        "  6.2.0 in mprotect-shm: +9.00%, 1,000.00 to 1,090.00 per op; acknowledged only "
        "from +1% to +3%: accounting by folio",
        "1 of 3 pass",
    ]
    file.write_text(file.read_text() + "[[known]]\n" + entry(bounds='["+9%", "+9%"]'))
    profdiff(*arguments)
    rows = library.open(suite_folder).check("instructions > +2%", acknowledge=file)
    assert [(row.verdict, row.acknowledged) for row in rows] == [
        ("acknowledged", REASON),
        ("acknowledged", REASON),
        ("passes", ""),
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            entry(more='cell = "getpid"'),
            "no longer needed: instructions in getpid (FILE: entry 1: accoun",
        ),
        (entry(more='cell = "getpd"'), "is called getpd: did you mean getpid?"),
        (entry(more='kernel = "6.2"'), "is called 6.2: did you mean 6.2.0?"),
        (entry("instructions:kernal"), "kernal: did you mean instructions:total?"),
        (entry(more='at = "size=4"'), "no point is checked at size=4"),
    ],
)
def test_entries_that_no_change_needs(
    tmp_path: Path, suite_folder: Path, text: str, words: str
) -> None:
    file, comment = known(tmp_path, text), tmp_path / "comment.md"
    condition = ("--fail-if", "instructions > +50%")
    found = profdiff(
        "check", suite_folder, *condition, "--acknowledge", file, "--markdown", comment
    )
    remark = found.stdout.splitlines()[-1]
    assert words.replace("FILE", str(file)) in remark
    assert remark.startswith(("no longer needed: instr", "matches nothing: instr"))
    written = comment.read_text()
    assert "**passes: 3**" in written
    assert written.rstrip().endswith(("&#41;", "&#63;", "4"))


def test_a_point_of_a_sweep(tmp_path: Path) -> None:
    rows = {
        label: [([frame("f")], "f", True, counts)]
        for label, counts in (("base", (1000, 1000)), ("new", (1100, 1200)))
    }
    points = [m.Point({"size": size}, 1, 1) for size in ("4", "8")]
    made = part(tmp_path / "s.profdiff", rows, points)
    file = known(tmp_path, entry(bounds='["+20%", "+20%"]', more='at = "size=8"'))
    arguments = ("check", made.folder, "--fail-if", "instructions > +2%", "--acknowledge", file)
    said = profdiff(*arguments, status=1).stdout
    assert "fails: instructions:total > +2%\n  new at size 4: +10.00%, 1,000.00" in said
    assert "acknowledged: instructions:total > +2%\n  new at size 8: +20.00%" in said
    profdiff(*arguments, "--at", "size=8")


def test_what_has_no_bounds(tmp_path: Path) -> None:
    condition = Condition.parse("inlined:pte_mkwrite changed")
    change = MeasuredChange("new", 1, 0, 0, 0, differs=True)
    entries = read_known(
        known(tmp_path, f'change = "inlined:pte_mkwrite"\nreason = "{REASON}"'), [condition]
    )
    (found,), told = acknowledged(
        [Judgement(condition, change, "holds")], entries, datetime.date(2026, 1, 1), {}
    )
    assert (found.acknowledged, told) == (REASON, [])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (entry(bounds='["+1%", "+3"]'), "entry 1: write the lower bound first, both in one unit"),
        (entry(bounds='["+3%", "+1%"]'), "entry 1: write the lower bound first"),
        (entry(bounds='["1%", "+3%"]'), "the bound in condition 'instructions >= 1%' needs"),
        (entry(bounds='["+1%"]'), "entry 1: Expected `array` of length 2"),
        (entry(bounds='["-1%", "history"]'), "entry 1: write the lower bound first"),
        (entry(bounds='["+1", "+3"]'), "entry 1: its bounds and condition"),
        (entry("instructions > +2%"), "entry 1: change = 'instructions > +2%': write METRIC"),
        (entry(more='until = "soon"'), "entry 1: Invalid RFC3339"),
        (entry(more="cel = 1"), "did you mean cell?"),
        (f'change = "instructions"\nreason = "{REASON}"', "entry 1: it has no bounds"),
        ('change = "instructions"\nbounds = ["+1%", "+3%"]\nreason = " "', "the reason is empty"),
        ('change = "instructions"\nbounds = ["+1%", "+3%"]', "required field `reason`"),
        ("=", "is not valid TOML"),
        ("[x]", "unknown key 'x'"),
    ],
)
def test_mistakes_are_one_line(tmp_path: Path, suite_folder: Path, text: str, words: str) -> None:
    file = known(tmp_path, text)
    arguments = ("check", suite_folder, "--fail-if", "instructions > +2%", "--acknowledge", file)
    line = error_line(profdiff(*arguments, status=2))
    assert line.startswith(str(file)) and words in line


def test_no_file(tmp_path: Path, suite_folder: Path) -> None:
    arguments = ("check", suite_folder, "--fail-if", "instructions > +2%", "--acknowledge")
    assert "cannot read" in error_line(profdiff(*arguments, tmp_path / "none.toml", status=2))
    assert "is not a regular file" in error_line(profdiff(*arguments, "/dev/zero", status=2))


def test_a_workload_that_was_not_recorded_is_inconclusive(suite_folder: Path) -> None:
    shutil.rmtree(suite_folder / "mprotect-shm")
    condition = ("--fail-if", "instructions > +5%")
    said = profdiff("check", suite_folder, *condition, status=125).stdout.splitlines()
    assert said == [
        "inconclusive: instructions:total > +5%",
        "  6.2.0 in mprotect-shm: not recorded yet",
        "2 of 3 pass",
    ]
    for name in ("mprotect-anon", "getpid"):
        shutil.rmtree(suite_folder / name)
    told = error_line(profdiff("check", suite_folder, *condition, status=125))
    assert told.endswith("nothing has been recorded yet: finish the recording")


def test_one_cell_is_known_by_its_name(tmp_path: Path, suite_folder: Path) -> None:
    file = known(tmp_path, entry(more='cell = "mprotect-*"\nuntil = 9999-12-31'))
    arguments = (suite_folder, "--fail-if", "instructions > +2%", "--acknowledge", file)
    said = profdiff("check", *arguments, "--cell", "mprotect-anon").stdout
    assert said.startswith("acknowledged: ") and "matches nothing" not in said
    said = profdiff("check", *arguments, "--cell", "getpid").stdout
    assert "no cell is checked that is called mprotect-*" in said


def test_a_kernel_that_is_not_in_the_cell(tmp_path: Path) -> None:
    change = MeasuredChange("new", 100, 103, 0.03, 0.03, part="fork")
    other = MeasuredChange("old", 100, 103, 0.03, 0.03, part="exec")
    both = [Judgement(GROWS, one, "holds") for one in (change, other)]
    file = known(tmp_path, entry(more='cell = "exec"\nkernel = "new"'))
    found, (told,) = acknowledged(both, read_known(file, [GROWS]), datetime.date(2026, 1, 1), {})
    assert told.endswith("kernel new is not checked in cell exec")
    assert not any(one.acknowledged for one in found)


def test_a_reason_of_several_lines_is_told_in_one(tmp_path: Path) -> None:
    text = entry().replace(f'"{REASON}"', f'"""\n{REASON},\n  see the letter\n"""')
    entries = read_known(known(tmp_path, text), [GROWS])
    (found,), _ = acknowledged([judged(GROWS, 0.02, 0.03)], entries, datetime.date(2026, 1, 1), {})
    assert found.acknowledged == ""  # inconclusive: +2% is not above +2%
    (found,), _ = acknowledged([judged(GROWS, 0.021, 0.03)], entries, datetime.date(2026, 1, 1), {})
    assert found.acknowledged == f"{REASON}, see the letter"
