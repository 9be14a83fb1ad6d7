"""Copies of a workload, each on its own vCPU, and tests in will-it-scale's shape, in guests."""

from pathlib import Path

import pytest
from support import RESTORED, error_line, profdiff
from will_it_scale import FSTAT

from profdiff.base.errors import InputError
from profdiff.collectors.exact.counts import Counts
from profdiff.collectors.workload.workload import PreparedWorkload
from profdiff.recording import copies
from profdiff.recording.sweep import Sweep, points
from profdiff.session.session import Session

# Says where each copy runs, and what file it was given.
WHERE = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char text[8];
	FILE *file = fopen(argv[1], "r");
	for (long left = atol(argv[2]); left > 0; left--)
		getppid();
	printf("%s on %d\n", fgets(text, sizeof(text), file), sched_getcpu());
	return 0;
}
"""
SYSCALL = b"\x0f\x05"


def of_sweep(*texts: str, ops: str | None = None, cpus: int = 2, copies: int = 2) -> Sweep:
    return Sweep(texts, False, None, ops, [cpus], copies)


def workload(**more: bool) -> PreparedWorkload:
    words = ("./w", "{copy}")
    return PreparedWorkload(words, words, "program", **{"has_marks": False, "copies": 2, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("prepared", "collectors", "said"),
    [
        (workload(is_test=True), ["exact"], "./w is a test .* never ends: add --ops 2000"),
        (workload(has_marks=True), ["timed", "exact"], "--copies 2: the program has marks"),
        (workload(), ["exact", "perf"], "--copies 2: perf starts the command itself, once"),
        (workload(has_marks=True), ["timed"], None),
        (workload(has_marks=True, copies=1), ["exact", "perf"], None),
    ],
)
def test_what_cannot_have_copies(
    prepared: PreparedWorkload, collectors: list[str], said: str | None
) -> None:
    if said is None:
        copies.refuse(prepared, of_sweep(), collectors)
        return
    with pytest.raises(InputError, match=said):
        copies.refuse(prepared, of_sweep(), collectors)


@pytest.mark.parametrize("asked", [of_sweep(ops="5"), of_sweep("ops=1,2")])
def test_tests_that_are_told_their_operations(asked: Sweep) -> None:
    ready = workload(is_test=True, has_marks=True)
    copies.refuse(ready, asked, ["exact", "perf"])
    assert copies.named(ready, ["./w"]) == ready.guest_argv


def test_a_sweep_of_operations_before_anything_is_compiled() -> None:
    asked = of_sweep("ops=1,2")
    assert copies.possible(["./w.c"], asked) == ["./w.c", "{ops}"]
    assert copies.possible(["./w"], asked) == ["./w"]
    assert copies.possible(["./w.c"], of_sweep(ops="5")) == ["./w.c"]


def test_ops_are_those_of_all_copies() -> None:
    words = ["./w", "{copy}", "{ops}"]
    found = points(of_sweep(ops="100"), words, in_guests=True, whole=True).every
    assert [(one.parameters, one.ops) for one in found] == [
        ({"ops": "100"}, 200),
        ({"ops": "50"}, 100),
    ]
    with pytest.raises(InputError, match=r"--copies 3: .* give at least --cpus 3"):
        points(of_sweep(copies=3), words, in_guests=True)
    with pytest.raises(InputError, match=r"--sweep copy: .* another name"):
        points(of_sweep("copy=1,2", ops="1"), words, in_guests=True)
    with pytest.raises(InputError, match=r"--copies 2: .* more than can be counted"):
        points(of_sweep(ops="6" + 17 * "0" + "*10"), ["./w"], in_guests=True)


@pytest.mark.guest
def test_copies_run_at_the_same_time(old_kernel: Path, new_kernel: Path, tmp_path: Path) -> None:
    (tmp_path / "where.c").write_text(WHERE)
    for copy in ("0", "1"):
        (tmp_path / f"data.{copy}").write_text(f"file{copy}")
    kernels = ["--kernel", f"a={old_kernel}", "--kernel", f"b={new_kernel}"]
    options = [*RESTORED, "--no-observe", "--copies", "2", "--cpus", "2", "--ops", "300"]
    options += ["--difference", "none"]
    command = ["-o", "s.profdiff", "--", "./where.c", "data.{copy}", "{ops}"]
    planned = profdiff("plan", *kernels, *options, *command, cwd=tmp_path).stdout
    assert planned.count("ops=300, 2 vCPUs, 2 copies  ./where.c data.{copy} 300") == 2
    profdiff("record", *kernels, *options, "--vary-state", "1", *command, cwd=tmp_path)
    session = Session.open(tmp_path / "s.profdiff")
    manifest = session.manifest
    assert (manifest.workload.copies, manifest.points[0].ops) == (2, 600)
    assert {run.state for run in manifest.runs} == {0, 1}
    for run in manifest.runs:
        assert run.failure is None
        said = session.path(run.files["stdout"]).read_text().splitlines()
        assert sorted(said) == ["file0 on 0", "file1 on 1"]
    three = ["3" if word == "2" else word for word in options]
    other = ["record", *kernels, *three, *command]
    told = error_line(profdiff(*other, cwd=tmp_path, status=2))
    assert "holds a recording with --copies 2" in told


@pytest.mark.guest
def test_a_copy_that_fails(old_kernel: Path, tmp_path: Path) -> None:
    """The others end before the run does."""
    script = tmp_path / "work.sh"
    script.write_text('#!/bin/sh\n[ "$1" = 0 ] && sleep 1\necho "copy $1"\nexit $(($1 * 7))\n')
    script.chmod(0o755)
    kernels = ["--kernel", f"a={old_kernel}", "--kernel", f"b={old_kernel}"]
    options = [*RESTORED, "--collector", "timed", "--no-observe", "--copies", "2", "--cpus", "2"]
    command = ["-o", tmp_path / "s.profdiff", "--", script, "{copy}"]
    result = profdiff("record", *kernels, *options, *command, status=2)
    assert "the workload ended with exit status 7" in error_line(result)
    session = Session.open(tmp_path / "s.profdiff")
    for run in session.manifest.runs:
        assert session.path(run.files["stdout"]).read_text().split("\n")[:2] == ["copy 1", "copy 0"]


@pytest.mark.guest
@pytest.mark.parametrize("mode", ["processes", pytest.param("threads", marks=pytest.mark.nightly)])
def test_a_test_counts_its_operations(
    old_kernel: Path, new_kernel: Path, tmp_path: Path, mode: str
) -> None:
    """Nothing but operations is counted: half of them are half of the count."""
    (tmp_path / "stat.c").write_text(FSTAT)
    kernels = ["--kernel", f"a={old_kernel}", "--kernel", f"b={new_kernel}"]
    options = [*RESTORED, "--no-observe", "--sweep", "ops=100,200"]
    profdiff("record", *kernels, *options, "--", "./stat.c", mode, cwd=tmp_path)
    session = Session.open(tmp_path / "stat.profdiff")
    for label in ("a", "b"):
        runs = sorted(session.finished(label, "exact"), key=lambda run: run.point)
        assert [run.failure for run in runs] == [None, None]
        few, many = (run.instructions for run in runs)
        assert few
        assert many
        # A timer tick may ask something of the workload itself.
        if few.interrupts == many.interrupts == 0:
            assert many.kernel == 2 * few.kernel
        assert many.kernel - few.kernel == 100 * (few.kernel // 100)
        assert 100 < few.kernel / 100 < 2000
        assert (many.user - few.user) % 100 == 0


@pytest.mark.guest
@pytest.mark.parametrize("mode", [pytest.param("processes", marks=pytest.mark.nightly), "threads"])
def test_copies_of_a_test(old_kernel: Path, tmp_path: Path, mode: str) -> None:
    """Each does as many operations as it shall."""
    (tmp_path / "stat.c").write_text(FSTAT)
    kernels = ["--kernel", f"a={old_kernel}", "--kernel", f"b={old_kernel}"]
    options = [*RESTORED, "--no-observe", "--ops", "200", "--copies", "2", "--cpus", "2"]
    profdiff("record", *kernels, *options, "--", "./stat.c", mode, cwd=tmp_path)
    session = Session.open(tmp_path / "stat.profdiff")
    assert (session.manifest.workload.copies, session.manifest.points[0].ops) == (2, 400)
    files = [session.path(run.files["counts"]) for run in session.manifest.runs]
    assert len({file.read_bytes() for file in files}) == 1
    counts = Counts.load(files[0])
    assert counts.kind == "marks"
    calls = [bytes(code[1:3]) == SYSCALL for code in counts.code]
    assert counts.count[calls].max() == 400
