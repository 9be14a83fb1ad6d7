"""What tests need of this machine, or a skip with the reason; guests below the command line."""

import atexit
import base64
import functools
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import extent
import pytest
import whole_run
from prepared import Prepared

import profdiff as package
from profdiff.base.cache import cache_folder
from profdiff.base.errors import ProfdiffError
from profdiff.collectors import registry
from profdiff.collectors.exact.counts import Counts
from profdiff.collectors.guest import initramfs
from profdiff.collectors.guest.qemu import Qemu
from profdiff.collectors.guest.result import Result
from profdiff.collectors.kernels.apt import Apt
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.kernels.kinds.registry import parse
from profdiff.collectors.recorder import Recorder, RunJob, Running
from profdiff.collectors.records import Guest
from profdiff.collectors.workload.workload import prepare
from profdiff.symbolization.chains import Chains

T = TypeVar("T")

ROOT = Path(__file__).resolve().parent.parent
# The folder from which this process imports profdiff: for PYTHONPATH of others. Where scripts/test
# runs the tests, that is not the checkout.
IMPORTED = Path(package.__file__).parent.parent
SHARED = ROOT.parent / "shared"
EXAMPLE = ROOT / "examples/mprotect-pte-batching/mprotect-toggle.c"
# The name of a folder that means something to QEMU's options, and to a shell.
ODD = "a,b,,c d:e%s=f,id=x"
# Options of ``record`` for what is not about booting: a run takes a twentieth of a boot's processor
# time. Guests of one kernel, one collector's programs and as many vCPUs share a machine, which the
# cache keeps, unless a test gives --memory, --append or --settle of its own.
RESTORED = ["--restore"]
# A kernel argument with which a guest with one x86-64 vCPU takes 2 seconds of processor time less:
# Linux does not measure the APIC's timer, which is to read the clock for 100 ms. Ticks come from
# another timer then: not for tests of what is counted.
LIGHT = "noapictimer"


@dataclass(frozen=True)
class GuestResult(Result):
    """What an exact run left, with its counts."""

    counts: Counts | None = None


def need_program(name: str, package: str | None = None) -> str:
    """The path of a program, or skip with a reason that names it."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed (apt-get install {package or name})")
    return path


def need_kernel(name: str) -> Path:
    """A folder with a fixture kernel and its vmlinux unpacked, as kernels are where they are built;
    skips with a reason that names it."""
    extent.uses(name, "kernel")
    folder = SHARED / "kernels" / name
    if not folder.is_dir():
        pytest.skip(f"the fixture kernel ../shared/kernels/{name} is absent")
    need_program("zstd")

    def make(made: Path) -> None:
        for file in folder.iterdir():
            shutil.copyfile(file, made / file.name)
        command = ["zstd", "-dq", "--long=27", made / "vmlinux.zst", "-o", made / "vmlinux"]
        subprocess.run(command, check=True)

    return whole_run.once(name, make)


def need_debian(spec: str) -> KernelFiles:
    """A kernel of Debian's archive, kept in the cache, or skip with a reason that names it."""
    extent.uses(spec, "network")
    need_program("apt-get", "apt")
    try:
        return parse(spec).locate("debian")
    except ProfdiffError as error:
        pytest.skip(f"{spec} cannot be fetched: {error}")


def need_riscv64(*ways: Callable[[], T]) -> T:
    """What the first of ``ways`` gets of Debian's riscv64 packages, or skip with a reason. A mirror
    may have stood still: what it has is signed, and as good for tests, be it of testing."""
    need_program("apt-get", "apt")
    strict = Apt._options

    def options(apt: Apt) -> list[str]:
        return [
            one.replace("Check-Valid-Until=true", "Check-Valid-Until=false") for one in strict(apt)
        ]

    def of_testing(_: object, debian: str) -> Apt:
        return Apt(("forky",), debian)

    errors = []
    for patched in (False, True):
        for way in ways:
            with pytest.MonkeyPatch.context() as patch:
                if patched:
                    patch.setattr(Apt, "_options", options)
                    patch.setattr(initramfs, "Apt", of_testing)
                try:
                    return way()
                except ProfdiffError as error:
                    errors.append(str(error))
    pytest.skip(f"Debian's riscv64 packages cannot be fetched: {errors[0]}")


def qemu_user(name: str) -> Path:
    """Debian's qemu-user, kept in the cache, or skip with a reason that names it."""
    root = cache_folder("qemus") / f"user-bookworm-{name}"
    program = root / f"usr/bin/qemu-{name}"
    if not program.exists():
        try:
            apt = Apt(("bookworm",))
            apt.unpack("qemu-user", apt.packages("qemu-user"), root, [f"./usr/bin/qemu-{name}"])
        except ProfdiffError as error:
            pytest.skip(f"qemu-user cannot be fetched: {error}")
    if subprocess.run([program, "--version"], check=False, capture_output=True).returncode:
        pytest.skip("qemu-user from bookworm needs libraries of Debian 12")
    return program


def need_profile(kernel: str) -> Path:
    """The fixture profile of mprotect() calls on a fixture kernel, or skip with a reason that names
    it."""
    extent.uses(kernel, "kernel")
    file = SHARED / f"perf-data/mprotect-{kernel}.perf.data"
    if not file.is_file():
        pytest.skip(f"the fixture profile ../shared/perf-data/{file.name} is absent")
    return file


def profile_pair() -> list[str]:
    """The two fixture profiles with their debug ELFs, as arguments of diff and import."""
    arguments = []
    for label, version in (("base", "v6.12.107"), ("new", "v6.18.15")):
        elf = need_kernel(version) / "vmlinux.zst"
        arguments += [f"{label}={need_profile(version)}", "--vmlinux", f"{label}={elf}"]
    return arguments


def run_guests(
    qemu: Qemu,
    image: Path,
    command: list[str],
    folder: Path,
    *,
    count: int = 2,
    cpus: int = 1,
    settle: float = 5.0,
    calls: bool = True,
    append: str = "",
    restored: bool = True,
    memory: int = 1024,
) -> list[GuestResult]:
    """Run ``command`` in ``count`` guests on the kernel ``image``, as many side by side as this
    process may have, and wait for their ends; the files of guest i go to ``folder/i``. Not
    ``restored``, each guest boots. Their machine is the command line's, so that both restore the
    same one."""
    folders = cache_folder("workloads"), initramfs.guest_resources()
    workload = prepare(command, [], *folders, qemu.architecture)
    settings = Guest(memory=memory, append=append, settle=settle, timeout=300, restored=restored)
    runs: list[Running] = []

    def running() -> int:
        return sum(not run.process.poll() for run in runs)

    with (
        whole_run.processors(min(count, whole_run.GUESTS)),
        tempfile.TemporaryDirectory() as temporary,
    ):
        recorder = Recorder(
            registry.collector("exact"),
            {"call_tree": calls},
            workload,
            settings,
            qemu=qemu,
            observe=False,
            folder=Path(temporary),
        )
        for number in range(count):
            while running() >= whole_run.GUESTS:
                time.sleep(0.05)
            (folder / str(number)).mkdir(parents=True)
            kernel = KernelFiles("k", str(image), image)
            runs.append(
                recorder.start(RunJob(kernel, workload.guest_argv, cpus, folder / str(number)))
            )
        while running():
            time.sleep(0.05)
        results = [run.finish() for run in runs]
    return [_with_counts(result, folder / str(number)) for number, result in enumerate(results)]


def _with_counts(result: Result, folder: Path) -> GuestResult:
    file = result.files.get("counts")
    return GuestResult(**vars(result), counts=Counts.load(folder / file) if file else None)


def shared_states(cache: Path) -> Path:
    """A cache folder of a test's own, but for the saved machines, which it shares with others."""
    cache.mkdir(exist_ok=True)
    (cache / "states").symlink_to(cache_folder("states"))
    return cache


@functools.cache
def _prepared() -> Prepared:
    process = Prepared()
    atexit.register(process.close)
    return process


def profdiff(
    *arguments: str | Path,
    cwd: Path | None = None,
    env: dict[str, str] | None = None,
    status: int | tuple[int, ...] = 0,
    repeats: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run the program as a user would; fails unless it ends with ``status``, or one of them. A
    recording that is not told how many guests it may have side by side is told what this process
    may; one that is made or planned is told to repeat nothing in other states, unless it
    ``repeats`` or is a suite's."""
    words = [*map(str, arguments)]
    guests = 0
    plain = words[:1] in (["record"], ["plan"]) and not repeats
    if plain and not {"--vary-state", "--suite"} & set(words):
        words[1:1] = ["--vary-state", "0"]
    if words[:1] == ["record"]:
        if "--jobs" not in words:
            words[1:1] = ["--jobs", str(whole_run.GUESTS)]
        guests = int(words[words.index("--jobs") + 1])
    environment = {**os.environ, **(env or {})}
    process = _prepared() if words else None
    with whole_run.processors(guests):
        if process and process.fits(environment):
            result = process.run(words, cwd, environment, 580)
        else:
            result = subprocess.run(
                [sys.executable, "-m", "profdiff", *words],
                cwd=cwd,
                env=environment,
                capture_output=True,
                text=True,
                timeout=580,
                check=False,
            )
    wanted = status if isinstance(status, tuple) else (status,)
    assert result.returncode in wanted, result.stderr + result.stdout
    return result


def error_line(result: subprocess.CompletedProcess[str]) -> str:
    """The one line that a failed command says, without its name."""
    lines = result.stderr.strip().splitlines()
    assert "Traceback" not in result.stderr, result.stderr
    assert lines
    assert lines[-1].startswith("profdiff: "), result.stderr
    return lines[-1].removeprefix("profdiff: ")


def unclaimed(session: Path) -> Path:
    """Leave out the checksums of a session, as another program does: its readers
    need to bear any file."""
    path = session / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"checksums": {}, "checksum": None}))
    return session


def page_data(page: Path) -> str:
    """The JSON that a report's page carries, compressed."""
    packed = re.search(r'<script id="data"[^>]*>([^<]*)<', page.read_text())
    assert packed
    return gzip.decompress(base64.b64decode(packed[1])).decode()


def frames_of(chains: Chains, index: int) -> list[tuple[str, str, bool, str, int]]:
    """The frames of one address as (function, object, inlined, file, line), outermost first."""
    rows = chains.frames[chains.offsets[index] : chains.offsets[index + 1]]
    return [
        (
            chains.strings[chains.function_name[chains.frame_function[row]]],
            chains.strings[chains.function_object[chains.frame_function[row]]],
            bool(chains.frame_inlined[row]),
            chains.strings[chains.frame_file[row]],
            int(chains.frame_line[row]),
        )
        for row in rows
    ]
