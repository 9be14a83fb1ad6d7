"""Real schedulers and workers on loopback."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import pytest
from support import IMPORTED, profdiff

SECONDS = 150


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@dataclass
class Dask:
    """A scheduler on loopback, and workers, each with a port by which its process is known."""

    folder: Path
    port: int = field(default_factory=free_port)
    scheduler: subprocess.Popen[bytes] | None = None
    workers: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def start(self) -> None:
        words = ["--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard"]
        self.scheduler = self._dask("scheduler", words)
        self.wait_for(self.port, self.scheduler)

    def wait_for(self, port: int, process: subprocess.Popen[bytes] | None = None) -> None:
        """Until the scheduler, or the worker, listens."""
        process = process or self.workers[port]
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                return
            assert process.poll() is None, f"what should listen at {port} has ended"
            time.sleep(0.1)
        pytest.fail(f"nothing listens at {port}")

    def add(self, env: dict[str, str] | None = None) -> int:
        """Start a worker for one guest; its port."""
        port = free_port()
        words = [self.address, "--host", "127.0.0.1", "--worker-port", str(port), "--nthreads", "1"]
        words += ["--no-nanny", "--no-dashboard", "--local-directory", str(self.folder)]
        self.workers[port] = self._dask("worker", words, env)
        return port

    def _dask(
        self, name: str, words: list[str], env: dict[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        log = (self.folder / f"{name}-{time.monotonic_ns()}.log").open("wb")
        with log:
            return subprocess.Popen(
                [sys.executable, "-m", "distributed.cli.dask_" + name, *words],
                env={**os.environ, "PYTHONPATH": str(IMPORTED), **(env or {})},
                stdout=log,
                stderr=log,
                cwd=self.folder,
            )

    def end(self) -> None:
        for process in [*self.workers.values(), *([self.scheduler] if self.scheduler else ())]:
            process.kill()
            process.wait()
        self.workers.clear()


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[Dask]:
    """A scheduler that a user started; workers are added."""
    if find_spec("distributed") is None:
        pytest.skip("Dask is not installed (pip install 'profdiff[cluster]')")
    folder = tmp_path / "dask"
    folder.mkdir()
    one = Dask(folder)
    try:
        one.start()
        yield one
    finally:
        one.end()


@dataclass
class Recording:
    """``profdiff record`` that goes on, and what it has said so far."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def said(self) -> str:
        return self.log.read_text()

    def wait_for(self, found: Callable[[str], object]) -> str:
        """What it has said once that is ``found`` in it."""
        deadline = time.monotonic() + 2 * SECONDS
        while time.monotonic() < deadline:
            if found(self.said):
                return self.said
            assert self.process.poll() is None, self.said
            time.sleep(0.05)
        raise AssertionError(self.said)

    def end(self) -> int:
        return self.process.wait(3 * SECONDS)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Recording]]:
    """Start ``profdiff record`` with arguments; it is ended with the test."""
    started: list[Recording] = []

    def record(*words: str | Path, env: dict[str, str] | None = None) -> Recording:
        log = tmp_path / f"record-{len(started)}.log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, "-m", "profdiff", "record", "--vary-state=0", *map(str, words)],
                env={**os.environ, "PYTHONPATH": str(IMPORTED), **(env or {})},
                stdout=subprocess.DEVNULL,
                stderr=out,
                cwd=tmp_path,
            )
        started.append(Recording(process, log))
        return started[-1]

    yield record
    for one in started:
        if one.process.poll() is None:
            one.process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                one.process.wait(20)
            one.process.kill()
            one.process.wait()


SOURCE = """
#include <stdlib.h>
#include <unistd.h>
#include "profdiff.h"
int main(int argc, char **argv)
{
	long calls = argc > 1 ? atol(argv[1]) : 10;
	PROFDIFF_START();
	for (long i = 0; i < calls; i++)
		getppid();
	PROFDIFF_STOP();
	return 0;
}
"""


@pytest.fixture
def workload(tmp_path: Path) -> Path:
    path = tmp_path / "calls.c"
    path.write_text(SOURCE)
    return path


@pytest.fixture
def asked(old_kernel: Path, new_kernel: Path, workload: Path) -> list[str]:
    """What is recorded in all of these tests: two kernels."""
    kernels = ["--kernel", f"old={old_kernel}", "--kernel", f"new={new_kernel}"]
    return [*kernels, "--no-observe", "--", str(workload), "500"]


@pytest.fixture(scope="session")
def alone(
    tmp_path_factory: pytest.TempPathFactory, old_kernel: Path, new_kernel: Path
) -> dict[str, bytes]:
    """The counts files of the same recording by one process, by the kernel's label."""
    folder = tmp_path_factory.mktemp("alone")
    source = folder / "calls.c"
    source.write_text(SOURCE)
    kernels = ["--kernel", f"old={old_kernel}", "--kernel", f"new={new_kernel}"]
    session = folder / "s.profdiff"
    profdiff("record", *kernels, "--no-observe", "-o", session, "--", source, "500", cwd=folder)
    return counts(session)


def counts(session: Path) -> dict[str, bytes]:
    """The counts file of each run that ended well, by the kernel's label."""
    from profdiff.session.session import Session

    opened = Session.open(session)
    return {
        run.kernel: opened.path(run.files["counts"]).read_bytes()
        for run in opened.manifest.runs
        if run.failure is None
    }


ANOTHER_VERSION = '[ "$1" = --version ] && echo "QEMU emulator version 99.0.1" && exit'
# Before a machine is loaded.
SLOW = 'case "$*" in *" -incoming "*) sleep 2 ;; esac'


def wrapped_qemu(folder: Path, line: str) -> Path:
    """A folder for PATH with a QEMU that first executes a line of shell."""
    folder.mkdir()
    real = shutil.which("qemu-system-x86_64")
    program = folder / "qemu-system-x86_64"
    program.write_text(f'#!/bin/sh\n{line}\nexec {real} "$@"\n')
    program.chmod(0o755)
    return folder
