"""For how long vCPUs idle, and what gave way to that, on real guests: a program that knows what it
waits for."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import whole_run
from qemus import QEMU_10, another_qemu
from restored import GUEST, Restorer
from support import profdiff
from tables import rows, tables

from profdiff.collectors.architecture import X86_64
from profdiff.collectors.exact.counts import Counts
from profdiff.collectors.guest.qemu import Qemu
from profdiff.collectors.records import Clock
from profdiff.session.manifest import Run
from profdiff.session.session import Session

pytestmark = pytest.mark.guest

PROGRAM = Path(__file__).parent / "waits.c"
WAITS, ASLEEP, ANSWERS = 20, 1_000_000, 300_000
# A start mark is not counted; each read of the clock around the window has some hundred
# instructions, and each fault one that the clock does not have.
MARKS, AROUND = 1, 2_000


@pytest.fixture(scope="module")
def session(old_kernel: Path, new_kernel: Path, qemu: Qemu) -> Path:
    """All that it waits for, on two kernels, with one and two vCPUs."""

    def record(made: Path) -> None:
        kernels = ["--kernel", f"old={old_kernel}", "--kernel", f"new={new_kernel}"]
        sweep = ["--sweep", "what=none,sleep,rcu,pipe", "--cpus", "1,2", "--ops", str(WAITS)]
        options = ["--no-observe", "-o", made / "session", *kernels, *sweep]
        profdiff("record", *options, "--", PROGRAM, "{what}")

    return whole_run.once("idle", record) / "session"


@pytest.fixture(scope="module")
def opened(session: Path) -> Session:
    return Session.open(session)


def runs(opened: Session, what: str, cpus: int) -> list[tuple[Run, Clock, Counts]]:
    found = []
    for run in opened.manifest.runs:
        point = opened.manifest.points[run.point]
        if (point.parameters["what"], point.cpus) == (what, cpus):
            assert run.failure is None
            assert run.clock
            found.append((run, run.clock, Counts.load(opened.path(run.files["counts"]))))
    assert len(found) == 2
    return found


def every(opened: Session) -> list[tuple[Run, Clock, Counts]]:
    return [
        one
        for what in ("none", "sleep", "rcu", "pipe")
        for c in (1, 2)
        for one in runs(opened, what, c)
    ]


def paths(session: Path, what: str, cpus: int) -> list[Mapping[str, Any]]:
    report = profdiff("report", session, "--at", f"what={what},vCPUs={cpus}", "--json", "-")
    _, *others = tables(json.loads(report.stdout), "idle") or [None]
    return [path for table in others if table for path in rows(table)]


def test_the_clock_is_what_executed_and_what_idled(opened: Session) -> None:
    for run, clock, counts in every(opened):
        assert counts.each_iteration is not None
        assert clock.advanced - clock.idle == counts.each_iteration.sum() + MARKS, run.id


def test_the_program_saw_the_same_clock(opened: Session) -> None:
    for run, clock, _ in every(opened):
        seen = int(opened.path(run.files["stdout"]).read_text())
        # The kernel measured how fast its clock is when it booted.
        assert clock.advanced <= seen + clock.advanced // 1000, run.id
        assert seen - clock.advanced < AROUND + clock.advanced // 1000, run.id


def test_each_vcpu_idles_while_all_do(opened: Session) -> None:
    for run, clock, _ in every(opened):
        cpus = opened.manifest.points[run.point].cpus
        assert len(clock.vcpus) == cpus
        assert all(clock.idle <= one <= clock.advanced for one in clock.vcpus)
        if cpus == 1:
            assert clock.vcpus == [clock.idle]


def test_it_idles_for_as_long_as_it_waits(opened: Session) -> None:
    for cpus in (1, 2):
        for _, clock, _ in runs(opened, "none", cpus):
            assert clock.idle == 0
        for _, clock, counts in runs(opened, "sleep", cpus):
            assert WAITS * ASLEEP - counts.count.sum() < clock.idle <= clock.advanced
            assert clock.advanced < WAITS * ASLEEP * 1.2
        for _, clock, counts in runs(opened, "pipe", cpus):
            assert WAITS * ANSWERS - counts.count.sum() < clock.idle < WAITS * ANSWERS * 1.5
    # A grace period is one that some CPU must come to an end of: of one, nobody waits.
    assert [clock.idle for _, clock, _ in runs(opened, "rcu", 1)] == [0, 0]
    assert all(clock.idle > WAITS * ASLEEP for _, clock, _ in runs(opened, "rcu", 2))


@pytest.mark.parametrize(
    ("what", "cpus", "function"),
    [
        ("sleep", 1, "do_nanosleep"),
        ("sleep", 2, "do_nanosleep"),
        ("rcu", 2, "synchronize_rcu(_normal)?"),
        ("pipe", 2, "(anon_)?pipe_read"),
    ],
)
def test_the_path_that_gave_way_is_told(
    session: Path, opened: Session, what: str, cpus: int, function: str
) -> None:
    told = paths(session, what, cpus)
    clocks = {run.kernel: clock for run, clock, _ in runs(opened, what, cpus)}
    for label in ("old", "new"):
        of_it = [
            one["time"][label]
            for one in told
            if any(re.fullmatch(function, name) for name in one["path"])
        ]
        assert sum(of_it) > 0.9 * clocks[label].idle
        assert sum(one["time"][label] for one in told) <= sum(clocks[label].vcpus)


def test_reports_and_checks_know_it(session: Path) -> None:
    at = ("--at", "what=sleep,vCPUs=1")
    text = profdiff("report", session, *at).stdout
    assert "idle, ns of guest clock per op (exact counts)" in text
    assert "idle, in ns of the guest's clock per op (20 ops)" in text
    assert "hrtimer_nanosleep > do_nanosleep" in text
    checked = profdiff("check", session, "--fail-if", "idle:total > +50%", *at)
    assert checked.stdout.startswith("passes: idle:total > +50%")


def test_a_condition_on_a_row_of_its_tables(session: Path, opened: Session) -> None:
    at = ("--at", "what=sleep,vCPUs=1", "--fail-if")
    clocks = {run.kernel: clock for run, clock, _ in runs(opened, "sleep", 1)}
    for row, of in (("clock", "advanced"), ('"none busy"', "idle")):
        old, new = (getattr(clocks[label], of) for label in ("old", "new"))
        beyond, within = f"idle-times:{row} >= {new - old:+}", f"idle-times:{row} > {new - old:+}"
        said = profdiff("check", session, *at, beyond, status=1).stdout
        assert f"{old:,} to {new:,}" in said
        profdiff("check", session, *at, within)
    told = [one for one in paths(session, "sleep", 1) if "do_nanosleep" in one["path"]]
    old, new = (sum(one["times"][label] for one in told) for label in ("old", "new"))
    said = profdiff("check", session, *at, "idle-paths.times:do_nanosleep > -1000", status=1).stdout
    assert f"{old:,} to {new:,}" in said
    said = profdiff("check", session, *at, "idle-paths:do_nanosleep > +0", status=125).stdout
    assert "name a count of idle-paths that kernels have: idle-paths.time, idle-paths.times" in said


def test_nothing_that_idled_is_nothing_to_tell(session: Path) -> None:
    assert paths(session, "none", 1) == []
    assert "idle, in ns" not in profdiff("report", session, "--at", "what=none,vCPUs=1").stdout


@pytest.mark.network
def test_it_repeats_and_another_qemu_agrees(new_kernel: Path, qemu: Qemu, tmp_path: Path) -> None:
    """Also without the call tree, which changes nothing."""
    found = {}
    for name, this in (("installed", qemu), ("10", another_qemu(QEMU_10, X86_64))):
        for calls in (True, False):
            restorer = Restorer(
                this, new_kernel / "bzImage", tmp_path / f"{name}-{calls}", GUEST, 2, calls=calls
            )
            result, folder = restorer.run([PROGRAM, "pipe"])
            assert result.failure is None
            counts = Counts.load(folder / "counts.bin")
            assert counts.clock
            assert counts.each_iteration is not None
            executed = int(counts.each_iteration.sum()) + MARKS
            assert counts.clock.advanced - counts.clock.idle == executed
            found[name, calls] = counts.clock
    for name in ("installed", "10"):
        with_tree, without = found[name, True], found[name, False]
        assert (with_tree.advanced, with_tree.idle) == (without.advanced, without.idle)
        assert without.vcpus == []
        assert min(with_tree.vcpus) >= with_tree.idle
