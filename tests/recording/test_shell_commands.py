"""Commands that a script calls and a guest does not have are told before anything runs."""

import shutil
from pathlib import Path

import pytest
from support import profdiff

from profdiff.collectors.workload.command import lacking

BUSYBOX = shutil.which("busybox")


def found(tmp_path: Path, script: str, *known: str) -> list[str]:
    path = tmp_path / "work.sh"
    path.write_text(script)
    return lacking(path, known)


@pytest.mark.skipif(BUSYBOX is None, reason="busybox is not installed")
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("gcc -O2 x.c -o x && ./x", ["gcc"]),
        ("CC=gcc; $CC x.c", []),
        ("for i in 1 2 3; do\n  git status\ndone", ["git"]),
        ("if make -s; then ls; fi", ["make"]),
        ("x=$(git rev-parse HEAD) || exit 1", ["git"]),
        ("ls | sort | uniq -c > out; cat out", []),
        ("# gcc is not called\necho 'gcc; git' \"make\"", []),
        ("gcc() { echo mine; }\ngcc x.c", []),
        ("cat <<END\ngcc x.c\nEND\nls", []),
        ("no-such-program-anywhere --help", []),
        ("FLAGS=-O2 gcc x.c", ["gcc"]),
        ("/usr/bin/gcc x.c", []),
        ("gcc a.c; make; gcc b.c", ["gcc", "make"]),
    ],
)
def test_what_is_called(
    tmp_path: Path, body: str, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    have = {"gcc", "git", "make", "busybox"}
    monkeypatch.setattr(
        "profdiff.collectors.workload.command.shutil.which",
        lambda name: BUSYBOX if name == "busybox" else f"/bin/{name}" if name in have else None,
    )
    for shell in ("/bin/sh", "/usr/bin/env bash", "/bin/bash -e"):
        assert found(tmp_path, f"#!{shell}\n{body}\n") == expected
    assert found(tmp_path, f"#!/usr/bin/python3\n{body}\n") == []
    assert found(tmp_path, f"#!/bin/sh\n{body}\n", "gcc", "git", "make") == []


def test_plan_says_it(old_kernel: Path, new_kernel: Path, tmp_path: Path) -> None:
    work = tmp_path / "work.sh"
    work.write_text("#!/bin/sh\ngcc -c x.c\n")
    work.chmod(0o755)
    told = profdiff("plan", "--kernel", old_kernel, "--kernel", new_kernel, "--", work)
    assert "the script calls gcc, which guests do not have" in told.stdout + told.stderr
    assert "--file" in told.stdout + told.stderr
