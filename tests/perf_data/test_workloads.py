"""Recordings of different workloads: real ones, by perf."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from support import need_program, profdiff

from profdiff.collectors.perf.samples import workload_of

# A loop, and functions that are hit a few times only.
BUSY = """#include <stdlib.h>
#include <sys/mman.h>
int main(int count, char **words)
{
    volatile long sum = 0;
    for (long n = 0; n < 40 * atol(words[count - 1]); n++) {
        char *at = mmap(0, 1 << 18, PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (int page = 0; page < 64; page++)
            at[page << 12] = 1;
        munmap(at, 1 << 18);
        for (int k = 0; k < 200000; k++)
            sum += k;
    }
}
"""


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_program("perf", "linux-perf")
    folder = tmp_path_factory.mktemp("workloads")
    (folder / "busy.c").write_text(BUSY)
    subprocess.run([need_program("cc", "gcc"), "busy.c", "-o", "busy"], cwd=folder, check=True)
    for name, words in (("one", ["1"]), ("again", ["1"]), ("three", ["3"])):
        command = ["perf", "record", "-q", "-e", "cpu-clock", "-F", "250", "-o", f"{name}.data"]
        subprocess.run([*command, "./busy", *words], cwd=folder, check=True)
    return folder


@pytest.mark.build
def test_another_workload_is_a_known_difference(recordings: Path, tmp_path: Path) -> None:
    files = [f"old={recordings}/one.data", f"new={recordings}/three.data"]
    said = " ".join(
        profdiff("diff", *files, "--json", tmp_path / "d.json", "--text", "-").stdout.split()
    )
    assert "workload differs: ./busy 1 / ./busy 3" in said
    assert "no known difference" not in said
    known = json.loads((tmp_path / "d.json").read_text())["facts"]["differences"]
    assert {"what": "workload", "values": {"old": "./busy 1", "new": "./busy 3"}} in known
    profdiff("import", *files, "-o", tmp_path / "s.profdiff")
    mail = profdiff("mail", tmp_path / "s.profdiff", "--from", "A <a@example.org>").stdout
    assert "workload differs: ./busy 1 / ./busy 3" in " ".join(mail.split())


@pytest.mark.build
def test_the_same_workload_is_none(recordings: Path) -> None:
    files = [f"old={recordings}/one.data", f"new={recordings}/again.data"]
    assert "workload differs" not in profdiff("diff", *files).stdout


@pytest.mark.build
def test_a_headline_names_no_function_of_a_few_samples(recordings: Path) -> None:
    """Of functions with a few samples, chance alone decides."""
    files = [f"old={recordings}/one.data", f"new={recordings}/three.data"]
    (metric,) = json.loads(profdiff("diff", *files, "--json", "-").stdout)["metrics"]
    headline = set(re.findall(r"\w+", profdiff("diff", *files).stdout.partition("\n\n")[0]))
    few = set()
    for row in metric["functions"]:
        before, after = (row["samples"][label] for label in ("old", "new"))
        if (after - before) ** 2 < 9 * (after + before):
            few.add(row["name"])
    assert few
    assert not few & headline


@pytest.mark.parametrize(
    ("command", "workload"),
    [
        ("perf record ./busy 3", "./busy 3"),
        ("/usr/bin/perf record -q -e cpu-clock -F 99 -g -o x.data ./busy -o 3", "./busy -o 3"),
        ("perf record -ag -F99 -c 1 --call-graph dwarf --output=x -- ./busy", "./busy"),
        ("perf record -ge cycles sleep 1", "sleep 1"),
        ("perf record -a", ""),
        ("perf record -p 17", ""),
        ("perf --no-pager record -e", ""),
        ("simpleperf", ""),
        ("", ""),
    ],
)
def test_the_workload_of_a_command_line(command: str, workload: str) -> None:
    assert " ".join(workload_of(command.split())) == workload
