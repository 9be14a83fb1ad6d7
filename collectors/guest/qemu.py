"""The emulator at hand: its version, the build of our plugin that it takes, its arguments.

What QEMUs answered when they were asked, kept in the cache: to start one for each question takes
as long as to restore a guest.
"""

import contextlib
import hashlib
import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec

import profdiff.collectors
from profdiff.base.atomic import write_atomic
from profdiff.base.cache import cache_path
from profdiff.base.errors import InputError, MissingError
from profdiff.base.temporary import temporary_folder
from profdiff.base.terminal import last_line
from profdiff.collectors import records
from profdiff.collectors.architecture import Architecture
from profdiff.collectors.architecture.entry import Firmware, Flaw
from profdiff.collectors.guest.boot import Boot
from profdiff.collectors.programs import every_program, find_program

# What -cpu takes, but for "help".
_MODEL = re.compile(r"(?!help\b)[A-Za-z0-9][\w.-]*(,[+-]?[a-z0-9][\w.-]*(=[\w.-]+)?)*", re.ASCII)
# What QEMU itself may no longer do, by seccomp: no programs, no privileges, no priorities.
_SANDBOX = ("-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny")
_NO_DEVICES = ("-nodefaults", "-display", "none")
# How long a QEMU without a guest may take.
_SECONDS = 60
# How long one may take for the loop: 0.4 s on a processor, and 70 s where KVM emulates each
# instruction, or more if the machine is busy.
_KVM_SECONDS = 10
# Another boot of this machine may have another KVM.
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class Qemu:
    """A QEMU, and the build of a TCG plugin that it takes if one was asked for. ``firmware`` are
    folders for ``-L``, for one that was unpacked somewhere instead of installed. ``kvm``: run
    guests on the processor itself, with its PMU. ``sandbox``: the arguments that restrict QEMU, if
    it can be. ``plugin_try``: the plugin's arguments for a try. ``cpu``: the processor's model that
    was asked for, None for the usual one. ``without``: the features that guests do not have because
    it emulates them wrongly."""

    program: Path
    version: str
    architecture: Architecture
    firmware: tuple[Path, ...] = ()
    kvm: bool = False
    sandbox: tuple[str, ...] = ()
    plugin: Path | None = None
    plugin_api: int | None = None
    plugin_try: str = ""
    cpu: str | None = None
    without: tuple[str, ...] = ()

    def with_cpu(self, model: str | None) -> "Qemu":
        """The same with another model of processor. Raises InputError for one that it has not,
        MissingError where QEMU does not answer."""
        if model is None:
            return self
        listed = f"{self.architecture.emulator} -cpu help lists the models"
        if not _MODEL.fullmatch(model):
            raise InputError(f"--cpu {model} is not a QEMU CPU model: {listed}")
        kept = tuple(one for one in self.without if one not in _features(model))
        qemu = replace(self, cpu=model, without=kept)
        tried = qemu._try_machine()
        if tried.returncode != 0:
            reason = last_line(tried.stderr) or "no reason given"
            reason = re.sub(r"^\S*qemu\S*: ", "", reason)
            raise InputError(f"--cpu {model}: QEMU cannot emulate it ({reason}); {listed}")
        return qemu

    def _try_machine(self) -> subprocess.CompletedProcess[bytes]:
        """Start its usual machine without a guest. Raises MissingError."""
        machine = ["-M", self.architecture.machine, *self._processor(), *self.sandbox, "-S"]
        return _start(self.program, [*self._folders, *machine])

    @property
    def _folders(self) -> list[str]:
        """QEMU's arguments for its firmware, without which no machine starts."""
        return [word for place in self.firmware for word in ("-L", str(place))]

    @property
    def own_arguments(self) -> list[str]:
        """Its command line's that are this machine's, whatever the guest: its firmware and what
        restricts it."""
        return [*self._folders, *self.sandbox]

    def _processor(self) -> list[str]:
        """QEMU's arguments for it. Features that somebody set stay as they are."""
        model = self.cpu or ("host" if self.kvm else self.architecture.cpu)
        features = ("pmu=on",) if self.kvm else self.architecture.features
        more = [
            one for one in features if one.partition("=")[0].lstrip("-") not in _features(model)
        ]
        more += [f"-{feature}" for feature in self.without]
        accelerator = "kvm" if self.kvm else "tcg"
        return ["-accel", accelerator, "-cpu", ",".join([model, *more])]

    def arguments(self, boot: Boot, folder: Path, more: Sequence[str] = ()) -> list[str]:
        """The command line of one guest, and ``more`` of it; its console and channel go to
        ``folder``.

        Without KVM the machine is deterministic: no random numbers, a fixed date, and virtual time
        that is the number of instructions executed (``-icount``), with all vCPUs in one thread in
        turn.
        """
        arguments = [str(self.program), *self._folders]
        arguments += ["-M", self.architecture.machine_of(boot.cpus), *self._processor()]
        if not self.kvm:
            arguments += ["-seed", str(boot.variation.seed)]
            arguments += ["-rtc", "base=2026-01-01,clock=vm", "-icount", "shift=0,sleep=off"]
        arguments += ["-smp", str(boot.cpus), "-m", f"{boot.memory}M"]
        arguments += [*_NO_DEVICES, "-no-reboot"]
        arguments += self.sandbox
        # Not -serial file:PATH, where a comma stays doubled.
        for port, file in (("console", "console.log"), ("channel", "channel")):
            arguments += ["-chardev", f"file,id={port},path={escaped(folder / file)}"]
        arguments += ["-serial", "chardev:console", *self.architecture.channel_device]
        arguments += ["-kernel", str(boot.image), "-initrd", str(boot.initramfs)]
        return [*arguments, "-append", boot.command_line(self.architecture.console), *more]

    def identity(self) -> str:
        """What tells this build of QEMU from others: a saved machine belongs to one. Raises
        OSError."""
        return f"{self.version} {answer(self.program, 'sha256', lambda: _hash_of(self.program))}"

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
            without=list(self.without),
        )


def find_emulator(architecture: Architecture, program: Path | None = None) -> Qemu:
    """The QEMU to run guests in without a plugin: on KVM where this machine lets us.

    Raises MissingError.
    """
    qemu = _found(architecture, program or find_program(architecture.emulator))
    if architecture.is_host and os.access("/dev/kvm", os.R_OK | os.W_OK) and _kvm_works(qemu):
        return replace(qemu, kvm=True, without=())
    return qemu if program else _or_another(qemu, lambda other: other)


def find_qemu(
    architecture: Architecture, program: Path | None, plugins: Mapping[int, tuple[str, str]]
) -> Qemu:
    """The QEMU to run guests in with a TCG plugin. ``plugins``, by the plugin API's version: a
    build's name, and its arguments for a try.

    Raises MissingError.
    """
    first = _found(architecture, program or find_program(architecture.emulator))
    qemu = _with_plugin(first, plugins)
    return qemu if program else _or_another(qemu, lambda other: _with_plugin(other, plugins))


def _with_plugin(qemu: Qemu, plugins: Mapping[int, tuple[str, str]]) -> Qemu:
    """It with the first of the plugin's builds that it loads. Raises MissingError."""
    refusals = []
    for api, (name, arguments) in plugins.items():
        plugin = _plugin_file(name)
        refused = plugin_refusal(qemu.program, plugin, arguments)
        if refused is None:
            return replace(qemu, plugin=plugin, plugin_api=api, plugin_try=arguments)
        refusals.append(refused)
    if any("plugin" in refusal and "invalid option" in refusal for refusal in refusals):
        raise MissingError(
            f"{qemu.program} was built without TCG plugins: use Debian's "
            f"{qemu.architecture.qemu_package}, or give another QEMU with --qemu"
        )
    raise MissingError(f"{qemu.program} loads none of profdiff's plugins: {' / '.join(refusals)}")


def plugin_refusal(program: Path, plugin: Path, arguments: str) -> str | None:
    """What QEMU says of a plugin that it does not load; None if it does. Raises MissingError."""

    def ask() -> str | None:
        loads = f"file={escaped(plugin)},{arguments}"
        result = _start(program, ["-M", "none", "-accel", "tcg", "-plugin", loads])
        if result.returncode == 0:
            return None
        return last_line(result.stderr) or "it does not say why"

    return answer(program, f"-plugin {arguments}", ask, plugin)


def _or_another(qemu: Qemu, taken: Callable[[Qemu], Qemu]) -> Qemu:
    """The QEMU itself where guests need not go without anything; or else the first other one of
    this machine's of which that is true, as it is ``taken``, if any."""
    if not qemu.without:
        return qemu
    for path in every_program(qemu.architecture.emulator):
        try:
            found = _found(qemu.architecture, path)
            if found.without:
                continue
            other = taken(found)
        except MissingError:
            continue
        # Of those with this plugin API, the ones that emulate right count wrongly
        # (docs/exact-collector.md).
        if other.plugin_api != 1:
            return other
    return qemu


@cache
def _found(architecture: Architecture, path: Path) -> Qemu:
    version = answer(path, "--version", lambda: _version(path))
    qemu = Qemu(path, version, architecture, _firmware(path), sandbox=_sandbox(path))
    flaw = architecture.flaw
    return replace(qemu, without=(flaw.feature,)) if flaw and _has(qemu, flaw) else qemu


def _has(qemu: Qemu, flaw: Flaw) -> bool:
    """Whether it has the flaw, or does not tell."""
    tcg = ["-accel", "tcg", "-cpu", qemu.architecture.cpu]
    return not _runs(qemu, flaw.firmware, tcg, _SECONDS)


def _runs(qemu: Qemu, firmware: Firmware, arguments: Sequence[str], seconds: float) -> bool:
    """Whether it ends as it should, and within ``seconds``."""

    def ask() -> bool:
        with temporary_folder() as folder:
            rom = folder / "rom"
            rom.write_bytes(firmware.rom)
            command = [str(qemu.program), *qemu.own_arguments, *_NO_DEVICES, "-no-reboot"]
            command += ["-M", qemu.architecture.machine, "-bios", escaped(rom)]
            command += [*arguments, *firmware.arguments]
            try:
                return _done(command, seconds).returncode == firmware.right
            except MissingError:
                return False

    question = f"{_BOOT_ID.read_text()} {arguments} {firmware.rom.hex()}"
    return answer(qemu.program, question, ask)


def _features(model: str) -> set[str]:
    """The features that ``-cpu`` names behind a model."""
    return {word.partition("=")[0].lstrip("+-") for word in model.split(",")[1:]}


def _kvm_works(qemu: Qemu) -> bool:
    """Whether a guest starts on KVM, and as fast as on a processor: nested, /dev/kvm may be there
    and not do, or emulate each instruction."""
    try:
        if replace(qemu, kvm=True)._try_machine().returncode != 0:
            return False
    except MissingError:
        return False
    loop = qemu.architecture.loop
    return loop is None or _runs(qemu, loop, ["-accel", "kvm", "-cpu", "host"], _KVM_SECONDS)


def _sandbox(program: Path) -> tuple[str, ...]:
    """The arguments that restrict this QEMU: none if it was built without seccomp, or may not use
    it here."""
    command = ["-M", "none", *_SANDBOX]
    works = answer(program, " ".join(command), lambda: _start(program, command).returncode == 0)
    return _SANDBOX if works else ()


def _hash_of(program: Path) -> str:
    with program.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _start(program: Path, arguments: list[str]) -> subprocess.CompletedProcess[bytes]:
    """Start QEMU and end it at once. Raises MissingError for one that does not end."""
    command = [str(program), *arguments, *_NO_DEVICES, "-monitor", "stdio"]
    return _done(command, _SECONDS, b"quit\n")


def _done(
    command: list[str], seconds: float, said: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            command, input=said, capture_output=True, check=False, timeout=seconds
        )
    except subprocess.TimeoutExpired as error:
        raise MissingError(
            f"{command[0]} does not answer within {seconds} s: give another QEMU with --qemu"
        ) from error
    except OSError as error:
        raise MissingError(f"cannot execute {command[0]}: {error.strerror}") from error


def _version(path: Path) -> str:
    lines = _done([str(path), "--version"], _SECONDS).stdout.decode(errors="replace").splitlines()
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


T = TypeVar("T", str, bool, str | None)
_Kept = dict[str, Annotated[str, msgspec.Meta(max_length=10_000)] | bool | None]

_FILE = "emulators.json"
# Answers that are kept, of some ten QEMUs; and bytes that are read.
_MAX_ANSWERS, _BYTES = 100, 1 << 20
# What may change what a program does.
_VARIABLES = ("LD_LIBRARY_PATH", "LD_PRELOAD", "QEMU_MODULE_DIR")


def answer(program: Path, question: str, ask: Callable[[], T], *files: Path) -> T:
    """What ``program`` answers to ``question``, which is about ``files``: what it answered before
    if all are the same files, and this process may do as much; else what ``ask`` returns. A script
    is asked each time: what it calls may be another program. Raises what ``ask`` raises."""
    key = _key(program, question, files)
    if key is None:
        return ask()
    if key in (kept := _read()):
        return kept[key]  # type: ignore[return-value]
    said = ask()
    # Read again: others asked meanwhile.
    kept = {**_read(), key: said}
    with contextlib.suppress(OSError):
        path = cache_path(_FILE)
        path.parent.mkdir(parents=True, exist_ok=True)
        newest = dict(list(kept.items())[-_MAX_ANSWERS:])
        write_atomic(path, msgspec.json.encode(newest), durable=False)
    return said


def _key(program: Path, question: str, files: tuple[Path, ...]) -> str | None:
    """None for a script, and for a program that cannot be read."""
    try:
        with program.open("rb") as file:
            if file.read(4) != b"\x7fELF":
                return None
        told = [question, *(os.environ.get(name, "") for name in _VARIABLES)]
        for path in (program, *files):
            status = path.stat()
            told += [str(path.resolve()), str(status.st_dev), str(status.st_ino)]
            told += map(str, (status.st_size, status.st_mtime_ns, status.st_ctime_ns))
        # Whether seccomp can be used depends on the container.
        lines = Path("/proc/self/status").read_text().splitlines()
        told += [line for line in lines if line.startswith(("Seccomp", "NoNewPrivs"))]
        told.append(os.uname().release)
    except OSError:
        return None
    return hashlib.sha256("\0".join(told).encode(errors="surrogateescape")).hexdigest()


def _read() -> _Kept:
    """All that is kept; nothing where the file is damaged."""
    try:
        with cache_path(_FILE).open("rb") as file:
            return msgspec.json.decode(file.read(_BYTES), type=_Kept)
    except (OSError, msgspec.DecodeError):
        return {}
