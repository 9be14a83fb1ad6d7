"""``profdiff check`` of several architectures: each by itself."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from support import error_line, profdiff
from synthetic_joint import POINTS, example, joint, part

from profdiff.session.parts import Parts


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of two kernels at two points on two architectures."""
    return Path(joint(tmp_path_factory.mktemp("joint") / "S").folder)


@pytest.mark.parametrize(
    ("condition", "options", "failing"),
    [
        ("instructions > +50%", (), ["new on x86_64 at folio_kib 4"]),
        (
            "instructions > +20%",
            (),
            ["new on x86_64 at folio_kib 4", "new on arm64 at folio_kib 4"],
        ),
        ("instructions > +20%", ("--at", "folio_kib=64"), []),
        ("instructions < -40%", (), ["new on arm64 at folio_kib 64"]),
        ("instructions:flush > +1/op", (), ["new on x86_64 at folio_kib 4"]),
        ("instructions:contpte < -1/op", ("--at", "folio_kib=4"), ["new on arm64 at folio_kib 4"]),
    ],
)
def test_failures_say_on_which_architecture(
    folder: Path, condition: str, options: tuple[str, ...], failing: list[str]
) -> None:
    shown = profdiff(
        "check", folder, "--fail-if", condition, *options, status=1 if failing else 0
    ).stdout
    lines = shown.splitlines()
    found = [
        line.strip().partition(":")[0]
        for verdict, line in zip(lines[::2], lines[1::2], strict=True)
        if verdict.startswith("fails")
    ]
    assert found == failing
    # All that was judged is said, of each architecture as often.
    assert sum(" on x86_64 " in line for line in lines) == sum(
        " on arm64 " in line for line in lines
    )


def test_it_is_judged_as_in_each_part(folder: Path) -> None:
    both = profdiff("check", folder, "--fail-if", "instructions > +1%", status=1).stdout
    for name in ("x86_64", "arm64"):
        own = profdiff("check", folder / name, "--fail-if", "instructions > +1%", status=1).stdout
        mine = [
            line.replace(f" on {name}", "") for line in both.splitlines() if f" on {name}" in line
        ]
        assert mine == [line for line in own.splitlines() if line.startswith("  ")]


def test_a_function_of_one_architecture_has_no_change_on_the_other(folder: Path) -> None:
    condition = "instructions:contpte > +1%"
    shown = profdiff("check", folder, "--fail-if", condition, "--at", "folio_kib=4").stdout
    assert "new on x86_64 at folio_kib 4: none, 0 to 0; no kernel executes it there" in shown
    assert "new on arm64 at folio_kib 4: -51.11%, 45.00 to 22.00 per op" in shown


def test_files_name_the_architecture(folder: Path, tmp_path: Path) -> None:
    junit, summary = tmp_path / "check.xml", tmp_path / "summary.md"
    profdiff(
        *("check", folder, "--fail-if", "instructions > +50%"),
        *("--junit", junit, "--github-summary", summary),
        status=1,
    )
    suites = ET.parse(junit).getroot()  # noqa: S314
    assert [one.get("name") for one in suites] == [
        f"new on {name} at folio_kib {size}" for name in ("x86_64", "arm64") for size in (4, 64)
    ]
    assert (suites.get("tests"), suites.get("failures")) == ("4", "1")
    assert "new on x86" in summary.read_text()


def test_what_no_architecture_has_is_one_line(folder: Path) -> None:
    said = error_line(profdiff("check", folder, "--fail-if", "instructions:contpt > +1%", status=2))
    assert "did you mean 'contpte'?" in said
    said = error_line(
        profdiff("check", folder, "--fail-if", "instructions > +1%", "--kernel", "x", status=2)
    )
    assert said == "--kernel x: the session compares new"


def test_what_is_not_recorded_is_undecided(tmp_path: Path) -> None:
    names = ("x86_64", "arm64")
    made = Parts.create(tmp_path / "S", names, ["profdiff", "record"])
    part(made.part("x86_64"), example()["x86_64"])
    arguments = ("check", made.folder, "--fail-if", "instructions > +1%")
    said = error_line(profdiff(*arguments, status=125))
    assert said == "arm64 has not been recorded yet: finish the recording"
    part(made.part("arm64"), example()["arm64"], POINTS[:1])
    said = error_line(profdiff(*arguments, "--at", "folio_kib=64", status=125))
    assert said == "arm64 does not have this point: finish the recording"
