"""plan shows a shard of one workload as record makes it: its runs, in a folder of its own."""

import re
from collections import Counter
from pathlib import Path

from support import EXAMPLE, error_line, profdiff

SWEEP = ["--sweep", "n=1,2,3", "--repeat", "2", "--collector", "timed", "--all"]


def _planned(kernels: list[str], cwd: Path, *more: str) -> tuple[str, Counter[str]]:
    """The first word that plan says, the folder, and its runs without their numbers."""
    words = [*SWEEP, *kernels, *more, "--", EXAMPLE, "{n}", "20"]
    lines = profdiff("plan", *words, cwd=cwd).stdout.splitlines()
    runs = [match[1] for line in lines if (match := re.match(r" *[0-9]+  (timed .*)", line))]
    assert f"{len(runs)} to do" in lines[0]
    return lines[0].partition(":")[0], Counter(runs)


def test_plan_shows_a_shard(old_kernel: Path, new_kernel: Path, tmp_path: Path) -> None:
    kernels = [f"--kernel=a={old_kernel}", f"--kernel=b={new_kernel}"]
    folder, whole = _planned(kernels, tmp_path)
    assert whole.total() == 12
    every: Counter[str] = Counter()
    for number in (1, 2, 3):
        shard, runs = _planned(kernels, tmp_path, "--shard", f"{number}/3")
        assert shard == f"{Path(folder).stem}.shard-{number}-of-3.profdiff"
        assert runs.total() == 4
        every += runs
    assert every == whole
    assert _planned(kernels, tmp_path, "--shard", "1/3", "-o", "own")[0] == "own"
    words = [*kernels, "--shard", "4/3", "--", EXAMPLE, "4", "20"]
    assert "write I/N" in error_line(profdiff("plan", *words, cwd=tmp_path, status=2))
