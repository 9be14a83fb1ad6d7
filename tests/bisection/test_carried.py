"""A bisection that carries a fix, and what is told of a kernel that panics."""

import json
from pathlib import Path

import pytest
import synthetic
from restored import PANICS
from small_bisection import NEW, NEWEST, OLD, history
from support import EXAMPLE, error_line

from profdiff.bisection.measuring import excerpt, tell_console
from profdiff.session import manifest as m
from profdiff.session.session import Session

FIX = f"""\
From: A <a@example.org>
Subject: mm: make it build

---
diff --git a/which b/which
--- a/which
+++ b/which
@@ -1 +1 @@
-broken
+{NEW}
"""
# What v7.1.8 panics of, before the workload begins.
PROGRAM = """\
#include <sys/utsname.h>
#include "{example}"

__attribute__((constructor)) static void panic(void)
{{
	struct utsname kernel;

	if (uname(&kernel) || kernel.release[0] != '7')
		return;
	if (system({commands}))
		perror("the kernel did not panic");
}}
"""
PANIC = [
    "Freeing unused kernel image (initmem) memory: 1024K",
    "BUG: kernel NULL pointer dereference, address: 0000000000000010",
    *(f"line {number}" for number in range(20)),
    "Kernel panic - not syncing: Fatal exception",
]


@pytest.mark.guest
def test_a_fix_is_carried_where_it_applies(
    tmp_path: Path, old_kernel: Path, new_kernel: Path, qemu: object
) -> None:
    """Without it c1 does not build, and c1 or c2 would be the culprit. What has it already, and
    what it does not fit, is built without."""
    fix = tmp_path / "fix.patch"
    fix.write_text(FIX)
    made = history(tmp_path, [OLD, "broken", NEW, NEW])
    done = made.run("--with", str(fix), "--no-suspects")
    commits = made.repository.commits
    assert f"The first bad commit is {commits['c1'][:12]}" in done.stdout
    assert "is skipped" not in done.stderr
    told = [line for line in done.stderr.splitlines() if " is built without fix.patch: " in line]
    assert {line.split()[0] for line in told} == {commits[name][:12] for name in ("c0", "c2", "c3")}
    evidence = Session.open(tmp_path / "b/evidence.profdiff").manifest
    carried = {one.label: one.source.patches for one in evidence.kernels if one.source}
    assert carried["culprit"] == ["fix.patch: mm: make it build"]
    assert carried["parent"] == carried["bad"] == []
    # The same command goes on; without the patch, or with another one, it is another bisection.
    assert f"{commits['c1'][:12]}" in made.run("--with", str(fix), "--no-suspects").stdout
    told_without = error_line(made.run("--no-suspects", status=2))
    assert "holds a bisection with patches fix.patch (sha256 " in told_without
    fix.write_text(FIX.replace("make it", "let it"))
    assert "holds a bisection with patches" in error_line(
        made.run("--with", str(fix), "--no-suspects", status=2)
    )


@pytest.mark.guest
def test_a_revision_that_panics_shows_its_console(
    tmp_path: Path, old_kernel: Path, new_kernel: Path, qemu: object
) -> None:
    """The fix makes c1 build, and what it is then panics in the workload."""
    fix = tmp_path / "fix.patch"
    fix.write_text(FIX.replace(NEW, NEWEST))
    source = tmp_path / "panics.c"
    commands = json.dumps(PANICS.strip().replace("\n", "; "))
    source.write_text(PROGRAM.format(example=EXAMPLE, commands=commands))
    made = history(tmp_path, [OLD, "broken", NEW])
    workload = [str(source), "400", "40"]
    done = made.run("--with", str(fix), "--no-suspects", workload=workload)
    c1 = made.repository.commits["c1"][:12]
    assert f"{c1} is skipped: the kernel panicked: " in done.stderr
    console = [one for one in done.stderr.splitlines() if one.startswith("  [")]
    assert any("Kernel panic - not syncing: Out of memory: compulsory" in one for one in console)
    kept = json.loads((tmp_path / "b/bisect.json").read_text())
    assert list(kept["failed"]) == [made.repository.commits["c1"]]


@pytest.mark.build
def test_what_is_no_patch_is_refused(tmp_path: Path) -> None:
    made = history(tmp_path, ["own", "own"])
    nothing = tmp_path / "nothing.patch"
    nothing.write_text("no diff\n")
    assert "contains no patch" in error_line(made.run("--with", str(nothing), status=2))
    told = error_line(made.run("--with", str(tmp_path / "gone.patch"), status=2))
    assert told.startswith("--with: ")
    assert told.endswith("gone.patch: No such file or directory")


def test_what_a_panicking_kernel_said_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From its first trouble on, at most twelve lines, in which nothing takes the terminal."""
    assert excerpt(PANIC) == PANIC[1:13]
    assert excerpt(PANIC[2:-1]) == PANIC[10:-1]
    assert excerpt([]) == []
    (run,) = synthetic.manifest(["c"]).runs
    failure = m.Failure("panic", "the kernel panics", ["\x1b[31mKernel panic - not syncing: x"])
    made = m.replace(synthetic.manifest(["c"]), runs=[m.replace(run, failure=failure)])
    tell_console(Session(tmp_path, made), "c")
    told = capsys.readouterr().err
    assert "Kernel panic - not syncing: x" in told
    assert "\x1b" not in told
