"""Counts of an arm64 guest against its own processor's counters, and against another emulation."""

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from support import need_program, qemu_user, run_guests

from profdiff.collectors.architecture import ARM64
from profdiff.collectors.exact.counts import Counts
from profdiff.collectors.guest.initramfs import guest_resources
from profdiff.collectors.guest.qemu import Qemu
from profdiff.collectors.kernels.files import KernelFiles

pytestmark = [pytest.mark.guest, pytest.mark.network]

SOURCE = Path(__file__).with_name("arm64_pmu.c")
FUNCTIONS = {"compute", "mix", "fib", "divide", "root", "sort"}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = need_program(ARM64.compiler, ARM64.packages[ARM64.compiler])
    program = tmp_path_factory.mktemp("pmu") / "pmu"
    flags = ["-O2", "-g", "-static", "-Wall", "-Wextra", "-Werror", f"-I{guest_resources()}"]
    subprocess.run([compiler, *flags, SOURCE, "-o", program], check=True)
    return program


@pytest.fixture(scope="module")
def counted(
    program: Path,
    arm64_qemu: Qemu,
    arm64_kernel: KernelFiles,
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Counts, dict[str, int]]:
    """What profdiff counted of the program, and what the program printed."""
    folder = tmp_path_factory.mktemp("pmu-guest")
    (run,) = run_guests(arm64_qemu, arm64_kernel.image, [str(program)], folder, count=1)
    assert run.failure is None, (folder / "0/stderr").read_text()
    assert run.counts
    rows = re.findall(r"^(\w+): (\d+)$", (folder / "0/stdout").read_text(), re.M)
    return run.counts, {name: int(value) for name, value in rows}


def test_counts_are_those_of_the_guests_pmu(counted: tuple[Counts, dict[str, int]]) -> None:
    """Of the kernel, to the instruction. In user space a window has three reads besides, of its
    beginning or its end, and an instruction that faults starts once more."""
    counts, told = counted
    assert (counts.kind, counts.opened, counts.closed) == ("marks", 4, 4)
    assert told["switches"] == 0
    kernel = int(counts.count[counts.in_kernel].sum())
    user = int(counts.count[~counts.in_kernel].sum())
    assert kernel == told["kernel"] > 500_000
    restarted = told["faults"] + told["refused"]
    assert (told["windows"], told["handled"], told["refused"]) == (4, 20, 5)
    assert told["faults"] >= 64
    assert user == told["user"] + 3 * told["windows"] + restarted
    assert told["all"] == told["user"] + told["kernel"]


def test_user_code_is_what_qemu_executes_alone(
    program: Path, counted: tuple[Counts, dict[str, int]], tmp_path: Path
) -> None:
    """The same program under qemu-aarch64, which logs each instruction that it executes: neither
    a kernel, nor a plugin, nor a virtual clock."""
    counts, _ = counted
    log = tmp_path / "log"
    how = ["-singlestep", "-d", "exec,nochain", "-D", log]
    subprocess.run([qemu_user(ARM64.name), *how, program, "user"], check=True)
    executed: Counter[int] = Counter()
    with log.open() as lines:
        for line in lines:
            if match := re.match(r"Trace \d+: \S+ \[\w+/(\w+)/", line):
                executed[int(match[1], 16)] += 1
    ranges = {name: span for name, span in _symbols(program).items() if name in FUNCTIONS}
    assert ranges.keys() == FUNCTIONS
    for name, (start, size) in ranges.items():
        inside = (counts.address >= start) & (counts.address < start + size)
        ours = dict(
            zip(counts.address[inside].tolist(), counts.count[inside].tolist(), strict=True)
        )
        theirs = {at: executed[at] for at in range(start, start + size, 4) if executed[at]}
        assert ours == theirs, name
    # fib(15) makes 1,973 calls of itself; the longest loop of mix() goes round 20,000 times.
    assert executed[ranges["fib"][0]] > 0
    assert counts.count[counts.address == ranges["compute"][0]].sum() == 1
    mix = (counts.address >= ranges["mix"][0]) & (counts.address < sum(ranges["mix"]))
    assert counts.count[mix].max() == 20_000 + sum(range(100))


def _symbols(program: Path) -> dict[str, tuple[int, int]]:
    """Address and size of each function."""
    listing = subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True)
    rows = (line.split() for line in listing.stdout.splitlines())
    return {row[3]: (int(row[0], 16), int(row[1], 16)) for row in rows if len(row) == 4}
