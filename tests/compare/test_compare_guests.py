"""Recordings of one kernel each that are compared: the same as one recording of both."""

import csv
import io
from pathlib import Path

import pytest
from support import RESTORED, error_line, profdiff

from profdiff.session.session import Session

_SOURCE = r"""
#include <profdiff.h>
#include <stdlib.h>
#include <sys/mman.h>

int main(int argc, char **argv)
{
	size_t size = strtoul(argv[1], NULL, 0) * 1024;
	char *region = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t at = 0; at < size; at += 4096)
		region[at] = 1;
	PROFDIFF_START();
	for (int i = 0; i < 10; i++)
		mprotect(region, size, i & 1 ? PROT_READ | PROT_WRITE : PROT_READ);
	PROFDIFF_STOP();
	return 0;
}
"""
_SUITE = """
observe = false

[[workload]]
name = "protect"
command = ["protect.c", "{kib}"]
sweep = { kib = [16, 64] }
ops = 10
"""


def _functions(folder: Path, *more: str) -> list[dict[str, str]]:
    text = profdiff("report", folder.name, "--csv", "-", *more, cwd=folder.parent).stdout
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.guest
def test_two_recordings_are_as_exact_as_one(
    old_kernel: Path, new_kernel: Path, tmp_path: Path
) -> None:
    (tmp_path / "protect.c").write_text(_SOURCE)
    (tmp_path / "s.toml").write_text(_SUITE)
    kernels = {"old": f"old={old_kernel}", "new": f"new={new_kernel}"}
    suite = [*RESTORED, "--settle", "0", "--vary-state", "0", "--suite", "s.toml"]
    for name, labels in {"old": ["old"], "new": ["new"], "both": ["old", "new"]}.items():
        words = [word for label in labels for word in ("--kernel", kernels[label])]
        said = profdiff("record", *suite, *words, "-o", f"{name}.profdiff", cwd=tmp_path)
        assert ("one kernel has nothing to be compared with here" in said.stderr) == (
            name != "both"
        )
    said = profdiff("compare", "old.profdiff", "new.profdiff", cwd=tmp_path)
    compared, both = tmp_path / "old-vs-new.profdiff", tmp_path / "both.profdiff"
    assert "against 6.12.107-profdiff: 2 of 2 cells cost at least 5% more" in said.stdout
    assert not said.stderr
    for cell in ("protect/16", "protect/64"):
        rows = _functions(compared, "--cell", cell)
        assert len(rows) > 100
        assert rows == _functions(both, "--cell", cell)
    # Of the sweep, whose events and metrics are those of one recording too.
    one, other = compared / "protect", both / "protect"
    for form in (["--csv-experiment", "-"], ["--events", "--csv", "-"], ["--types", "--csv", "-"]):
        mine, theirs = (profdiff("report", folder, *form).stdout for folder in (one, other))
        assert mine == theirs
    session = Session.open(one)
    assert {run.id for run in session.manifest.runs} == {
        run.id for run in Session.open(other).manifest.runs
    }
    for command in (
        ["check", one, "--fail-if", "instructions > +900%"],
        ["annotate", one, "change_pte_range"],
        ["mail", one, "--from", "A U Thor <a@example.org>"],
    ):
        profdiff(*command)

    # Another memory is another state of the kernel's.
    words = [*suite, "--kernel", kernels["new"], "--memory", "600M", "--only", "protect/16"]
    profdiff("record", *words, "-o", "large.profdiff", cwd=tmp_path)
    refused = profdiff("compare", "old.profdiff", "large.profdiff", cwd=tmp_path, status=2)
    assert "--memory 1024M, large.profdiff with --memory 600M" in error_line(refused)
