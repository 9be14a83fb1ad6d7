"""Each reader with some thousand mutated inputs; and that what tries them finds what is planted."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from extent import examples
from support import IMPORTED, ROOT

from fuzz.mutation import MAX_SIZE, case
from fuzz.planted import EXPECTED
from fuzz.planted import TARGETS as PLANTED
from fuzz.targets import TARGETS

SEED = 11


def fuzz(folder: Path, *arguments: str, module: str = "fuzz") -> subprocess.CompletedProcess[str]:
    """What scripts/fuzz runs; its process forks, so it is none with threads."""
    # A module's bytecode, too, is a file that is written.
    settings = {
        "PYTHONDONTWRITEBYTECODE": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "RAYON_NUM_THREADS": "2",
        "MALLOC_ARENA_MAX": "2",
    }
    paths = os.pathsep.join([str(IMPORTED), str(ROOT / "tests")])
    return subprocess.run(
        [sys.executable, "-m", module, "0", *arguments, "--folder", str(folder)],
        env={**os.environ, **settings, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=580,
        check=False,
    )


@pytest.mark.build
def test_nothing_is_found(tmp_path: Path) -> None:
    """One process tries all, which loads what they read once."""
    cases = {target.name: examples(target.cases) for target in TARGETS}
    chosen = [f"{name}={number}" for name, number in cases.items()]
    result = fuzz(tmp_path, *chosen, "--seed", str(SEED), "--jobs", "2")
    skipped = dict(re.findall(r"(?m)^(\S+): skipped: (.*)$", result.stdout))
    assert result.returncode == 0, result.stdout + result.stderr
    rows = [line.split() for line in result.stdout.splitlines()]
    tried = {row[0]: row[1] for row in rows if len(row) == 9}
    wanted = {name: f"{number:,}" for name, number in cases.items() if name not in skipped}
    assert tried.items() >= wanted.items()
    if skipped:
        pytest.skip(f"{skipped}")


def test_names_are_distinct() -> None:
    assert len({target.name for target in TARGETS}) == len(TARGETS)


@pytest.mark.slow
def test_what_is_planted_is_found(tmp_path: Path) -> None:
    """Every kind of defect, and every case behind one that ended its process."""
    result = fuzz(tmp_path, "--cases", "8", "--jobs", "2", "--seed", "1", module="fuzz.planted")
    assert result.returncode == 1, result.stdout + result.stderr
    expectations = [*EXPECTED.values(), "refuses its own seed"]
    rows = [line.split() for line in result.stdout.splitlines()]
    cases = {row[0]: row[1] for row in rows if len(row) == 9}
    for target, expected in zip(PLANTED, expectations, strict=True):
        found = re.findall(rf"FOUND {target.name}, seed 1, case \d+ .*: .*", result.stdout)
        assert found, target.name
        assert expected in found[0]
        assert cases[target.name] == "8"


@pytest.mark.slow
def test_a_finding_is_shown_again_by_its_number_and_by_its_file(tmp_path: Path) -> None:
    result = fuzz(tmp_path, "exception", "--cases", "8", "--seed", "1", module="fuzz.planted")
    number = re.search(r"--seed 1 --case (\d+)", result.stdout)
    file = re.search(r"--input (\S+)", result.stdout)
    assert number
    assert file
    (target,) = (target for target in PLANTED if target.name == "exception")
    assert Path(file[1]).read_bytes() == case(target, target.seeds(), 1, int(number[1]))
    for which in (("--case", number[1], "--seed", "1"), ("--input", file[1])):
        again = fuzz(tmp_path, "exception", *which, module="fuzz.planted")
        assert again.returncode == 1
        assert "KeyError: 'planted'" in again.stdout


@pytest.mark.slow
def test_a_finding_is_made_small(tmp_path: Path) -> None:
    file = tmp_path / "large"
    file.write_bytes(b"some ! text " * 20)
    result = fuzz(tmp_path, "exception", "--minimise", str(file), module="fuzz.planted")
    assert (tmp_path / "large.min").read_bytes() == b"!", result.stdout + result.stderr
    file.write_bytes(b"nothing")
    result = fuzz(tmp_path, "exception", "--minimise", str(file), module="fuzz.planted")
    assert "nothing is wrong" in result.stderr


def test_cases_are_the_same_each_time() -> None:
    (target,) = (target for target in TARGETS if target.name == "counts")
    seeds = target.seeds()
    first = [case(target, seeds, 1, number) for number in range(200)]
    assert first == [case(target, seeds, 1, number) for number in range(200)]
    assert first[: len(seeds)] == seeds
    assert len(set(first)) > 150
    assert max(map(len, first)) <= MAX_SIZE
    others = [case(target, seeds, 2, number) for number in range(200)]
    assert first != others


def test_an_unknown_target_is_named(tmp_path: Path) -> None:
    result = fuzz(tmp_path, "elephant")
    assert result.returncode == 1
    assert "no target elephant: there are perf-data" in result.stderr
