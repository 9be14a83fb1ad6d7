"""``git bisect run`` over a history whose commits stand for kernels finds where one got slower."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import whole_run
from support import EXAMPLE, RESTORED, need_program

pytestmark = pytest.mark.guest

# What each commit's kernel is: the old one, one that does not build, or the new one.
HISTORY = ["old", "old", "broken", "old", "new", "new"]


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=T", "-c", "user.email=t@example.org", *arguments]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_bisect_finds_the_commit(
    old_kernel: Path, new_kernel: Path, tmp_path: Path, qemu: object
) -> None:
    need_program("git")
    images = {"old": old_kernel, "new": new_kernel, "broken": tmp_path / "not-built"}
    tree = tmp_path / "linux"
    tree.mkdir()
    git(tree, "init", "-q", "-b", "main")
    commits = []
    for number, kind in enumerate(HISTORY):
        # As a build would leave it; the number makes each commit differ.
        (tree / "built").write_text(f"{images[kind]}\n")
        (tree / "number").write_text(f"{number}\n")
        git(tree, "add", "-A")
        git(tree, "commit", "-q", "-m", f"{number}: {kind}")
        commits.append(git(tree, "rev-parse", "HEAD").strip())
    program = shlex.join([sys.executable, "-m", "profdiff"])
    script = tmp_path / "step.sh"
    script.write_text(
        "#!/bin/sh\n"
        f"session={tmp_path}/$(git rev-parse HEAD).profdiff\n"
        f'{program} record --kernel good={old_kernel} --kernel here="$(cat built)" '
        f"--jobs {whole_run.GUESTS} --no-call-tree --no-observe --ops 4000 "
        f'{shlex.join(RESTORED)} -o "$session" -- {EXAMPLE} 400 40 || exit 125\n'
        f"""{program} check "$session" --fail-if 'instructions:kernel > +5%'\n"""
    )
    git(tree, "bisect", "start", commits[-1], commits[0])
    with whole_run.processors(whole_run.GUESTS):
        ran = subprocess.run(
            ["git", "bisect", "run", "sh", str(script)],
            cwd=tree,
            capture_output=True,
            text=True,
            check=False,
            timeout=560,
        )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert f"git bisect skip {commits[HISTORY.index('broken')]}" in git(tree, "bisect", "log")
    assert f"{commits[HISTORY.index('new')]} is the first bad commit" in ran.stdout
