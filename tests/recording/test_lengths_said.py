"""What plan says of lengths before anything runs: the program and its collectors decide."""

from pathlib import Path

import pytest
from support import EXAMPLE, need_program, profdiff

UNMARKED = """\
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	for (long left = argc > 2 ? atol(argv[2]) : 0; left > 0; left--)
		getppid();
	return argc < 3;
}
"""


def plan(
    old_kernel: Path, new_kernel: Path, folder: Path, program: Path, *options: str, word: str
) -> str:
    need_program("perf", "linux-perf")
    kernels = [f"--kernel=a={old_kernel}", f"--kernel=b={new_kernel}"]
    session = ["--ops", "400", "-o", folder / "s.profdiff"]
    return profdiff("plan", *kernels, *session, *options, "--", program, "4", word).stdout


@pytest.mark.parametrize(
    ("marked", "collectors", "runs"),
    [
        # Marks count for exact counts alone.
        (True, "exact", 2),
        (True, "exact,perf", 4),
        (True, "perf", 4),
        (False, "exact", 4),
        (False, "exact,perf", 8),
        (False, "exact,timed", 6),
        # What only times the workload has one length.
        (False, "timed", 2),
    ],
)
def test_who_runs_at_two_lengths(
    old_kernel: Path,
    new_kernel: Path,
    qemu: object,
    tmp_path: Path,
    marked: bool,
    collectors: str,
    runs: int,
) -> None:
    program = EXAMPLE if marked else tmp_path / "unmarked.c"
    if not marked:
        program.write_text(UNMARKED)
    options = ["--collector", collectors]
    said = plan(old_kernel, new_kernel, tmp_path, program, *options, word="{ops}")
    assert f"{runs} to do" in said
    pairs = "at two lengths" in said
    assert pairs == ("each point also runs with half of {ops}" in said)
    assert pairs == (runs > 2 * len(collectors.split(",")))


def test_what_to_type_is_said_before_anything_runs(
    old_kernel: Path, new_kernel: Path, qemu: object, tmp_path: Path
) -> None:
    program = tmp_path / "unmarked.c"
    program.write_text(UNMARKED)
    said = plan(old_kernel, new_kernel, tmp_path, program, word="400")
    assert f"-- {program} 4 '{{ops}}'" in said
    assert "2 to do" in said
    assert "note:" not in plan(
        old_kernel, new_kernel, tmp_path, program, "--difference", "none", word="400"
    )
