"""Blame of two real kernels, with sources made from what their debug information names: lines are
where it has them, and which ones a commit changed is known."""

from collections import defaultdict
from pathlib import Path, PurePosixPath

import numpy as np
import pytest
from blame import truth

from profdiff.api.blamed import of_findings
from profdiff.evidence.blame.attribution import counted
from profdiff.evidence.findings import Findings, choose
from profdiff.evidence.results import Results
from profdiff.profile.comparison import Comparison
from profdiff.session.session import Session
from profdiff.views.blame import Blame

pytestmark = pytest.mark.guest
SUBJECTS = {True: "mm: every third line", False: "all: another release"}
# Where each function begins, and the executed instructions of each line.
Declared = dict[tuple[str, int], str]
Lines = dict[tuple[str, int], int]


def of_mm(file: str) -> bool:
    return file.startswith("mm/")


def known(comparison: Comparison, kernel: int) -> tuple[Declared, Lines]:
    counts = counted(comparison, kernel)
    chains = counts.addresses.chains
    files = [chains.strings[row] for row in chains.function_file]
    names = [chains.strings[row] for row in chains.function_name]
    declared = dict(zip(zip(files, chains.function_line.tolist(), strict=True), names, strict=True))
    lines: Lines = defaultdict(int)
    there = np.flatnonzero(np.diff(chains.offsets))
    leaves = chains.frames[chains.offsets[1:][there] - 1]
    for leaf, count in zip(leaves.tolist(), counts.count[there].tolist(), strict=True):
        lines[chains.strings[chains.frame_file[leaf]], int(chains.frame_line[leaf])] += count
    return declared, lines


def write(folder: Path, declared: Declared, ends: dict[str, int], third: str) -> None:
    """``ends``: by file, its last line; ``third``: what every third line is."""
    for file, end in ends.items():
        words = [declared.get((file, n), "line" if n % 3 else third) for n in range(1, end + 1)]
        texts = [f"{word} {n} of {file}" for n, word in enumerate(words, 1)]
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text("\n".join(texts) + "\n")


@pytest.fixture(scope="module")
def comparison(recorded: Path) -> Comparison:
    return findings(recorded).comparisons[0]


def findings(recorded: Path) -> Findings:
    session = Session.open(recorded)
    results = Results.gather(session.manifest)
    return Findings.of(session, choose(session.manifest, None, results), results)


@pytest.fixture(scope="module")
def blamed(
    recorded: Path, comparison: Comparison, tmp_path_factory: pytest.TempPathFactory
) -> Blame:
    folder = tmp_path_factory.mktemp("two kernels")
    truth.git(folder, "init", "-q", "-b", "main")
    sides = [known(comparison, kernel) for kernel in (0, 1)]
    ends: dict[str, int] = defaultdict(int)
    for file, line in (place for side in sides for places in side for place in places):
        path = PurePosixPath(file)
        if file and not path.is_absolute() and ".." not in path.parts:
            ends[file] = max(ends[file], line + 1)
    write(folder, sides[0][0], ends, "line")
    for subject in ("Linux 6.12.107", *SUBJECTS.values()):
        for mm, said in SUBJECTS.items():
            if said == subject:
                own = {file: end for file, end in ends.items() if of_mm(file) == mm}
                write(folder, sides[1][0], own, "other")
        truth.git(folder, "add", "-A")
        truth.git(folder, "commit", "-q", "-m", subject)
    return of_findings(findings(recorded), folder, ("main~2", "main"))


def test_the_rows_of_two_kernels_add_up(blamed: Blame, comparison: Comparison) -> None:
    base, new = comparison.counts[:, :2].sum(axis=0).tolist()
    assert blamed.delta == new - base == sum(row.instructions for row in blamed.rows) > 10**6
    assert blamed.delta == sum(row.effect for row in blamed.rows)
    for row in blamed.rows:
        assert row.instructions == row.added + row.removed
        assert row.effect == sum(share.effect for share in row.functions)
        assert row.instructions == sum(share.instructions for share in row.functions)
        assert row.removed <= 0 <= row.added
    assert {"commit", "more-often", "other-code"} <= {row.kind for row in blamed.rows}
    assert {row.subject for row in blamed.rows if row.commit} == {*SUBJECTS.values()}


def test_a_commit_has_what_its_lines_executed(blamed: Blame, comparison: Comparison) -> None:
    """All of what each kernel executed in every third line; of lines at which functions of either
    begin, what git says of them."""
    sides = [known(comparison, kernel) for kernel in (0, 1)]
    declared = {*sides[0][0], *sides[1][0]}
    (row,) = [row for row in blamed.rows if row.subject == SUBJECTS[True]]
    for (_, lines), told in zip(sides, (-row.removed, row.added), strict=True):
        own = {place: n for place, n in lines.items() if of_mm(place[0])}
        least = sum(n for place, n in own.items() if not place[1] % 3 and place not in declared)
        begins = sum(n for place, n in own.items() if place in declared)
        assert 10**5 < least <= told <= least + begins
