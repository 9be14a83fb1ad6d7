"""The emulator at hand: its version, the build of our plugin that it takes, its arguments."""

import os
import subprocess
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import profdiff.collectors
from profdiff.base.errors import MissingError
from profdiff.collectors.programs import find_program

SYSTEM = "qemu-system-x86_64"
# The processor itself, with its PMU.
_KVM = ["-accel", "kvm", "-cpu", "host,pmu=on"]
_MACHINE = {"x86_64": "q35", "aarch64": "virt"}
# Without random numbers. Arm's default algorithm of pointer authentication takes most of the time.
_CPU = {"x86_64": "max,-rdrand,-rdseed", "aarch64": "max,pauth-impdef=on"}
# What QEMU itself may no longer do, by seccomp: no programs, no privileges, no priorities.
_SANDBOX = (
    "-sandbox",
    "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
)
# What the plugin may take, in MiB, beside QEMU's 1 GiB for translated code. It keeps each
# instruction that was executed, in 160 bytes with the call tree and 80 without: so 13 million, or
# 26. A boot executes a quarter of a million.
PLUGIN_MEMORY = 2048
# Newest first: a QEMU takes one of them.
_PLUGINS = {2: "tcg_plugin_api2", 1: "tcg_plugin_api1"}


@dataclass(frozen=True)
class Qemu:
    """A QEMU, and the plugin that it takes if one was asked for. ``firmware`` are folders for
    ``-L``, for one that was unpacked somewhere instead of installed. ``kvm``: run guests on the
    processor itself, with its PMU. ``sandbox``: the arguments that restrict QEMU, if it can be."""

    program: Path
    version: str
    plugin: Path | None = None
    plugin_api: int | None = None
    firmware: tuple[Path, ...] = ()
    architecture: str = "x86_64"
    kvm: bool = False
    sandbox: tuple[str, ...] = ()

    def arguments(
        self,
        *,
        image: Path,
        initramfs: Path,
        append: str,
        memory: int,
        cpus: int,
        folder: Path,
        counts: Path | None,
        calls: bool = False,
        seed: int = 1,
    ) -> list[str]:
        """The command line of one guest; ``memory`` in MiB. Without ``counts`` no plugin is loaded;
        with ``calls`` it records the call tree too. ``seed``: of the guest's random numbers.

        Without KVM the machine is deterministic: no random numbers, a fixed date, and virtual time
        that is the number of instructions executed (``-icount``), with all vCPUs in one thread in
        turn.
        """
        arguments = [str(self.program)]
        for place in self.firmware:
            arguments += ["-L", str(place)]
        arguments += ["-M", _MACHINE[self.architecture]]
        if self.kvm:
            arguments += _KVM
        else:
            arguments += ["-accel", "tcg", "-cpu", _CPU[self.architecture], "-seed", str(seed)]
            arguments += ["-rtc", "base=2026-01-01,clock=vm", "-icount", "shift=0,sleep=off"]
        arguments += ["-smp", str(cpus), "-m", f"{memory}M"]
        arguments += ["-nodefaults", "-display", "none", "-no-reboot"]
        arguments += self.sandbox
        # Not -serial file:PATH, where a comma stays doubled.
        for port, file in (("console", "console.log"), ("channel", "channel")):
            arguments += ["-chardev", f"file,id={port},path={_escape(folder / file)}"]
        arguments += ["-serial", "chardev:console"]
        if self.architecture == "x86_64":
            arguments += ["-serial", "chardev:channel"]
        else:
            arguments += ["-device", "pci-serial,chardev=channel"]
        arguments += ["-kernel", str(image), "-initrd", str(initramfs), "-append", append]
        if counts and self.plugin:
            tree = f"calls={'on' if calls else 'off'}"
            plugin = f"{_escape(self.plugin)},out={_escape(counts)},memory={PLUGIN_MEMORY},{tree}"
            arguments += ["-plugin", f"file={plugin}"]
        return arguments


def find_emulator(architecture: str, program: Path | None = None) -> Qemu:
    """The QEMU to run guests in without the plugin: on KVM where this machine lets us.

    Raises MissingError.
    """
    path = program or find_program(f"qemu-system-{architecture}")
    version = _version(path)
    qemu = Qemu(path, version, firmware=_firmware(path), architecture=architecture)
    qemu = replace(qemu, sandbox=_sandbox(path))
    mine = architecture == os.uname().machine and os.access("/dev/kvm", os.R_OK | os.W_OK)
    return replace(qemu, kvm=mine and _kvm_works(qemu))


def _kvm_works(qemu: Qemu) -> bool:
    """Whether a guest starts on KVM: nested, /dev/kvm may be there and not do."""
    machine = ["-M", _MACHINE[qemu.architecture], *_KVM, *qemu.sandbox, "-S"]
    try:
        return _start(qemu.program, machine).returncode == 0
    except subprocess.TimeoutExpired:
        return False


@cache
def _sandbox(program: Path) -> tuple[str, ...]:
    """The arguments that restrict this QEMU: none if it was built without seccomp, or may not use
    it here."""
    result = _start(program, ["-M", "none", *_SANDBOX])
    return _SANDBOX if result.returncode == 0 else ()


def _start(program: Path, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """Start QEMU and end it at once."""
    command = [str(program), *arguments, "-nodefaults", "-display", "none", "-monitor", "stdio"]
    return subprocess.run(
        command, input="quit\n", capture_output=True, text=True, check=False, timeout=60
    )


@cache
def find_qemu(program: Path | None = None) -> Qemu:
    """The QEMU to use: ``program``, or the one on PATH. Raises MissingError.

    Which build of the plugin it takes is found by letting it load them.
    """
    path = program or find_program(SYSTEM)
    version = _version(path)
    firmware = _firmware(path)
    refusals = []
    for api, name in _PLUGINS.items():
        plugin = _plugin_file(name)
        loads = f"file={_escape(plugin)},out=/dev/null,memory={PLUGIN_MEMORY}"
        result = _start(path, ["-M", "none", "-accel", "tcg", "-plugin", loads])
        if result.returncode == 0:
            return Qemu(path, version, plugin, api, firmware, sandbox=_sandbox(path))
        refusals += result.stderr.strip().splitlines()[-1:]
    if any("plugin" in refusal and "invalid option" in refusal for refusal in refusals):
        raise MissingError(
            f"{path} was built without TCG plugins: use Debian's qemu-system-x86, or give another "
            "QEMU with --qemu"
        )
    raise MissingError(f"{path} takes none of profdiff's plugins: {' / '.join(refusals)}")


def _version(path: Path) -> str:
    lines = _output([str(path), "--version"]).splitlines()
    if not lines or "QEMU" not in lines[0]:
        raise MissingError(f"{path} is no QEMU: give another one with --qemu")
    return lines[0].strip()


def _plugin_file(name: str) -> Path:
    # The suffix differs between an editable install and a wheel.
    folders = [Path(folder) for folder in profdiff.collectors.__path__]
    for folder in folders:
        for file in sorted(folder.glob(f"{name}.*so")):
            return file.resolve()
    raise MissingError(
        f"profdiff was installed without its QEMU plugin {name}: install it with a Rust toolchain"
    )


def _firmware(program: Path) -> tuple[Path, ...]:
    """Firmware folders beside a QEMU that was unpacked, not installed, from its packages."""
    root = program.resolve().parent.parent
    if root == Path("/usr"):
        return ()
    return tuple(
        folder for name in ("qemu", "seabios") if (folder := root / "share" / name).is_dir()
    )


def _escape(path: Path) -> str:
    """A path inside a QEMU option, where a comma is doubled."""
    return str(path).replace(",", ",,")


def _output(command: list[str]) -> str:
    try:
        return subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=60
        ).stdout
    except OSError as error:
        raise MissingError(f"cannot execute {command[0]}: {error.strerror}") from error
