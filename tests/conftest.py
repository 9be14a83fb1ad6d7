"""Fixtures that several folders of tests share."""

import gc
import lzma
import os
import shlex
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import extent
import pytest
import whole_run
from chromium import browser
from support import (
    EXAMPLE,
    IMPORTED,
    ODD,
    RESTORED,
    ROOT,
    need_debian,
    need_kernel,
    need_program,
    need_riscv64,
    profdiff,
    run_guests,
)

from profdiff.collectors.architecture import ARCHITECTURES, ARM64, RISCV64
from profdiff.collectors.exact.counts import Counts
from profdiff.collectors.exact.entry import Exact
from profdiff.collectors.guest.initramfs import foreign_busybox
from profdiff.collectors.guest.qemu import Qemu
from profdiff.collectors.kernels.files import KernelFiles, module_files
from profdiff.collectors.kernels.kinds.registry import parse

__all__ = ["browser"]


def pytest_sessionstart() -> None:
    """Where scripts/test says which installation is tested, no other one is."""
    tested = os.environ.get("PROFDIFF_TESTED")
    if tested and not IMPORTED.is_relative_to(tested):
        raise pytest.UsageError(f"profdiff is imported from {IMPORTED}, which is not in {tested}")


def pytest_addoption(parser: pytest.Parser) -> None:
    """What scripts/test passes on."""
    parser.addoption("--quick", action="store_true", help="only what needs this checkout alone")
    parser.addoption("--nightly", action="store_true", help="everything, with all examples")


def pytest_configure(config: pytest.Config) -> None:
    """Before test modules are imported, which ask for it."""
    gc.disable()  # What is collected stays.
    extent.configure(config)
    # A shell starts what runs in the background with SIGINT ignored, nohup with SIGHUP. What tests
    # start and end by these signals would ignore them, too, and be waited for.
    for number, handler in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGHUP, signal.SIG_DFL),
    ):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Those that this run leaves out; and files with most guests first, then those with most other
    long tests: the short ones at the end leave no processor without work."""
    extent.select(config, items)
    guests = Counter(item.path for item in items if item.get_closest_marker("guest"))
    long = Counter(item.path for item in items if extent.is_long(item))
    items.sort(key=lambda item: (-guests[item.path], -long[item.path]))


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """Thousands of tests are no garbage: to look through them again and again took a worker an
    eighth of its time."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Iterator[None]:
    """With what a test's fixtures take."""
    with extent.limited():
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """With what it takes itself."""
    with extent.limited():
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Iterator[None]:
    """Also of what skipped its test."""
    yield
    extent.check_started()


@pytest.fixture(scope="session", autouse=True)
def _left_out(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What this run leaves out is not there for its tests."""
    extent.leave_out(tmp_path_factory.mktemp("left-out"))


@pytest.fixture(scope="session", autouse=True)
def _no_servers(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What a distribution's profile sets must not send the tests to its servers, nor may kernels
    that the user registered name functions."""
    os.environ.pop("DEBUGINFOD_URLS", None)
    # GNU readline, which pytest loads, tells processes that a pipe has 80 columns.
    os.environ.pop("COLUMNS", None)
    os.environ.pop("LINES", None)
    os.environ["PROFDIFF_CONFIG"] = str(tmp_path_factory.getbasetemp() / "no-config")


@pytest.fixture(scope="session", autouse=True)
def _whole_run(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The folder that all processes of this run share."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    whole_run.folder = folder / "whole-run"
    whole_run.folder.mkdir(exist_ok=True)


@pytest.fixture(scope="session")
def old_kernel() -> Path:
    """v6.12.107: before PTE batching."""
    return need_kernel("v6.12.107")


@pytest.fixture(scope="session")
def new_kernel() -> Path:
    """v6.18.15: with the batching that regressed small folios."""
    return need_kernel("v6.18.15")


@pytest.fixture(scope="session")
def qemu() -> Qemu:
    """The QEMU on PATH."""
    need_program("qemu-system-x86_64", "qemu-system-x86")
    need_program("busybox", "busybox-static")
    need_program("cpio")
    need_program("cc", "gcc")
    return Exact().emulator(ARCHITECTURES[0], None)


@pytest.fixture(scope="session")
def arm64_qemu() -> Qemu:
    """The QEMU on PATH for arm64 guests."""
    need_program(ARM64.emulator, ARM64.qemu_package)
    need_program(ARM64.compiler, ARM64.packages[ARM64.compiler])
    need_program("cpio")
    return Exact().emulator(ARM64, None)


@pytest.fixture(scope="session")
def arm64_kernel() -> KernelFiles:
    """Debian's 6.12 for arm64, with debug symbols."""
    return need_debian("debian:bookworm-backports,arch=arm64")


@pytest.fixture(scope="session")
def arm64_kernels(arm64_kernel: KernelFiles) -> tuple[KernelFiles, KernelFiles]:
    """Debian's 6.1, whose functions take no notice of folios, and its 6.12, which has them."""
    return need_debian("debian:bookworm,arch=arm64"), arm64_kernel


@pytest.fixture(scope="session")
def riscv64_qemu() -> Qemu:
    """The QEMU on PATH for riscv64 guests, with their busybox in the cache."""
    need_program(RISCV64.emulator, RISCV64.qemu_package)
    need_program(RISCV64.compiler, RISCV64.packages[RISCV64.compiler])
    need_program("cpio")
    need_riscv64(lambda: foreign_busybox(RISCV64))
    return Exact().emulator(RISCV64, None)


@pytest.fixture(scope="session")
def riscv64_kernel() -> KernelFiles:
    """Debian's for riscv64, with debug symbols."""
    return need_riscv64(
        lambda: parse("debian:trixie,arch=riscv64").locate("debian"),
        lambda: parse("debian:forky,arch=riscv64").locate("debian"),
    )


@pytest.fixture(scope="session")
def recorded_riscv64(riscv64_qemu: Qemu, riscv64_kernel: KernelFiles) -> Path:
    """A riscv64 recording of riscv64-calls.c, restored and verified, of the same kernel twice."""

    def make(folder: Path) -> None:
        kernels = [f"--kernel={label}={riscv64_kernel.spec}" for label in ("a", "b")]
        command = ["record", *RESTORED, "--verify", *kernels, "-o", folder / "riscv64.profdiff"]
        profdiff(*command, "--", "tests/recording/riscv64-calls.c", "100", cwd=ROOT)

    return whole_run.once("riscv64", make) / "riscv64.profdiff"


@pytest.fixture(scope="session")
def recorded_arm64(arm64_qemu: Qemu, arm64_kernels: tuple[KernelFiles, KernelFiles]) -> Path:
    """An arm64 recording with two vCPUs and another processor than the usual one, whose workload
    loads a module (arm64-module.c), verified."""

    def make(folder: Path) -> None:
        command = ["record", *RESTORED, "--verify", "--cpus", "2", "--cpu", "cortex-a72"]
        for label, kernel in zip(("old", "new"), arm64_kernels, strict=True):
            module = module_files(kernel.modules)["loop"]
            release = next(part for part in module.parts if part.endswith("-cloud-arm64"))
            plain = folder / f"{release}.ko"
            data = module.read_bytes()
            plain.write_bytes(lzma.decompress(data) if module.suffix == ".xz" else data)
            command += ["--kernel", f"{label}={kernel.spec}"]
            command += ["--file", f"{plain}:/modules/{release}.ko"]
        workload = ["--", "tests/recording/arm64-module.c", "100"]
        profdiff(*command, "-o", folder / "arm64.profdiff", *workload, cwd=ROOT)

    return whole_run.once("arm64", make) / "arm64.profdiff"


@pytest.fixture(scope="session")
def newest_kernel() -> Path:
    """v7.1.8: with later optimisations."""
    return need_kernel("v7.1.8")


@pytest.fixture(scope="session")
def fixture_vmlinux() -> Callable[[str], Path]:
    """The unpacked vmlinux of a fixture kernel, by the kernel's name."""
    return lambda name: need_kernel(name) / "vmlinux"


# Sessions that several tests read, each recorded once for the whole run: do not change them.


@pytest.fixture(scope="session")
def recorded(old_kernel: Path, new_kernel: Path, qemu: Qemu) -> Path:
    """The main job, recorded by the command line with guests side by side, and verified."""

    def make(folder: Path) -> None:
        command = ["record", "--kernel", f"base={old_kernel}", "--kernel", f"new={new_kernel}"]
        command += ["--ops", "40000", "--verify", "--jobs", str(whole_run.PROCESSORS)]
        workload = ["--", EXAMPLE, "400", "200", "4000", "20"]
        profdiff(*command, "-o", folder / "mprotect.profdiff", *workload)

    return whole_run.once("main-job", make) / "mprotect.profdiff"


@pytest.fixture(scope="session")
def counted_and_sampled(old_kernel: Path, new_kernel: Path, qemu: Qemu) -> Path:
    """Exact counts and samples of the same workload in one session."""
    need_program("perf", "linux-perf")
    need_program("xz", "xz-utils")

    def make(folder: Path) -> None:
        kernels = ["--kernel", f"base={old_kernel}", "--kernel", f"new={new_kernel}"]
        command = ["record", *RESTORED, "--collector", "exact,perf", *kernels, "--ops", "200000"]
        command.append("--no-observe")
        profdiff(*command, "-o", folder / "both.profdiff", "--", EXAMPLE, "400", "2000")

    return whole_run.once("counted-and-sampled", make) / "both.profdiff"


@pytest.fixture(scope="session")
def at_a_terminal(old_kernel: Path, new_kernel: Path, qemu: Qemu) -> Path:
    """A folder with a session of an odd name that was recorded without a call tree, of three
    kernels (the last is the first one again), and with ``typescript``: what a terminal showed.
    script(1) gives the program a terminal and keeps what it wrote."""
    need_program("script", "bsdutils")

    def make(folder: Path) -> None:
        command = ["python", "-m", "profdiff", "record", "--jobs", str(whole_run.GUESTS)]
        for kernel in (old_kernel, new_kernel, f"again={old_kernel}"):
            command += ["--kernel", str(kernel)]
        command += [*RESTORED, "--no-call-tree", "-o", str(folder / ODD)]
        line = shlex.join([*command, "--", str(EXAMPLE), "400", "20"])
        with whole_run.processors(whole_run.GUESTS):
            subprocess.run(
                ["script", "-qec", line, folder / "typescript"], check=True, capture_output=True
            )

    return whole_run.once("at-a-terminal", make)


@pytest.fixture(scope="session")
def whole_command(old_kernel: Path, new_kernel: Path, qemu: Qemu) -> Path:
    """A shell script that runs a dynamic program of this machine, counted from its start to its
    end: it has no marks."""

    def make(folder: Path) -> None:
        script, data = folder / "work.sh", folder / "data"
        script.write_text(
            "#!/bin/sh\nset -e\necho from-a-script\n/work/sort /work/data > /dev/null\n"
        )
        script.chmod(0o755)
        data.write_text("".join(f"{(i * 7919) % 1000:04}\n" for i in range(1000)))
        profdiff(
            *("record", *RESTORED, "--kernel", f"a={old_kernel}", "--kernel", f"b={new_kernel}"),
            *("-o", folder / "s.profdiff", "--file", "/usr/bin/sort", "--file", data, "--", script),
        )

    return whole_run.once("whole-command", make) / "s.profdiff"


@pytest.fixture(scope="session")
def one_guest(new_kernel: Path, qemu: Qemu) -> Counts:
    """Counts of the example's short run (400 pages, 50 rounds) with a call tree, in one guest of
    the QEMU on PATH."""

    def make(folder: Path) -> None:
        command = [str(EXAMPLE), "400", "50"]
        (run,) = run_guests(qemu, new_kernel / "bzImage", command, folder, count=1)
        assert run.failure is None

    return Counts.load(whole_run.once("one-guest", make) / "0/counts.bin")


@pytest.fixture
def small_disk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A file system of 2 MiB, or of the size that the test gives as the fixture's parameter."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small tmpfs needs root")
    folder = tmp_path / "small"
    folder.mkdir()
    size = f"size={getattr(request, 'param', '2m')}"
    command = ["mount", "-t", "tmpfs", "-o", size, "none", str(folder)]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("this machine does not let root mount a tmpfs")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)
