"""scripts/test: what each of its forms runs, and what a quick run refuses."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import IMPORTED, ROOT, need_program

TESTS = """
import pathlib, socket, subprocess
import pytest
import extent

def test_plain():
    assert extent.examples(400) == {examples}

def test_guest():
    subprocess.run(["qemu-system-x86_64", "-kernel", "/nowhere"], check=False)

def test_version():
    assert subprocess.run(["qemu-system-x86_64", "--version"], check=False).returncode in (0, 1)

def test_skipped():
    if subprocess.run(["apt-get", "update"], check=False).returncode:
        pytest.skip("nothing can be fetched")

def test_connection():
    with socket.socket() as one:
        one.settimeout(0.01)
        with pytest.raises(OSError):
            one.connect(("192.0.2.1", 9))

def test_fixture(qemu):
    pass

@pytest.mark.network
def test_marked():
    pass

@pytest.mark.nightly
def test_nightly():
    pass

def test_signals():
    text = pathlib.Path("/proc/self/status").read_text()
    ignored = int(text.partition("SigIgn:")[2].split()[0], 16)
    assert not ignored & (1 << 0 | 1 << 1), "SIGHUP or SIGINT"
"""
SAFE = "test_plain or test_fixture or test_marked or test_nightly"


def run(
    folder: Path, examples: int, *options: str, through: Path | None = None
) -> tuple[str, dict[str, str]]:
    """What pytest prints of those tests, and what became of each that ran. ``through``: the program
    that starts it."""
    (folder / "test_made.py").write_text(TESTS.replace("{examples}", str(examples)))
    paths = os.pathsep.join([str(IMPORTED), str(ROOT / "tests")])
    command = [sys.executable, *([through] if through else [])]
    command += ["-m", "pytest", "-p", "conftest", "-p", "no:cacheprovider", "-v"]
    command += ["-c", ROOT / "pyproject.toml", "--rootdir", folder, "--basetemp", folder / "base"]
    done = subprocess.run(
        [*command, *options, folder / "test_made.py"],
        env={**os.environ, "PYTHONPATH": paths, "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    became: dict[str, str] = {}
    for line in done.stdout.splitlines():
        words = line.replace("::", " ").split()
        if len(words) > 2 and words[1].startswith("test_") and words[2].isupper():
            became[words[1].removeprefix("test_")] = words[2]
    return done.stdout + done.stderr, became


@pytest.mark.slow
def test_a_quick_run_fails_what_is_not_for_it(tmp_path: Path) -> None:
    """It leaves out what has a mark or a fixture; who starts or asks for such a thing fails, and so
    does who skips for want of it."""
    need_program("qemu-system-x86_64", "qemu-system-x86")
    text, became = run(tmp_path, 20, "--quick")
    assert became == {
        "plain": "PASSED",
        "guest": "ERROR",
        "version": "PASSED",
        "skipped": "ERROR",
        "connection": "ERROR",
        "signals": "PASSED",
    }
    assert "a quick run started qemu-system-x86_64 (mark the test: guest)" in text
    assert "a quick run started apt-get (mark the test: network)" in text
    assert "a quick run started a connection to 192.0.2.1 (mark the test: network)" in text
    assert "3 deselected" in text


@pytest.mark.slow
def test_a_run_in_the_background_takes_signals(tmp_path: Path) -> None:
    ignoring = "import os, signal, sys\nfor one in (1, 2): signal.signal(one, signal.SIG_IGN)\n"
    made = tmp_path / "ignoring.py"
    made.write_text(f"{ignoring}os.execv(sys.executable, [sys.executable, *sys.argv[1:]])\n")
    _, became = run(tmp_path, 100, "-k", "test_signals", through=made)
    assert became == {"signals": "PASSED"}


@pytest.mark.slow
def test_the_nightly_run_has_what_the_usual_one_leaves_out(tmp_path: Path) -> None:
    _, usual = run(tmp_path, 100, "-k", SAFE)
    _, nightly = run(tmp_path, 400, "--nightly", "-k", SAFE)
    assert usual.keys() == {"plain", "fixture", "marked"}
    assert nightly.keys() == {*usual, "nightly"}
    assert usual["plain"] == nightly["plain"] == "PASSED"


STAND_IN = """#!/bin/sh
echo "$(basename "$0") $*" >> "{log}"
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with scripts/test, where all that it starts only notes so in ``log``."""
    need_program("git")
    folder = tmp_path / "tree"
    names = [f".venv/bin/{name}" for name in ("python", "ruff", "mypy", "cargo")]
    names += [f"scripts/node_modules/.bin/{name}" for name in ("tsc", "eslint", "json2ts")]
    names += ["scripts/setup", "scripts/tested", "scripts/types", "target/tested/venv/bin/python"]
    for name in names:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(STAND_IN.format(log=tmp_path / "log"))
        file.chmod(0o755)
    shutil.copy(ROOT / "scripts/test", folder / "scripts")
    for file in ("requirements.txt", "scripts/package-lock.json"):
        (folder / file).write_text("one\n")
    (folder / ".gitignore").write_text("target\n.venv\nnode_modules\n")
    subprocess.run(["git", "init", "-q", folder], check=True)
    return folder


def started(tree: Path, *arguments: str) -> list[str]:
    """The programs that ``scripts/test`` starts with these arguments, without Python's."""
    log = tree.parent / "log"
    log.write_text("")
    subprocess.run([tree / "scripts/test", *arguments], check=True, capture_output=True)
    lines = log.read_text().splitlines()
    return [line.split()[0] for line in lines if not line.startswith("python -c ")]


def test_one_test_is_run_without_set_up_and_gates(tree: Path) -> None:
    assert started(tree, "-k", "chains") == ["setup", "tested", "python"]
    assert started(tree, "-k", "chains") == ["tested", "python"]
    for file in ("requirements.txt", "scripts/package-lock.json"):
        (tree / file).write_text("another\n")
        assert started(tree, "-k", "chains") == ["setup", "tested", "python"]
    for file in ("README.md", "main.rs"):
        (tree / file).write_text("read\n")
    assert started(tree, "--nightly", "-k", "chains") == ["tested", "python"]


def test_all_gates_run_without_arguments(tree: Path) -> None:
    gates = ["ruff", "ruff", "mypy", "types", "tsc", "eslint", "cargo"]
    assert sorted(started(tree)) == sorted(["setup", "cargo", "tested", "python", *gates])
    assert sorted(started(tree, "--quick")) == sorted([*gates, "python"])
    assert started(tree, "--quick", "-k", "chains") == ["python"]


def test_a_gate_that_fails_is_named(tree: Path) -> None:
    for name in (".venv/bin/mypy", "scripts/tested"):
        (tree / name).write_text("#!/bin/sh\nexit 1\n")
    done = subprocess.run([tree / "scripts/test"], check=False, capture_output=True, text=True)
    assert done.returncode == 1
    said, *failed = done.stdout.splitlines()[-1].split()
    assert said == "FAILED:"
    assert sorted(failed) == ["mypy", "wheel"]
    assert "pytest" not in done.stdout


def test_a_quick_run_sets_nothing_up(tree: Path) -> None:
    (tree / "scripts/node_modules/.bin/json2ts").unlink()
    done = subprocess.run(
        [tree / "scripts/test", "--quick"], check=False, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "run scripts/setup test" in done.stderr
    assert not (tree.parent / "log").exists()
