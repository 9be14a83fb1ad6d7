"""The main job, from the command line, against what was measured beforehand."""

import json
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
import whole_run
from support import EXAMPLE, RESTORED, error_line, profdiff

from profdiff.recording.run import gnu_build_id
from profdiff.session import manifest as m
from profdiff.session.session import Session

pytestmark = pytest.mark.guest

PTES = 40_000


def functions(session: Path) -> dict[str, dict[str, dict[str, int]]]:
    """Function rows of the kernel by name, as ``--json`` writes them."""
    result = json.loads(profdiff("report", session, "--json", "-").stdout)
    rows = result["metrics"][0]["functions"]
    return {row["name"]: row for row in rows if row["object"] == "vmlinux"}


def test_the_numbers_are_those_measured_beforehand(recorded: Path) -> None:
    rows = functions(recorded)
    for name, per_pte in (
        ("commit_anon_folio_batch", 15.5),
        ("prot_commit_flush_ptes", 27.5),
        ("change_pte_range", 33.59),
    ):
        assert rows[name]["self"]["new"] / PTES == pytest.approx(per_pte, rel=0.001), name
    assert rows["commit_anon_folio_batch"]["self"]["base"] == 0
    with_inlinees = inlined_total(recorded, "commit_anon_folio_batch", "new")
    assert with_inlinees / PTES == pytest.approx(22, rel=0.001)
    # And with what they call: prot_commit_flush_ptes(), and a timer tick that interrupts them.
    assert 56 <= rows["commit_anon_folio_batch"]["total"]["new"] / PTES < 56.5
    assert rows["change_pte_range"]["self"]["base"] == pytest.approx(1_144_320, rel=0.001)


def inlined_total(session: Path, name: str, label: str) -> int:
    """Counts of a function with what is inlined into it, without what it calls."""
    data = json.loads(profdiff("report", session, "--json", "-").stdout)
    metric = data["metrics"][0]
    stacks = data["stacks"][metric["stacks"]]
    names = [function["name"] for function in metric["functions"]]
    total = 0
    for row, count in enumerate(metric["counts"][label]):
        at = row
        while at >= 0 and count:
            if stacks["function"][at] < len(names) and names[stacks["function"][at]] == name:
                total += count
                break
            if not stacks["inlined"][label][at]:
                break
            at = stacks["parent"][at]
    return total


def test_the_totals_are_those_measured_beforehand(recorded: Path) -> None:
    """Loosely: they hold timer ticks, whose number depends on when the window opens."""
    totals = json.loads(profdiff("report", recorded, "--json", "-").stdout)["metrics"][0]["totals"]
    assert totals["base"] == pytest.approx(5_446_290, rel=0.01)
    assert totals["new"] == pytest.approx(9_365_580, rel=0.01)


def test_both_kernels_reproduce_bit_for_bit(recorded: Path) -> None:
    session = Session.open(recorded)
    for label in ("base", "new"):
        first, second = session.finished(label, "exact")
        assert session.path(first.files["counts"]).read_bytes() == (
            session.path(second.files["counts"]).read_bytes()
        )
    shown = profdiff("report", recorded).stdout
    assert shown.count("reproduced bit for bit (2 runs): base, new") == 1


def test_a_run_keeps_what_the_issue_names(recorded: Path) -> None:
    session = Session.open(recorded)
    # Guests end in any order.
    run = session.finished("base", "exact")[0]
    assert session.read(run, "stdout")
    for what in ("dmesg", "kallsyms", "modules", "version", "config", "cmdline", "console"):
        assert session.read(run, what) is not None, what
    assert "-icount" in run.qemu.arguments
    kernel = session.kernel(run.kernel)
    assert gnu_build_id(session.read(run, "notes") or b"") == kernel.build_id
    assert kernel.release == "6.12.107-profdiff"
    assert kernel.compiler == "gcc (Debian 12.2.0-14+deb12u1) 12.2.0"
    assert kernel.build_id == "677a0be9a4adff4f7c616bf3f449ce2259e39c71"


@pytest.mark.parametrize("notes", [b"", b"x" * 11, b"\xff" * 40, bytes(64)])
def test_notes_that_hold_no_build_id(notes: bytes) -> None:
    assert gnu_build_id(notes) is None


def test_the_booted_kernel_must_be_the_debug_elfs(
    old_kernel: Path, new_kernel: Path, tmp_path: Path, qemu: object
) -> None:
    """Also where the image does not tell its build id: what the guest says decides. Here a session
    that expects another one stands for such an image."""
    session = tmp_path / "s.profdiff"
    command = ["record", *RESTORED, "--kernel", f"a={old_kernel}", "--kernel", f"b={new_kernel}"]
    command += ["--collector", "timed", "--no-observe", "-o", str(session), "--", "/bin/false"]
    profdiff(*command, status=2)
    text = (session / "manifest.json").read_text()
    booted, other = "677a0be9a4adff4f7c616bf3f449ce2259e39c71", "ab" * 20
    (session / "manifest.json").write_text(text.replace(booted, other).rstrip())
    result = profdiff(*command, status=2)
    assert booted in error_line(result)
    assert other in error_line(result)


def test_a_session_is_reported_elsewhere(recorded: Path, tmp_path: Path) -> None:
    """Moved, and without its debug ELFs or a cache: the chains are in it."""
    moved = tmp_path / "elsewhere.profdiff"
    subprocess.run(["cp", "-r", recorded, moved], check=True)
    text = (moved / "manifest.json").read_text()
    assert '/vmlinux"' in text
    (moved / "manifest.json").write_text(text.replace('/vmlinux"', '/gone"').rstrip())
    env = {"PROFDIFF_CACHE": str(tmp_path / "cache")}
    result = profdiff("report", cwd=tmp_path, env=env)
    assert result.stdout == profdiff("report", recorded).stdout
    assert "commit_anon_folio_batch" in result.stdout


@dataclass(frozen=True)
class Resumed:
    """A recording that was killed while its second guest ran, and then resumed: the ``command`` of
    both, the runs that the first one ``kept``, the guests that were ``left`` of it, and what the
    second one ``said``."""

    session: Path
    command: list[str]
    kept: list[m.Run]
    left: str
    said: str


@pytest.fixture(scope="module")
def resumed(
    old_kernel: Path, new_kernel: Path, tmp_path_factory: pytest.TempPathFactory, qemu: object
) -> Resumed:
    session = tmp_path_factory.mktemp("resumed") / "s.profdiff"
    command = ["record", "--kernel", f"old={old_kernel}", "--kernel", f"new={new_kernel}"]
    command += ["--no-call-tree", "--jobs", "1", "-o", str(session)]
    command += ["--", str(EXAMPLE), "400", "20"]
    with whole_run.processors(1):
        process = subprocess.Popen(
            [sys.executable, "-m", "profdiff", *command], stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 120
        # The order is drawn.
        while len(list(session.glob("runs/*/console.log"))) < 2:
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
    kept = Session.open(session).manifest.runs
    left = subprocess.run(["pgrep", "-f", str(session / "runs")], capture_output=True, text=True)
    return Resumed(session, command, kept, left.stdout, profdiff(*command).stderr)


def test_the_same_command_resumes(resumed: Resumed) -> None:
    """The first run is kept; the guest of the second went with its recorder."""
    assert len(resumed.kept) == 1
    assert resumed.left == ""
    assert resumed.kept[0].id not in resumed.said
    runs = Session.open(resumed.session).manifest.runs
    assert {run.id for run in runs} == {"old-1", "new-1"}
    assert runs[0] == resumed.kept[0]
    assert "all runs are already recorded" in profdiff(*resumed.command).stderr
    other = profdiff(*resumed.command[:-1], "21", status=2)
    assert "another workload" in other.stderr


def test_interrupting_says_how_to_go_on(
    old_kernel: Path, new_kernel: Path, tmp_path: Path, qemu: object
) -> None:
    session = tmp_path / "s.profdiff"
    with whole_run.processors(2):
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "profdiff", "record", "-o", str(session), "--jobs", "2"),
                *("--kernel", f"a={old_kernel}", "--kernel", f"b={new_kernel}"),
                *("--", str(EXAMPLE), "400", "20"),
            ],
            stderr=subprocess.PIPE,
            text=True,
        )
        while not (session / "runs/a-1/console.log").exists():
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "interrupted" in errors.splitlines()[-1]
    assert "same command" in errors.splitlines()[-1]
    assert Session.open(session).manifest.runs == []


def test_scripts_and_dynamic_programs(whole_command: Path) -> None:
    """Functions of the libraries of a dynamic program are found by the bytes that executed."""
    opened = Session.open(whole_command)
    run = opened.manifest.runs[0]
    assert opened.read(run, "stdout") == b"from-a-script\n"
    assert run.window
    assert run.window.kind == "command"
    metric = json.loads(profdiff("report", whole_command, "--json", "-").stdout)["metrics"][0]
    user = [row for row in metric["functions"] if row["side"] == "user"]
    objects = {row["object"] for row in user}
    assert {"libc.so.6", "ld-linux-x86-64.so.2", "agent"} <= objects
    # Debian strips sort and busybox: their instructions are theirs, but in no function.
    lost = {
        row["reason"]: row["self"]["a"] for row in metric["unresolved"] if row["side"] == "user"
    }
    assert lost.pop("no-symbol") > 100_000
    assert sum(lost.values()) < 100


def test_a_later_command_may_raise_repeat_ops_and_timeout(resumed: Resumed, tmp_path: Path) -> None:
    session = shutil.copytree(resumed.session, tmp_path / "s.profdiff")
    first = Session.open(session).manifest
    command = [word.replace(str(resumed.session), str(session)) for word in resumed.command[1:]]
    profdiff("record", "--repeat", "2", "--ops", "2000", "--timeout", "700", *command)
    second = Session.open(session).manifest
    assert second.runs[:2] == first.runs
    assert [run.id for run in second.runs[2:]] in (["old-2", "new-2"], ["new-2", "old-2"])
    assert (second.points[0].ops, second.guest.timeout) == (2000, 700)
    other = profdiff("record", "--memory", "256M", *command, status=2)
    assert "--memory 1024" in other.stderr
