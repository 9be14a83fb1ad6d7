"""The files of the suite that comes along: what each workload says, and that its program runs."""

import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import whole_run
from suite_cells import FOLDER, cells, count, files, workloads
from support import ROOT, need_program

# The suite of two at the same time is none of ``syscalls``.
SHARED = FOLDER / "shared.toml"
ALL = [(file, workload) for file in [*files(), SHARED] for workload in workloads(file)]
SOURCES = sorted(FOLDER.glob("*.c"))
# The words by which people choose: --tag. A new one belongs into examples/suite/README.md, too.
README = (FOLDER / "README.md").read_text()
TAGS = re.findall(
    r"^\| `([\w-]+)` \|", README.partition("## Tags")[2].partition("## ")[0], re.MULTILINE
)
KEYS = {"name", "about", "command", "op", "ops", "tags", "sweep", "nonlinear", "observe"}


def named(workload: dict[str, Any]) -> str:
    return str(workload["name"])


@pytest.mark.parametrize("workload", [one for _, one in ALL], ids=named)
def test_a_workload_says_what_it_is(workload: dict[str, Any]) -> None:
    assert set(workload) <= KEYS
    assert re.fullmatch(r"[a-z0-9][a-z0-9_.-]*", workload["name"])
    assert 10 <= len(workload["about"]) <= 150
    assert not workload["about"].endswith(".")
    # One op is a noun in the singular.
    assert re.fullmatch(r"[a-zA-Z-]+( [a-zA-Z-]+){0,3}", workload["op"])
    assert isinstance(workload["ops"], int)
    assert workload["ops"] >= 1
    assert workload["tags"]
    assert set(workload["tags"]) <= set(TAGS)
    assert len(workload.get("nonlinear", "twenty letters or more")) >= 20
    program, *words = workload["command"]
    assert (FOLDER / program).is_file()
    assert program.endswith(".c")
    # The test of linearity, and whoever wants more or fewer, change one word.
    assert words[-1] == "{ops}"
    assert {f"{{{name}}}" for name in workload.get("sweep", {})} <= set(
        re.findall(r"\{\w+\}", " ".join(words))
    )


def test_names_are_unique() -> None:
    names = Counter(workload["name"] for _, workload in ALL)
    assert [name for name, times in names.items() if times > 1] == []


def test_the_readme_lists_the_workloads_of_processes_files_and_ipc() -> None:
    listed = re.findall(r"^\| `(.*)` \| .* \| (\d+) \|$", README, re.MULTILINE)
    others = [one for file, one in ALL if file.name != "memory.toml"]
    assert {(one["name"], str(count(one))) for one in others} <= set(listed)
    assert sum(map(count, others)) >= 90


def test_the_readme_lists_the_workloads_of_memory() -> None:
    listed = re.findall(r"^\| `(.*)` \| .* \| (\d+) \|$", README, re.MULTILINE)
    memory = workloads(FOLDER / "memory.toml")
    assert {(one["name"], str(count(one))) for one in memory} <= set(listed)


def test_there_are_enough_cells() -> None:
    assert sum(count(workload) for _, workload in ALL) >= 150
    assert sum(count(workload) for file, workload in ALL if file.name == "memory.toml") >= 90


def test_two_at_the_same_time_share_one_of_everything() -> None:
    found = workloads(SHARED)
    assert {"file", "vfs", "mm", "socket", "pipe", "futex", "cgroup", "user"} <= {
        tag for one in found for tag in one["tags"]
    }
    assert all("shared" in one["tags"] for one in found)
    assert sum(map(count, found)) >= 25
    # The ops are those of both.
    assert all(one["ops"] % 2 == 0 for one in found)


def test_each_program_has_a_workload() -> None:
    listed = {
        workload["command"][0]
        for path in FOLDER.glob("*.toml")
        for workload in (workloads(path) if path.name != "syscalls.toml" else [])
        # Programs from outside are not here: outside.toml.
        if workload["command"][0].endswith(".c")
    }
    assert {source.name for source in SOURCES} == listed


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_a_program_compiles_without_a_warning(source: Path, tmp_path: Path) -> None:
    need_program("cc", "gcc")
    command = ["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-pthread"]
    command += [f"-I{ROOT}/collectors/guest", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_a_program_is_written_like_the_kernel(source: Path) -> None:
    text = source.read_text()
    assert text.startswith("/* SPDX-License-Identifier: GPL-2.0-or-later */\n/*")
    assert not re.search(r"^ {4}|[ \t]$", text, re.MULTILINE)
    assert max(len(line.expandtabs(8)) for line in text.splitlines()) <= 100, source.name


@pytest.fixture(scope="module")
def mprotect(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_program("cc", "gcc")
    program = tmp_path_factory.mktemp("suite") / "mprotect"
    command = ["cc", "-O2", "-static", f"-I{ROOT}/collectors/guest", "-o", str(program)]
    subprocess.run([*command, str(FOLDER / "mprotect.c")], check=True)
    return program


@pytest.mark.build
@pytest.mark.parametrize(
    "words",
    [
        [],
        ["toggle", "anon", "4k"],
        ["toggle", "anon", "4k", "0"],
        ["toggle", "anon", "4k", "-1"],
        ["toggle", "anon", "4k", "1x"],
        ["toggle", "anon", "4k", "99999999999999999999"],
        ["toggle", "anon", "4x", "1"],
        ["toggle", "anon", "1", "1"],
        ["toggle", "anon", "0", "1"],
        ["toggle", "anon-shared", "4k", "1"],
        ["toggle", "thp", "2m", "1"],
        ["toggle", "", "4k", "1"],
        ["toggle", "anon-" * 40, "4k", "1"],
        ["other", "anon", "4k", "1"],
    ],
)
def test_wrong_words_are_refused(mprotect: Path, words: list[str]) -> None:
    done = subprocess.run([mprotect, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.build
def test_it_runs_on_this_machine(mprotect: Path) -> None:
    done = subprocess.run([mprotect, "split", "shared", "64k", "3"], capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.build
def test_what_the_kernel_lacks_is_not_there(tmp_path: Path) -> None:
    need_program("cc", "gcc")
    source = tmp_path / "lacks.c"
    source.write_text(
        '#include "suite.h"\nint main(void)\n{\n\tif (syscall(9999) < 0)\n'
        '\t\tdie_or_not_there("call 9999");\n\treturn 0;\n}\n'
    )
    shutil.copy(FOLDER / "suite.h", tmp_path)
    command = ["cc", f"-I{ROOT}/collectors/guest", "-o", "lacks", "lacks.c"]
    subprocess.run(command, check=True, cwd=tmp_path)
    done = subprocess.run([tmp_path / "lacks"], capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert done.stderr == "not there: call 9999 (ENOSYS)\n"


@pytest.mark.build
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_memory_lies_in_the_pages_that_a_state_asks_for(tmp_path: Path) -> None:
    """The oracle is the kernel's own account of a mapping."""
    need_program("cc", "gcc")
    if not Path("/sys/kernel/mm/transparent_hugepage").is_dir():
        pytest.skip("this kernel has no transparent huge pages")
    shutil.copy(FOLDER / "suite.h", tmp_path)
    (tmp_path / "pages.c").write_text(
        '#include "suite.h"\nint main(int argc, char **argv)\n{\n'
        '\tchar *at;\n\n\tsuite_ops(argc, argv, "STATE OPS");\n'
        "\tat = state_map(argv[1], HUGE_SIZE);\n"
        '\tprintf("%zu %zu %zu\\n", smaps(at, HUGE_SIZE, "Rss"),\n'
        '\t       smaps(at, HUGE_SIZE, "AnonHugePages") + smaps(at, HUGE_SIZE, "ShmemPmdMapped"),\n'
        '\t       smaps(at, HUGE_SIZE, "Private_Dirty"));\n\treturn 0;\n}\n'
    )
    command = ["cc", "-static", f"-I{ROOT}/collectors/guest", "-o", "pages", "pages.c"]
    subprocess.run(command, check=True, cwd=tmp_path)
    setting = Path("/sys/kernel/mm/transparent_hugepage/shmem_enabled")

    def pages(state: str) -> list[int]:
        done = subprocess.run(
            [tmp_path / "pages", state, "1"], capture_output=True, text=True, check=False
        )
        if "Operation not permitted" in done.stderr:
            pytest.skip("root may not mount here")
        assert done.returncode == 0, done.stderr
        return [int(word) for word in done.stdout.split()]

    huge = 2 << 20
    with whole_run.alone("huge-pages"):
        before = setting.read_text()
        for state in ("anon", "shared", "tmpfs", "memfd"):
            assert pages(state) == [huge, 0, huge], state
            assert pages(f"{state}-thp") == [huge, huge, huge], state
            assert pages(f"{state}-empty") == [0, 0, 0], state
        # Zero pages are nobody's memory.
        assert pages("anon-clean") == [0, 0, 0]
        assert pages("tmpfs-clean") == [huge, 0, 0]
        assert pages("tmpfs-cached-empty") == [0, 0, 0]
        assert setting.read_text() == before


def test_cells_are_told_apart() -> None:
    for _, workload in ALL:
        commands = [tuple(command) for _, command in cells(workload)]
        assert len(set(commands)) == len(commands) == count(workload)
