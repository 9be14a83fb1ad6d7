"""Bounds that the history of each cell sets."""

import json
import statistics
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_atlas import session, suite
from support import error_line, profdiff

from profdiff.checks.history import MIN_CHANGES, fence
from profdiff.session import manifest as m
from profdiff.session.session import Session

RELEASES = [f"6.{number}.0" for number in range(1, 12)]
VALUES = [1000, 1010, 1005, 1020, 1022, 1019, 1030, 1041, 1040, 1050]
HISTORY = ("--fail-if", "instructions > history", "--history")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An atlas of nine recordings, each of two releases that follow each other; ``fork`` is in the
    last three."""
    folder = tmp_path_factory.mktemp("history")
    recordings = []
    for number in range(9):
        both = slice(number, number + 2)
        cells = {"mprotect": VALUES[both], "getpid": [1000, 1000]}
        cells |= {"fork": [1000, 1000]} if number > 5 else {}
        recordings.append(
            suite(
                folder / f"{number}.profdiff",
                {
                    name: {
                        release: {"entry": count}
                        for release, count in zip(RELEASES[both], counts, strict=True)
                    }
                    for name, counts in cells.items()
                },
            ).folder
        )
    profdiff("atlas", *recordings, "--site", folder / "atlas")
    return folder


def newest(folder: Path, name: str, **counts: int) -> Path:
    """A recording of the last two releases."""
    kernels = {
        cell: {RELEASES[9]: {"entry": before}, RELEASES[10]: {"entry": count}}
        for cell, count in counts.items()
        for before in [VALUES[9] if cell == "mprotect" else 1000]
    }
    return suite(folder / name, kernels).folder


def test_each_cell_has_the_bound_of_its_own_history(folder: Path, tmp_path: Path) -> None:
    made = newest(tmp_path, "a.profdiff", mprotect=1088, getpid=1001, fork=1001, exec=1001)
    said = profdiff("check", made, *HISTORY, "atlas", cwd=folder, status=1).stdout
    # The sizes of the changes, in percent: 0.10 0.20 0.29 0.50 0.96 1.00 1.07 1.08 1.49.
    assert said.splitlines() == [
        "fails: instructions:total > history",
        "  6.11.0 in mprotect: +3.62%, 1,050.00 to 1,088.00 per op; bound +3.56%, of 9 changes in "
        "atlas",
        "fails: instructions:total > history",
        "  6.11.0 in getpid: +0.10%, 1,000.00 to 1,001.00 per op; bound +0.00%, of 9 changes in "
        "atlas",
        "inconclusive: instructions:total > history",
        f"  6.11.0 in fork: atlas has 3 changes of fork, {MIN_CHANGES} are needed",
        "inconclusive: instructions:total > history",
        "  6.11.0 in exec: atlas has no cell exec",
        "0 of 4 pass",
    ]
    made = newest(tmp_path, "b.profdiff", mprotect=1087)
    less = ("--fail-if", "instructions < history")
    said = profdiff("check", made, *less, *HISTORY, folder / "atlas/index.json").stdout
    assert said == "2 of 2 pass\n"


def test_a_changes_own_recording_is_no_history(folder: Path, tmp_path: Path) -> None:
    """An atlas that has what is judged bounds it as one that does not."""
    made = newest(tmp_path, "c.profdiff", mprotect=1088, getpid=1000)
    recordings = [folder / f"{number}.profdiff" for number in range(9)]
    profdiff("atlas", *recordings, made, "--site", tmp_path / "atlas")
    said = profdiff("check", made, *HISTORY, tmp_path / "atlas", status=1).stdout
    assert "+3.62%, 1,050.00 to 1,088.00 per op; bound +3.56%, of 9 changes" in said


def test_a_session_is_a_cell_of_its_name(tmp_path: Path) -> None:
    for number in range(9):
        both = zip(RELEASES[number:], VALUES[number : number + 2], strict=False)
        session(tmp_path / f"{number}/watch", {release: {"f": count} for release, count in both})
    recordings = [tmp_path / f"{number}/watch" for number in range(9)]
    profdiff("atlas", *recordings, "--site", tmp_path / "atlas")
    kernels = {RELEASES[9]: {"f": 1050}, RELEASES[10]: {"f": 1088}}
    session(tmp_path / "watch.profdiff", kernels)
    arguments = ("check", tmp_path / "watch.profdiff", *HISTORY, tmp_path / "atlas")
    assert "bound +3.56%, of 9 changes" in profdiff(*arguments, status=1).stdout


def test_a_guest_that_is_given_otherwise_is_no_step(folder: Path, tmp_path: Path) -> None:
    made = newest(tmp_path, "e.profdiff", mprotect=1088)
    index = json.loads((folder / "atlas/index.json").read_text())
    index["series"][0]["releases"][3]["variant"]["append"] = "mitigations=off"
    (tmp_path / "index.json").write_text(json.dumps(index))
    said = profdiff("check", made, *HISTORY, tmp_path / "index.json", status=1).stdout
    assert ", of 7 changes in " in said


def test_what_cannot_be_asked_is_one_line(folder: Path, tmp_path: Path) -> None:
    made = newest(tmp_path, "d.profdiff", mprotect=1087)
    index = json.loads((folder / "atlas/index.json").read_text())
    index["series"][0]["machine"]["QEMU"] = "9.0.0"
    (tmp_path / "other.json").write_text(json.dumps(index))
    (tmp_path / "damaged.json").write_text("{}")
    index["series"][0]["cells"][0]["points"][1]["release"] = 99
    (tmp_path / "hostile.json").write_text(json.dumps(index))
    atlas = folder / "atlas"
    for words, told in (
        (HISTORY[:2], "write profdiff check --history ATLAS"),
        (("--fail-if", "instructions > +2%", "--history", atlas), "no condition has a bound of it"),
        (("--fail-if", "instructions:entry > history", "--history", atlas), "only totals have a"),
        ((*HISTORY, tmp_path / "none"), "cannot read"),
        ((*HISTORY, tmp_path / "damaged.json"), "is not an atlas of this profdiff"),
        ((*HISTORY, tmp_path / "hostile.json"), "names a release that it does not have"),
        ((*HISTORY, tmp_path / "other.json"), "no series of such a machine: QEMU is"),
    ):
        assert told in error_line(profdiff("check", made, *words, status=2))


@given(st.lists(st.floats(0, 1), min_size=MIN_CHANGES, max_size=60), st.floats(1, 1e6))
def test_one_large_change_does_not_move_the_fence(changes: list[float], large: float) -> None:
    found = fence([*changes, large])
    assert found <= 4 * max(changes) + 1e-9
    first, _, third = statistics.quantiles(sorted(changes), n=4, method="exclusive")
    # Both are quartiles, of one definition or another: they lie between the same neighbours.
    ordered = sorted(changes)
    assert ordered[0] <= first <= third <= ordered[-1]
    assert ordered[len(ordered) // 2 - 1] <= fence(changes)


def test_cells_of_another_machine_are_inconclusive(folder: Path, tmp_path: Path) -> None:
    """And not left out, as if they passed."""
    made = newest(tmp_path, "f.profdiff", mprotect=1050, getpid=1000)
    other = Session.open(made / "getpid")
    version = "QEMU emulator version 9.0.0"
    runs = [
        m.replace(run, qemu=m.replace(run.qemu, version=version)) for run in other.manifest.runs
    ]
    other.save(m.replace(other.manifest, runs=runs))
    said = profdiff("check", made, *HISTORY, folder / "atlas", status=125).stdout
    assert "inconclusive: instructions:total > history\n  6.11.0 in getpid: " in said
    assert "no series of such a machine: QEMU is " in said
    assert said.endswith("1 of 2 pass\n")


def test_a_twin_of_the_base_leaves_the_bases_change_in(folder: Path, tmp_path: Path) -> None:
    made = newest(tmp_path, "g.profdiff", mprotect=1088)
    own = Session.open(made / "mprotect")
    base, new = own.manifest.kernels
    twin = m.replace(base, label=f"{base.label}.aa", twin_of=base.label)
    own.save(m.replace(own.manifest, kernels=[base, twin, new]))
    said = profdiff("check", made, *HISTORY, folder / "atlas", status=1).stdout
    assert "bound +3.56%, of 9 changes in" in said


@pytest.mark.parametrize(
    "words",
    [
        ("size", "a=vmlinux", "b=vmlinux", "--fail-if", "functions > history"),
        ("bisect", "--good=A", "--bad=B", "--when", "instructions > history", "--", "true"),
    ],
)
def test_other_commands_refuse_it_at_once(words: tuple[str, ...], tmp_path: Path) -> None:
    """Before anything is read or built."""
    line = error_line(profdiff(*words, cwd=tmp_path, status=2))
    assert "only 'profdiff check --history ATLAS' knows the bound" in line
