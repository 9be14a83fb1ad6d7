"""A suite on real kernels: recorded, resumed, divided into shards and merged again."""

import filecmp
from pathlib import Path

import pytest
from support import error_line, profdiff

from profdiff.session import manifest as m
from profdiff.session.suite import Suite

_SUITE = """
observe = false

[[workload]]
name = "call"
tags = ["floor"]
command = ["call.c", "{what}"]
sweep = { what = ["here", "absent"] }
ops = 10

[[workload]]
name = "broken"
command = ["call.c", "broken"]
"""
_SOURCE = r"""
#include <profdiff.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 2 || !strcmp(argv[1], "broken"))
		return 3;
	if (!strcmp(argv[1], "absent")) {
		fprintf(stderr, "not there: no such call (ENOSYS)\n");
		return 4;
	}
	PROFDIFF_START();
	for (int i = 0; i < 10; i++)
		getppid();
	PROFDIFF_STOP();
	return 0;
}
"""


@pytest.mark.guest
def test_a_suite_from_shards_is_that_of_one_process(old_kernel: Path, tmp_path: Path) -> None:
    (tmp_path / "call.c").write_text(_SOURCE)
    (tmp_path / "s.toml").write_text(_SUITE)
    words = ["--suite", "s.toml", "--kernel", f"base={old_kernel}", "--aa", "1", "--jobs", "1"]

    only = profdiff("record", *words, "--only", "call/h*", cwd=tmp_path)
    assert "2 runs with a result, 0 not there, 0 failed" in only.stdout
    whole = profdiff("record", *words, cwd=tmp_path, status=1)
    assert "2 runs with a result, 2 not there, 2 failed" in whole.stdout
    assert error_line(whole) == "2 runs of the suite failed"
    again = profdiff("record", *words, "--tag", "floor", cwd=tmp_path)
    assert "all runs are already recorded" in again.stderr

    for number in (1, 2):
        shard = ("--tag", "floor", "--shard", f"{number}/2")
        profdiff("record", *words, *shard, cwd=tmp_path)
    folders = [f"s.shard-{number}-of-2.profdiff" for number in (1, 2)]
    for folder in folders:
        runs = [
            run
            for _, _, one in Suite.open(tmp_path / folder).recorded()
            for run in one.manifest.runs
        ]
        assert len(runs) == 2
    profdiff("merge", "merged", *folders, cwd=tmp_path)

    (mine,) = [one for _, _, one in Suite.open(tmp_path / "merged").recorded()]
    theirs = next(one for _, _, one in Suite.open(tmp_path / "s.profdiff").recorded())
    assert _bare(mine.manifest) == _bare(theirs.manifest)
    for run in theirs.manifest.runs:
        for what in {"counts", "kallsyms", "stdout"} & run.files.keys():
            assert filecmp.cmp(
                mine.path(run.files[what]), theirs.path(run.files[what]), shallow=False
            ), (run.id, what)


def _bare(manifest: m.Manifest) -> m.Manifest:
    """Without times and folders, and with runs in the plan's order: the whole one was recorded in
    two steps."""
    runs = [
        m.replace(
            run,
            started="",
            wall_seconds=0,
            qemu=run.qemu and m.replace(run.qemu, arguments=[]),
        )
        for run in sorted(manifest.runs, key=lambda run: run.id)
    ]
    kernels = [m.replace(kernel, config=None) for kernel in manifest.kernels]
    bare = m.replace(manifest, functions=None, events=None, checksums={}, checksum=None)
    return m.replace(bare, created="", command=[], runs=runs, kernels=kernels)
