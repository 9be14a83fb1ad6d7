"""The emulator at hand: its version, the build of our plugin that it takes, its arguments."""

import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import profdiff.collectors
from profdiff.collectors.programs import find_program
from profdiff.errors import MissingError

SYSTEM = "qemu-system-x86_64"
# Newest first: a QEMU takes one of them.
_PLUGINS = {2: "tcg_plugin_api2", 1: "tcg_plugin_api1"}


@dataclass(frozen=True)
class Qemu:
    """A QEMU that takes our plugin. ``firmware`` are folders for ``-L``, for one that was unpacked
    somewhere instead of installed."""

    program: Path
    version: str
    plugin: Path
    plugin_api: int
    firmware: tuple[Path, ...] = ()

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
    ) -> list[str]:
        """The command line of one guest; ``memory`` in MiB. Without ``counts`` no plugin is loaded.

        The machine is deterministic: no random numbers, a fixed date, and virtual time that is the
        number of instructions executed (``-icount``), with all vCPUs in one thread in turn.
        """
        arguments = [str(self.program)]
        for place in self.firmware:
            arguments += ["-L", str(place)]
        arguments += ["-accel", "tcg", "-M", "q35", "-cpu", "max,-rdrand,-rdseed", "-seed", "1"]
        arguments += ["-rtc", "base=2026-01-01,clock=vm", "-icount", "shift=0,sleep=off"]
        arguments += ["-smp", str(cpus), "-m", f"{memory}M"]
        arguments += ["-nodefaults", "-display", "none", "-no-reboot"]
        arguments += ["-serial", f"file:{_escape(folder / 'console.log')}"]
        arguments += ["-serial", f"file:{_escape(folder / 'channel')}"]
        arguments += ["-kernel", str(image), "-initrd", str(initramfs), "-append", append]
        if counts:
            arguments += ["-plugin", f"{_escape(self.plugin)},out={_escape(counts)}"]
        return arguments


@cache
def find_qemu(program: Path | None = None) -> Qemu:
    """The QEMU to use: ``program``, or the one on PATH. Raises MissingError.

    Which build of the plugin it takes is found by letting it load them.
    """
    path = program or find_program(SYSTEM)
    version = _output([str(path), "--version"]).splitlines()
    if not version or "QEMU" not in version[0]:
        raise MissingError(f"{path} is no QEMU: give another one with --qemu")
    firmware = _firmware(path)
    refusals = []
    for api, name in _PLUGINS.items():
        plugin = _plugin_file(name)
        command = [str(path), "-M", "none", "-nodefaults", "-display", "none", "-accel", "tcg"]
        command += ["-monitor", "stdio", "-plugin", f"{_escape(plugin)},out=/dev/null"]
        result = subprocess.run(
            command, input="quit\n", capture_output=True, text=True, check=False, timeout=60
        )
        if result.returncode == 0:
            return Qemu(path, version[0].strip(), plugin, api, firmware)
        refusals += result.stderr.strip().splitlines()[-1:]
    if any("plugin" in refusal and "invalid option" in refusal for refusal in refusals):
        raise MissingError(
            f"{path} was built without TCG plugins: use Debian's qemu-system-x86, or give another "
            "QEMU with --qemu"
        )
    raise MissingError(f"{path} takes none of profdiff's plugins: {' / '.join(refusals)}")


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
