"""Probes by kprobe events in guests of Debian's kernels: known calls and values."""

import json
from pathlib import Path

import pytest
from support import RESTORED, need_debian, need_program, profdiff
from tables import rows, tables

SOURCE = """
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	long rounds = atol(argv[1]);
	char *p = mmap(0, 5 << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (long i = 0; i < rounds; i++) {
		mprotect(p, 3 << 12, PROT_READ);
		mprotect(p, 5 << 12, PROT_READ | PROT_WRITE);
	}
	if (fork() == 0) {
		for (long i = 0; i < rounds; i++)
			if (mprotect(p + 1, 4096, PROT_READ) == 0)
				_exit(1);
		_exit(0);
	}
	wait(0);
	return 0;
}
"""
PROBES = (
    "do_mprotect_pkey len",
    "__x64_sys_mprotect return",
    "prot_commit_flush_ptes nr_ptes",
)


@pytest.mark.guest
@pytest.mark.network
def test_values_of_all_of_the_workloads_processes(tmp_path: Path) -> None:
    need_program("cc", "gcc")
    specs = ["debian:bookworm-backports", "debian:trixie-backports"]
    for spec in specs:
        need_debian(spec)
    source = tmp_path / "toggle.c"
    source.write_text(SOURCE)
    command = ["record", "--collector", "probe", *RESTORED, "--ops", "{ops}"]
    command += [
        x for label, spec in zip("ab", specs, strict=True) for x in ("--kernel", f"{label}={spec}")
    ]
    command += [x for probe in PROBES for x in ("--probe", probe)]
    command[command.index("{ops}")] = "200"
    said = profdiff(*command, "-o", tmp_path / "s", "--", source, "{ops}")
    assert "do_mprotect_pkey.len" in said.stdout
    data = json.loads(profdiff("report", tmp_path / "s", "--json", "-").stdout)
    lengths, returned, inlined = tables(data, "probes")
    # Two lengths are subtracted: 100 rounds more, in the program and in its child.
    read = {row["low"]: row["calls"] for row in rows(lengths)}
    assert read == {n << 12: {"a": 100, "b": 100} for n in (1, 3, 5)}
    read = {row["low"]: row["calls"] for row in rows(returned)}
    assert read == {-22: {"a": 100, "b": 100}, 0: {"a": 200, "b": 200}}
    # Both kernels inline it: the kernel knows no such symbol, and the report says so.
    assert inlined["kernels"] == []
    text = " ".join(profdiff("report", tmp_path / "s").stdout.split())
    assert "the kernel refuses the probe 'prot_commit_flush_ptes nr_ptes'" in text
    assert "-22" in text
