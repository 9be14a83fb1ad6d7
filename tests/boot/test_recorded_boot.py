"""A recorded boot against what the kernel itself says of it (``initcall_debug``), and what cannot
be recorded so."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import whole_run
from support import LIGHT, error_line, need_program, profdiff
from tables import rows, tables

from profdiff.base.errors import InputError
from profdiff.checks.rows import judge_rows
from profdiff.collectors.architecture import ARM64
from profdiff.collectors.exact.counts import Counts
from profdiff.collectors.exact.entry import Exact
from profdiff.collectors.guest.qemu import Qemu
from profdiff.evidence.conditions.condition import Condition
from profdiff.evidence.findings import Findings
from profdiff.forms import text
from profdiff.session.manifest import Run
from profdiff.session.session import Session
from profdiff.topics.initcalls import shapes
from profdiff.topics.initcalls.measure import Booted, as_base, booted


def test_what_a_boot_cannot_be(tmp_path: Path) -> None:
    """Said before a kernel is looked for."""
    kernels = ["--kernel", "a=none", "--kernel", "b=none"]
    for words, told in (
        (["--", "./w"], "--boot records no COMMAND: the boot is the workload"),
        (["--ops", "5"], "--boot and --ops: a boot is one workload"),
        (["--sweep", "n=1,2"], "--boot and --sweep"),
        (["--vary-state", "2"], "--boot and --vary-state"),
        (["--restore"], "--boot and --restore: a restored machine does not boot"),
        (["--cpus", "2"], "--boot: guests that boot have one vCPU"),
        (["--boot-until", "a\nb"], "--boot-until: give 1 to 100 printable characters"),
        (["--collector", "perf"], "--boot: only exact counts know a boot: leave perf out"),
    ):
        done = profdiff("record", "--boot", *kernels, *words, cwd=tmp_path, status=2)
        assert told in error_line(done)
    words = ["record", "--boot-until", "Run /init", *kernels, "--", "true"]
    told = error_line(profdiff(*words, cwd=tmp_path, status=2))
    assert told == "--boot-until says where a recorded boot ends: add --boot"
    assert list(tmp_path.iterdir()) == []


def test_other_architectures_are_refused() -> None:
    """On arm64, the kernel itself also runs at addresses that are not its own."""
    qemu = Qemu(Path("qemu"), "QEMU", ARM64)
    with pytest.raises(InputError, match="--boot: arm64 guests are not supported"):
        Exact().refuse([], {"boot": True}, qemu)


@pytest.mark.guest
def test_a_kernel_without_symbols(old_kernel: Path, tmp_path: Path) -> None:
    """Nothing tells where its boot begins."""
    image = old_kernel / "bzImage"
    kernels = ["--kernel", f"a={image}", "--kernel", f"b={old_kernel}"]
    done = profdiff("record", "--boot", *kernels, cwd=tmp_path, status=2)
    assert "a has no debug ELF that says where start_kernel() is" in error_line(done)


@pytest.fixture(scope="module")
def recorded(old_kernel: Path) -> Path:
    """One kernel, plain and as it tells its initcalls."""
    need_program("qemu-system-x86_64", "qemu-system-x86")

    def record(made: Path) -> None:
        kernels = ["--kernel", f"plain={old_kernel}"]
        kernels += ["--kernel", f"told={old_kernel},append=initcall_debug ignore_loglevel"]
        profdiff("record", "--boot", "-o", made / "session", "--append", LIGHT, *kernels)

    return whole_run.once("boot", record) / "session"


@pytest.mark.guest
def test_initcalls_are_those_that_the_kernel_tells(recorded: Path) -> None:
    """The same ones, in the same order, whether it tells or not; and each boot is the same."""
    session = Session.open(recorded)
    plain, again, told, _ = sorted(session.manifest.runs, key=lambda run: run.id)
    console = session.path(told.files["console"]).read_text(errors="replace")
    # Devices have quirks, which are called, too: their lines name the device first.
    called = re.findall(r"^\[[ .0-9]+\] calling +([\w.]+)\+0x\S+ @ 1\b", console, re.MULTILINE)
    assert len(called) > 200
    found = booted(session, told)
    assert [initcall.name for initcall in found.initcalls] == called
    assert set(called) <= set(re.findall(r"initcall ([\w.]+)\+0x\S+ returned", console))
    first = booted(session, plain)
    assert list(first.initcalls) == list(found.initcalls)
    assert first == booted(session, again)


@pytest.mark.guest
def test_a_renamed_initcall_is_one_row(recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the second kernel had another name for one, lacked one, and had one more."""
    names = {"iomap_buffered_init": "iomap_ioend_init", "pty_init": "devpts_setup"}

    def otherwise(session: Session, run: Run) -> Booted:
        found = booted(session, run)
        if run.kernel == "plain":
            return found
        known = {one: one._replace(name=names.get(one.name, one.name)) for one in found.initcalls}
        return as_base(found, known)

    monkeypatch.setattr(shapes, "booted", otherwise)
    session = Session.open(recorded)
    section = shapes.section(cast("Findings", SimpleNamespace(session=session)))
    (table, _) = section.tables
    by_name = {row[table.index("initcall")]: row for row in table.all_rows}
    row = by_name["iomap_ioend_init"]
    assert row[table.index("was")] == "iomap_buffered_init"
    assert "iomap_buffered_init" not in by_name
    assert min(row[table.index("count", label)] for label in ("plain", "told")) > 20_000
    # Neither is the initcall that changed most.
    for label, name in (("plain", "pty_init"), ("told", "devpts_setup")):
        assert by_name[name][table.index("only", "told")] == label
        (said,) = [one for one in section.sentences if one.startswith(f"{label} has 1 initcall")]
        assert said.endswith(f"instructions: {name}.")
    assert any("in serial8250_init where" in one for one in section.sentences)
    shown = text.render(section, width=200)
    assert "only plain" in shown and "only told" in shown
    assert " new " not in shown and "vanished" not in shown.split("phases of the boot")[0]
    for name in ("iomap_ioend_init", "iomap_buffered_init"):
        condition = Condition.parse(f"initcalls:{name} < +1000000")
        (judged,) = judge_rows(section, ["plain", "told"], [condition])
        assert judged.change.base == row[table.index("count", "plain")]


@pytest.mark.guest
def test_phases_sum_to_the_window(recorded: Path) -> None:
    """Which is the kernel's alone, from start_kernel() on."""
    session = Session.open(recorded)
    for run in session.manifest.runs:
        assert run.window
        assert (run.window.kind, run.window.count) == ("boot", 1)
        counts = Counts.load(session.path(run.files["counts"]))
        assert counts.in_kernel.all()
        assert booted(session, run).total == counts.count.sum()
        assert run.instructions
        assert run.instructions.user == 0
        own = run.instructions.kernel + (run.instructions.beside or 0)
        assert own == counts.count.sum()
        assert counts.calls
        assert counts.calls.refused == 0


@pytest.mark.guest
def test_what_is_shown_of_a_boot(recorded: Path) -> None:
    document = json.loads(profdiff("report", recorded, "--json", "-").stdout)
    initcalls, phases = tables(document, "initcalls")
    (whole,) = rows(initcalls, "sums")
    shown = rows(initcalls)
    for label in ("plain", "told"):
        assert sum(row["count"][label] for row in shown) == whole["count"][label]
    assert {row["phase"] for row in rows(phases)} >= {"memory", "tracing", "initcalls: device"}
    text = profdiff("report", recorded).stdout
    assert "workload: boot (from start_kernel() to init)" in text
    assert "reproduced bit for bit (2 runs)" in text
    assert "record with --vary-boots" in text
    assert "phases of the boot, instructions" in text
    done = profdiff("check", recorded, "--fail-if", "initcalls:serial8250_init > +5%", status=1)
    assert "fails: initcalls:serial8250_init" in done.stdout


MARK, LAST = "Run /init as init process", "reboot: Restarting system"


@pytest.fixture(scope="module")
def marked(old_kernel: Path) -> Path:
    """Boots that end with a line of the console: just before init, where one kernel is too quiet to
    show it; and behind init."""
    need_program("qemu-system-x86_64", "qemu-system-x86")
    kernel = f"--kernel=a={old_kernel}"

    def record(made: Path) -> None:
        common = ["record", "--boot", "--append", LIGHT, kernel, f"--kernel=b={old_kernel}"]
        common[-1] += ",append=quiet"
        # Of these only the sums are read: without calls, a boot takes a third less.
        before = ["--no-call-tree", "--boot-until", MARK, "-o", made / "before"]
        done = profdiff(*common, *before, status=2)
        (made / "told").write_text(done.stderr)
        profdiff(*common, "--boot-until", LAST, "-o", made / "behind")

    return whole_run.once("boot-until", record)


@pytest.mark.guest
def test_a_boot_ends_with_a_line_of_the_console(marked: Path, recorded: Path) -> None:
    """Exactly, and where init has not begun with less than the whole boot."""
    totals = {}
    for name, folder in (("init", recorded), ("before", marked / "before")):
        session = Session.open(folder)
        runs = [run for run in session.manifest.runs if run.kernel in ("a", "plain")]
        counts = [Counts.load(session.path(run.files["counts"])) for run in runs]
        assert [one.kind for one in counts] == ["boot"] * 2
        assert all(one.in_kernel.all() for one in counts)
        (totals[name],) = {int(one.count.sum()) for one in counts}
    # What is left is to write the line's end, and to execute init.
    assert 0 < totals["init"] - totals["before"] < 3_000_000
    text = profdiff("report", marked / "behind").stdout
    assert f"workload: boot (from start_kernel() to '{LAST}' on the console)" in text
    assert text.count("reproduced bit for bit (2 runs)") == 1


@pytest.mark.guest
def test_a_line_that_the_console_lacks(marked: Path) -> None:
    *_, console, last = (marked / "told").read_text().splitlines()
    why = f"--boot-until: the console did not show '{MARK}' after start_kernel() began"
    assert last == f"profdiff: b has no result: {why}"
    assert console.startswith("  console: ")
    assert LAST in console


@pytest.mark.guest
def test_a_boot_ends_behind_init(marked: Path, recorded: Path) -> None:
    """Programs are of the boot as well, initcalls are as before, and phases are all of it."""
    first = booted(Session.open(recorded), Session.open(recorded).manifest.runs[0])
    session = Session.open(marked / "behind")
    for run in session.manifest.runs:
        counts = Counts.load(session.path(run.files["counts"]))
        assert run.instructions
        assert run.instructions.user > 0
        found = booted(session, run)
        assert found.total == counts.count.sum()
        assert found.phases["programs"] == run.instructions.user
        assert found.phases["programs: system calls"] > 0
        assert found.phases["interrupts, idle"] == run.instructions.beside
        assert list(found.initcalls) == list(first.initcalls)
