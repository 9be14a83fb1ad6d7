"""The emulator at hand: its version, the build of our plugin that it takes, its arguments."""

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import profdiff.collectors
from profdiff.base.errors import InputError, MissingError
from profdiff.collectors import records
from profdiff.collectors.architecture import Architecture
from profdiff.collectors.guest.boot import Boot
from profdiff.collectors.programs import find_program

# What -cpu takes, but for "help".
_MODEL = re.compile(r"(?!help\b)[A-Za-z0-9][\w.-]*(,[+-]?[a-z0-9][\w.-]*(=[\w.-]+)?)*", re.ASCII)
# What QEMU itself may no longer do, by seccomp: no programs, no privileges, no priorities.
_SANDBOX = ("-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny")


@dataclass(frozen=True)
class Qemu:
    """A QEMU, and the build of a TCG plugin that it takes if one was asked for. ``firmware`` are
    folders for ``-L``, for one that was unpacked somewhere instead of installed. ``kvm``: run
    guests on the processor itself, with its PMU. ``sandbox``: the arguments that restrict QEMU, if
    it can be. ``cpu``: the processor's model that was asked for, None for the usual one."""

    program: Path
    version: str
    architecture: Architecture
    firmware: tuple[Path, ...] = ()
    kvm: bool = False
    sandbox: tuple[str, ...] = ()
    plugin: Path | None = None
    plugin_api: int | None = None
    cpu: str | None = None

    def with_cpu(self, model: str | None) -> "Qemu":
        """The same with another model of processor. Raises InputError for one that it has not."""
        if model is None:
            return self
        listed = f"{self.architecture.emulator} -cpu help lists what there is"
        if not _MODEL.fullmatch(model):
            raise InputError(f"--cpu {model} is not a model of QEMU's: {listed}")
        qemu = replace(self, cpu=model)
        tried = _start(self.program, ["-M", self.architecture.machine, *qemu._processor(), "-S"])
        if tried.returncode != 0:
            reason = (tried.stderr.strip().splitlines() or ["no reason given"])[-1]
            reason = re.sub(r"^\S*qemu\S*: ", "", reason)
            raise InputError(f"--cpu {model}: QEMU cannot emulate it ({reason}); {listed}")
        return qemu

    def _processor(self) -> list[str]:
        """QEMU's arguments for it. Features that somebody set stay as they are."""
        model = self.cpu or ("host" if self.kvm else self.architecture.cpu)
        given = {word.partition("=")[0].lstrip("+-") for word in model.split(",")[1:]}
        features = ("pmu=on",) if self.kvm else self.architecture.features
        more = [one for one in features if one.partition("=")[0].lstrip("-") not in given]
        accelerator = "kvm" if self.kvm else "tcg"
        return ["-accel", accelerator, "-cpu", ",".join([model, *more])]

    def arguments(self, boot: Boot, folder: Path, more: Sequence[str] = ()) -> list[str]:
        """The command line of one guest, and ``more`` of it; its console and channel go to
        ``folder``.

        Without KVM the machine is deterministic: no random numbers, a fixed date, and virtual time
        that is the number of instructions executed (``-icount``), with all vCPUs in one thread in
        turn.
        """
        arguments = [str(self.program)]
        for place in self.firmware:
            arguments += ["-L", str(place)]
        arguments += ["-M", self.architecture.machine_of(boot.cpus), *self._processor()]
        if not self.kvm:
            arguments += ["-seed", str(boot.variation.seed)]
            arguments += ["-rtc", "base=2026-01-01,clock=vm", "-icount", "shift=0,sleep=off"]
        arguments += ["-smp", str(boot.cpus), "-m", f"{boot.memory}M"]
        arguments += ["-nodefaults", "-display", "none", "-no-reboot"]
        arguments += self.sandbox
        # Not -serial file:PATH, where a comma stays doubled.
        for port, file in (("console", "console.log"), ("channel", "channel")):
            arguments += ["-chardev", f"file,id={port},path={escaped(folder / file)}"]
        arguments += ["-serial", "chardev:console", *self.architecture.channel_device]
        arguments += ["-kernel", str(boot.image), "-initrd", str(boot.initramfs)]
        return [*arguments, "-append", boot.command_line(self.architecture.console), *more]

    def described(self, arguments: Sequence[str]) -> records.Qemu:
        """A run of it with its ``arguments``, as the session tells it."""
        return records.Qemu(
            version=self.version,
            arguments=list(arguments),
            plugin_api=self.plugin_api,
            reads_registers=self.plugin_api is not None and self.plugin_api > 1,
            accelerator="kvm" if self.kvm else "tcg",
            architecture=self.architecture.name,
            virtual_clock=not self.kvm,
        )


def find_emulator(architecture: Architecture, program: Path | None = None) -> Qemu:
    """The QEMU to run guests in without a plugin: on KVM where this machine lets us.

    Raises MissingError.
    """
    qemu = _found(architecture, program)
    mine = architecture.is_host and os.access("/dev/kvm", os.R_OK | os.W_OK)
    return replace(qemu, kvm=mine and _kvm_works(qemu))


def find_qemu(
    architecture: Architecture, program: Path | None, plugins: Mapping[int, tuple[str, str]]
) -> Qemu:
    """The QEMU to run guests in with a TCG plugin: the first of its builds that this QEMU loads.
    ``plugins``, by the plugin API's version: a build's name, and its arguments for a try.

    Raises MissingError.
    """
    qemu = _found(architecture, program)
    refusals = []
    for api, (name, arguments) in plugins.items():
        plugin = _plugin_file(name)
        loads = f"file={escaped(plugin)},{arguments}"
        result = _start(qemu.program, ["-M", "none", "-accel", "tcg", "-plugin", loads])
        if result.returncode == 0:
            return replace(qemu, plugin=plugin, plugin_api=api)
        refusals += result.stderr.strip().splitlines()[-1:]
    if any("plugin" in refusal and "invalid option" in refusal for refusal in refusals):
        raise MissingError(
            f"{qemu.program} was built without TCG plugins: use Debian's "
            f"{architecture.qemu_package}, or give another QEMU with --qemu"
        )
    raise MissingError(f"{qemu.program} loads none of profdiff's plugins: {' / '.join(refusals)}")


@cache
def _found(architecture: Architecture, program: Path | None) -> Qemu:
    path = program or find_program(architecture.emulator)
    version = _version(path)
    return Qemu(path, version, architecture, _firmware(path), sandbox=_sandbox(path))


def _kvm_works(qemu: Qemu) -> bool:
    """Whether a guest starts on KVM: nested, /dev/kvm may be there and not do."""
    processor = replace(qemu, kvm=True)._processor()
    machine = ["-M", qemu.architecture.machine, *processor, *qemu.sandbox, "-S"]
    try:
        return _start(qemu.program, machine).returncode == 0
    except subprocess.TimeoutExpired:
        return False


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


def _version(path: Path) -> str:
    command = [str(path), "--version"]
    try:
        told = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    except OSError as error:
        raise MissingError(f"cannot execute {path}: {error.strerror}") from error
    lines = told.stdout.splitlines()
    if not lines or "QEMU" not in lines[0]:
        raise MissingError(f"{path} is not a QEMU: give another one with --qemu")
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


def escaped(path: Path) -> str:
    """A path inside a QEMU option, where a comma is doubled."""
    return str(path).replace(",", ",,")
