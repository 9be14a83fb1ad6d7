"""Conditions on recordings that exist: samples, functions with what they call, several boots."""

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import error_line, need_profile, profdiff, profile_pair

from profdiff.profile.stack_table import StackTable


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One recording of each fixture kernel: 6,211 and 10,699 samples."""
    session = tmp_path_factory.mktemp("sampled") / "s.profdiff"
    profdiff("import", *profile_pair(), "--ops", "200000", "-o", session)
    return session


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("condition", "status", "words"),
    [
        ("cpu-clock > +2%", 1, "from 6,211 and 10,699 samples"),
        ("cpu-clock > +64%", 1, "+72.26"),
        ("cpu-clock > +70%", 125, "+64.20 to +80.74"),
        ("cpu-clock > +81%", 0, "one boot does not show how boots differ"),
        ("cpu-clock:kernel < -10%", 0, "+71.93"),
        ("cpu-clock:total:change_protection_range > +60%", 1, "from 5,284 and 9,497 samples"),
        ("cpu-clock:change_protection_range > +20%", 125, "from 14 and 39 samples"),
        ("cpu-clock:commit_anon_folio_batch > +3/op", 1, "0 to 15.62 per op"),
        ("cpu-clock:commit_anon_folio_batch > +15/op", 125, "from 0 and 625 samples"),
        ("cpu-clock:commit_anon_folio_batch > +1000%", 1, "new"),
    ],
)
def test_samples_are_judged(sampled: Path, condition: str, status: int, words: str) -> None:
    assert words in profdiff("check", sampled, "--fail-if", condition, status=status).stdout


def folded(folder: Path, name: str, factor: float, seed: int) -> str:
    """A recording of main, which calls sys, which calls f and g and, through f, itself."""
    drawn = random.Random(seed)
    counts = [round(n * drawn.gauss(1, 0.005)) for n in (1_000, 4_000 * factor, 3_000, 500, 2_000)]
    stacks = ["main", "main;sys;f", "main;sys;g", "main;sys;f;sys;f", "main;other"]
    file = folder / name
    lines = (f"{stack} {count}\n" for stack, count in zip(stacks, counts, strict=True))
    file.write_text("".join(lines))
    return str(file)


@pytest.mark.slow
def test_recordings_of_one_kernel_are_boots(tmp_path: Path) -> None:
    files = [
        f"{label}={folded(tmp_path, f'{label}{number}', factor, number)}"
        for number in range(5)
        for label, factor in (("a", 1.0), ("b", 1.2))
    ]
    shown = " ".join(profdiff("diff", *files).stdout.split())
    assert "5 recordings of each kernel, each taken for a boot" in shown
    assert "changed" in shown
    assert shown.count("came as folded stacks") == 1
    session = tmp_path / "s.profdiff"
    profdiff("import", *files, "-o", session)
    for condition, status in (
        ("samples > +5%", 1),
        ("samples:f > +10%", 1),
        ("samples:g > +2%", 0),
        ("samples:total:sys > +5%", 1),
        ("samples:total:sys > +15%", 0),
        ("samples:total:other > +2%", 0),
    ):
        said = profdiff("check", session, "--fail-if", condition, status=status).stdout
        assert "samples:" in said
    # Nobody knows how many samples a line of this format stands for.
    profdiff("import", *files[:2], "-o", tmp_path / "two.profdiff")
    check = ("check", tmp_path / "two.profdiff", "--fail-if", "samples > +5%")
    assert "too few runs to tell" in profdiff(*check, status=125).stdout


@pytest.mark.kernel
def test_recordings_that_are_no_boots_of_one_kernel(tmp_path: Path) -> None:
    file = folded(tmp_path, "x", 1, 1)
    assert "given twice" in error_line(profdiff("diff", f"a={file}", f"a={file}", status=2))
    pair = map(need_profile, ("v6.12.107", "v6.18.15"))
    line = error_line(profdiff("diff", *(f"a={one}" for one in pair), status=2))
    assert "give them different labels" in line


@given(
    st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=6), min_size=1, max_size=12),
    st.sets(st.integers(0, 5)),
)
def test_stacks_that_contain_a_function(chains: Sequence[list[int]], wanted: set[int]) -> None:
    offsets = np.cumsum([0, *map(len, chains)])
    functions = np.concatenate([np.array(chain) for chain in chains])
    table, leaf = StackTable.intern(offsets, functions)
    found = table.containing(np.isin(np.arange(6), list(wanted)))
    assert found[leaf].tolist() == [bool(wanted & set(chain)) for chain in chains]
