"""What is said of arm64 guests that cannot run: before any runs."""

import gzip
import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from support import EXAMPLE, error_line, need_program, profdiff

from profdiff.base.errors import InputError, MissingError
from profdiff.collectors.architecture import ARM64, X86_64
from profdiff.collectors.guest.agent import AGENT, _syscall_names
from profdiff.collectors.guest.boot import Boot
from profdiff.collectors.guest.qemu import Qemu
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.kernels.images import build_ids
from profdiff.recording.plan import describe_kernel


def note(build_id: bytes) -> bytes:
    """An ELF note of a build id."""
    return struct.pack("<III", 4, len(build_id), 3) + b"GNU\0" + build_id


VDSO, OWN, OTHER = bytes(range(20)), bytes(range(20, 40)), bytes(range(40, 60))


def arm64_image(*build_ids: bytes) -> bytes:
    """The start of an arm64 image, and notes."""
    return bytes(56) + b"ARMd" + bytes(4000) + bytes(16).join(map(note, build_ids))


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    folder = tmp_path / "kernel"
    folder.mkdir()
    (folder / "Image").write_bytes(arm64_image(VDSO, OWN))
    return folder


def with_programs(tmp_path: Path, *names: str) -> dict[str, str]:
    """An environment in which only these programs are on PATH."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in names:
        (folder / name).symlink_to(need_program(name))
    return {"PATH": str(folder)}


def test_no_emulator(kernel: Path, tmp_path: Path) -> None:
    command = ["record", "--kernel", f"a={kernel}", "--aa", "1", "-o", tmp_path / "s"]
    environment = with_programs(tmp_path, "cpio", "aarch64-linux-gnu-gcc")
    told = error_line(profdiff(*command, "--", EXAMPLE, "4", env=environment, status=2))
    assert told.endswith("qemu-system-aarch64 is not installed: apt-get install qemu-system-arm")
    assert not (tmp_path / "s").exists()


def test_no_cross_compiler(kernel: Path, tmp_path: Path) -> None:
    command = ["record", "--kernel", f"a={kernel}", "--aa", "1", "-o", tmp_path / "s"]
    environment = with_programs(tmp_path, "cpio", "qemu-system-aarch64")
    told = error_line(profdiff(*command, "--", EXAMPLE, "4", env=environment, status=2))
    assert "aarch64-linux-gnu-gcc is not installed" in told
    assert told.endswith("apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross")


def test_a_compiler_without_its_libc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent is what is compiled first, and says the package."""
    compiler = tmp_path / ARM64.compiler
    refuses = 'echo "cannot find -lc: No such file or directory" >&2; exit 1'
    compiler.write_text(f"#!/bin/sh\n{refuses}\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    program = tmp_path / "built/agent"
    program.parent.mkdir()
    with pytest.raises(MissingError, match=r"cannot find -lc.*libc6-dev-arm64-cross"):
        AGENT.compile(program, ARM64)
    assert not list(program.parent.iterdir())


@pytest.mark.build
@pytest.mark.parametrize("packed", [False, True])
def test_a_vmlinux_of_another_build(kernel: Path, tmp_path: Path, packed: bool) -> None:
    """The kernel's own note is one of those in the image; its vDSOs have others."""
    data = (kernel / "Image").read_bytes()
    image = tmp_path / "Image.gz"
    image.write_bytes(gzip.compress(data) if packed else data)
    assert build_ids(image) == [VDSO.hex(), OWN.hex()]

    def vmlinux(build_id: bytes) -> Path:
        source = tmp_path / "empty.c"
        source.write_text("int main(void) { return 0; }")
        elf = tmp_path / f"vmlinux-{build_id[0]}"
        linker = f"-Wl,--build-id=0x{build_id.hex()}"
        compiler = need_program(ARM64.compiler, ARM64.packages[ARM64.compiler])
        subprocess.run([compiler, "-static", linker, "-o", elf, source], check=True)
        return elf

    own = describe_kernel(KernelFiles("a", "a", image, vmlinux(OWN)))
    assert own.build_id == OWN.hex()
    with pytest.raises(InputError) as refused:
        describe_kernel(KernelFiles("a", "a", image, vmlinux(OTHER)))
    assert f"has build id {OWN.hex()}" in str(refused.value)
    assert f"has {OTHER.hex()}: give the vmlinux of that build" in str(refused.value)
    # Without a vmlinux, the guest says which one it is.
    assert describe_kernel(KernelFiles("a", "a", image)).build_id is None


def test_an_image_that_is_cut_short(kernel: Path, tmp_path: Path) -> None:
    image = tmp_path / "Image.gz"
    image.write_bytes(gzip.compress(os.urandom(4000) + arm64_image(OWN))[:3000])
    with pytest.raises(InputError, match="cannot unpack"):
        build_ids(image)
    with pytest.raises(InputError, match="cannot read"):
        build_ids(tmp_path / "none")


def machine_of(arguments: list[str]) -> dict[str, str]:
    """QEMU's options with one value."""
    return dict(zip(arguments[1::2], arguments[2::2], strict=False))


@pytest.mark.parametrize(
    ("cpu", "kvm", "said"),
    [
        (None, False, "max,-rdrand,-rdseed"),
        ("qemu64", False, "qemu64,-rdrand,-rdseed"),
        ("max,-avx512f", False, "max,-avx512f,-rdrand,-rdseed"),
        ("max,+rdrand", False, "max,+rdrand,-rdseed"),
        ("max,rdseed=on,-rdrand", False, "max,rdseed=on,-rdrand"),
        (None, True, "host,pmu=on"),
        ("EPYC", True, "EPYC,pmu=on"),
        ("host,pmu=off", True, "host,pmu=off"),
    ],
)
def test_random_numbers_stay_off_with_every_model(
    cpu: str | None, kvm: bool, said: str, tmp_path: Path
) -> None:
    qemu = Qemu(Path("/q"), "v", X86_64, cpu=cpu, kvm=kvm)
    boot = Boot(Path("/k"), Path("/i"), "", 512, 1)
    assert machine_of(qemu.arguments(boot, tmp_path))["-cpu"] == said


def test_machines_of_arm64(tmp_path: Path) -> None:
    for cpu, said in ((None, "max,pauth-impdef=on"), ("neoverse-n1", "neoverse-n1")):
        qemu = Qemu(Path("/q"), "v", ARM64, cpu=cpu)
        for cpus, machine in ((1, "virt"), (8, "virt"), (9, "virt,gic-version=3")):
            boot = Boot(Path("/k"), Path("/i"), "", 512, cpus)
            options = machine_of(qemu.arguments(boot, tmp_path))
            assert (options["-cpu"], options["-M"]) == (said, machine)
            assert options["-append"].startswith("console=ttyAMA0 nokaslr norandmaps ")


def test_the_cross_compilers_agent_names_system_calls(tmp_path: Path) -> None:
    """Against what the compiler itself makes of each name."""
    compiler = Path(need_program(ARM64.compiler, ARM64.packages[ARM64.compiler]))
    found = dict(
        re.fullmatch(r'\[(\d+)\] = "(\w+)",', line).groups()[::-1]  # type: ignore[union-attr]
        for line in _syscall_names(compiler).splitlines()
    )
    assert len(found) > 250
    assert not {"syscalls", "arch_specific_syscall"} & found.keys()
    lines = "".join(f"{name}=__NR_{name}\n" for name in found)
    source = tmp_path / "names.c"
    source.write_text(f"#include <asm/unistd.h>\n{lines}")
    command = [compiler, "-E", "-P", source]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    # The macro's own name is not replaced in front of the equals sign, unless it is one itself.
    numbers = dict(line.split("=") for line in told.split() if "=" in line)
    assert {name: found[name] for name in numbers} == numbers
    assert numbers["mmap"] == "222"
    assert numbers["clone3"] == "435"


def test_this_python_is_none_of_the_guests(kernel: Path, tmp_path: Path) -> None:
    need_program("qemu-system-aarch64", "qemu-system-arm")
    command = ["record", "--kernel", f"a={kernel}", "--aa", "1", "-o", tmp_path / "s"]
    python = shutil.which(sys.executable) or "python3"
    told = error_line(profdiff(*command, "--", python, "-c", "1", status=2))
    assert "arm64" in told
    assert "--sysroot" in told
