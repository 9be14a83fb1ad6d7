"""One recording for all tests of events."""

from pathlib import Path

import pytest
import whole_run
from support import RESTORED, profdiff

from profdiff.collectors.guest.qemu import Qemu

PROGRAM = Path(__file__).with_name("events.c")
TIMES = 40


@pytest.fixture(scope="session")
def happened(old_kernel: Path, new_kernel: Path, newest_kernel: Path, qemu: Qemu) -> Path:
    """A session in which known things happen so many times, on two vCPUs."""

    def make(folder: Path) -> None:
        kernels = {"old": old_kernel, "new": new_kernel, "newest": newest_kernel}
        command = ["record", *RESTORED, "--cpus", "2", "--no-observe", "--ops", str(TIMES)]
        command += ["--sweep", "what=faults,traps,maps,futexes,pipes,unmaps"]
        for label, kernel in kernels.items():
            command += ["--kernel", f"{label}={kernel}"]
        workload = ["--", PROGRAM, "{what}", str(TIMES)]
        profdiff(*command, "-o", folder / "events.profdiff", *workload)

    return whole_run.once("events", make) / "events.profdiff"
