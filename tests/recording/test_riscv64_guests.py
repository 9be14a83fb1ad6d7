"""Exact counts of riscv64 guests: against another emulation and a boot."""

import re
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from qemus import NIGHTLY
from support import RESTORED, ROOT, error_line, profdiff, qemu_user

from profdiff.collectors.architecture import RISCV64
from profdiff.collectors.exact.counts import Counts
from profdiff.collectors.guest.qemu import Qemu
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.session.session import Session

pytestmark = [pytest.mark.guest, pytest.mark.network]

FUNCTIONS = {"fib", "divide", "newton"}


def counts_of(folder: Path, number: int = 0) -> Counts:
    session = Session.open(folder)
    return Counts.load(session.path(session.manifest.runs[number].files["counts"]))


def program_of(folder: Path) -> Path:
    (program,) = folder.glob("workload/*riscv64-calls")
    return program


def test_runs_are_restored_and_repeat(recorded_riscv64: Path) -> None:
    manifest = Session.open(recorded_riscv64).manifest
    assert manifest.guest
    assert manifest.guest.restored
    assert len(manifest.runs) == 4
    for run in manifest.runs:
        assert run.window
        assert (run.window.kind, run.window.count) == ("marks", 1)
        assert run.qemu
        assert run.qemu.architecture == "riscv64"
        # No timer wakes a restored machine, a break does: what ran before is no part of it.
        assert run.instructions == manifest.runs[0].instructions


@NIGHTLY
def test_a_boot_counts_the_same(
    recorded_riscv64: Path, riscv64_kernel: KernelFiles, tmp_path: Path
) -> None:
    command = ["record", "--no-restore", "--kernel", f"a={riscv64_kernel.spec}", "--aa", "1"]
    folder = tmp_path / "booted.profdiff"
    profdiff(*command, "-o", folder, "--", "tests/recording/riscv64-calls.c", "100", cwd=ROOT)
    booted, restored = counts_of(folder), counts_of(recorded_riscv64)
    for column in ("address", "count"):
        user = [getattr(one, column)[~one.in_kernel] for one in (booted, restored)]
        assert np.array_equal(*user)
    # A timer's tick may fall into one window only.
    ran = [int(one.count[one.in_kernel].sum()) for one in (booted, restored)]
    assert ran[0] == pytest.approx(ran[1], rel=0.3)


def test_user_code_is_what_qemu_executes_alone(recorded_riscv64: Path, tmp_path: Path) -> None:
    """The same program under qemu-riscv64, which logs each instruction that it executes: neither
    a kernel, nor a plugin, nor a virtual clock."""
    counts = counts_of(recorded_riscv64)
    program = tmp_path / "program"
    program.write_bytes(program_of(recorded_riscv64).read_bytes())
    program.chmod(0o755)
    log = tmp_path / "log"
    how = ["-singlestep", "-d", "exec,nochain", "-D", log]
    subprocess.run([qemu_user(RISCV64.name), *how, program, "100", "user"], check=True)
    executed: Counter[int] = Counter()
    with log.open() as lines:
        for line in lines:
            if match := re.match(r"Trace \d+: \S+ \[\w+/(\w+)/", line):
                executed[int(match[1], 16)] += 1
    nm = subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True)
    rows = (line.split() for line in nm.stdout.splitlines())
    ranges = {row[3]: (int(row[0], 16), int(row[1], 16)) for row in rows if len(row) == 4}
    for name in FUNCTIONS:
        start, size = ranges[name]
        inside = (counts.address >= start) & (counts.address < start + size)
        # An address has several places where another program ran there, too.
        ours: Counter[int] = Counter()
        for at, number in zip(counts.address[inside], counts.count[inside], strict=True):
            ours[int(at)] += int(number)
        assert ours == {at: executed[at] for at in range(start, start + size, 2) if executed[at]}
    # 100 rounds, and 20 rounds of a loop in each.
    assert counts.count[counts.address == ranges["divide"][0]].sum() == 100
    newton = (counts.address >= ranges["newton"][0]) & (counts.address < sum(ranges["newton"]))
    assert counts.count[newton].max() == 2_000


def test_the_tree_has_the_calls(recorded_riscv64: Path, tmp_path: Path) -> None:
    counts = counts_of(recorded_riscv64)
    assert counts.calls
    assert counts.calls.unequal(counts.count) == 0
    profdiff("report", recorded_riscv64, "--folded", tmp_path / "stacks")
    shown = [line for file in tmp_path.iterdir() for line in file.read_text().splitlines()]
    below = [line for line in shown if "__riscv_sys_getppid" in line]
    assert below
    # From the program through its system call into the kernel.
    assert all(re.search(r"main;.*syscall.*;.*do_trap_ecall_u;", line) for line in below)


def test_annotate_and_inventory(recorded_riscv64: Path) -> None:
    code = profdiff("annotate", recorded_riscv64, "__riscv_sys_getppid").stdout
    assert re.search(r"100 +100 +ret$", code, re.MULTILINE)
    assert "(bad)" not in code
    inventory = profdiff("report", recorded_riscv64, "inventory").stdout
    for item in ("returns", "ecall", "sret", "csr"):
        assert re.search(rf"^ +[1-9].* {item}\b", inventory, re.M), item
    assert "on riscv64" in profdiff("mail", recorded_riscv64).stdout.replace("\n", " ")


@pytest.mark.nightly
def test_varied_states(riscv64_qemu: Qemu, riscv64_kernel: KernelFiles, tmp_path: Path) -> None:
    """Mappings are made beside the program by lending it system calls."""
    kernels = [f"--kernel={label}={riscv64_kernel.spec}" for label in ("a", "b")]
    command = ["record", *RESTORED, "--vary-state", "1", *kernels, "-o", tmp_path / "s.profdiff"]
    profdiff(*command, "--", "tests/recording/riscv64-calls.c", "4", cwd=ROOT)
    runs = Session.open(tmp_path / "s.profdiff").manifest.runs
    assert len(runs) == 4
    assert all(run.failure is None for run in runs)


def test_several_vcpus_are_refused(riscv64_kernel: KernelFiles, tmp_path: Path) -> None:
    command = ["plan", "--kernel", f"a={riscv64_kernel.spec}", "--aa", "1", "--cpus", "2"]
    command += ["-o", tmp_path / "s", "--", "tests/recording/riscv64-calls.c", "100"]
    line = error_line(profdiff(*command, cwd=ROOT, status=2))
    assert line.startswith("--cpus: riscv64 guests have one vCPU: ")


def test_what_needs_timers_boots(riscv64_kernel: KernelFiles, tmp_path: Path) -> None:
    """QEMU restores a machine without its timers: perf's clock stands still."""
    command = ["plan", "--kernel", f"a={riscv64_kernel.spec}", "--aa", "1", "-o", tmp_path / "s"]
    command += ["--collector", "timed"]
    workload = ["--", "tests/recording/riscv64-calls.c", "100"]
    line = error_line(profdiff(*command, "--restore", *workload, cwd=ROOT, status=2))
    assert line.startswith("--restore: riscv64 guests are restored for exact counts only")
    assert "boot" in profdiff(*command, *workload, cwd=ROOT).stdout
