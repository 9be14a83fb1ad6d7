"""``profdiff doctor``: what is there, what is missing, and what mends it."""

import os
import shutil

import click
from rich.table import Table
from rich.text import Text

from profdiff.base.console import CleanConsole
from profdiff.base.errors import MissingError, ProfdiffError
from profdiff.collectors.guest.qemu import find_emulator, find_qemu
from profdiff.collectors.kernels.address import Address
from profdiff.collectors.kernels.files import image_architecture
from profdiff.collectors.kernels.source import locate
from profdiff.collectors.kernels.spec import parse_arguments
from profdiff.collectors.machine.environment import Finding
from profdiff.collectors.machine.probe import environment_of
from profdiff.collectors.programs import find_program

_STYLE = {"ok": "green", "missing": "bold red", "noise": "yellow", "note": "dim"}


@click.command()
@click.option(
    "--kernel",
    "kernels",
    multiple=True,
    metavar="[LABEL=]SPEC",
    help="A kernel that is to be recorded: a machine is asked, a guest's needs are checked.  "
    "[default: this machine]",
)
def doctor(kernels: tuple[str, ...]) -> None:
    """Show what recording needs, what is missing, and the one command that mends it.

    Also the settings that make results vary, with their present values. Commands that change a
    machine's settings are for root there.
    """
    if not kernels:
        _show("this machine: recording the running kernel", _machine(Address()))
        _show("this machine: recording in guests", _guests("x86_64") + _guests("aarch64"))
        return
    for argument in parse_arguments(kernels):
        files = locate(argument)
        if files.machine is not None:
            _show(f"{argument.label}: {files.machine}", _machine(files.machine))
        elif files.image:
            architecture = image_architecture(files.image)
            debug = (
                Finding("debug ELF", "ok", str(files.debug_elf))
                if files.debug_elf
                else Finding("debug ELF", "note", "none: inlined functions will not be visible")
            )
            title = f"{argument.label}: a guest, {architecture}"
            _show(title, [Finding("image", "ok", str(files.image)), debug, *_guests(architecture)])


def _machine(address: Address) -> list[Finding]:
    environment = environment_of(address)
    named = [
        Finding("kernel", "ok", f"{environment.get('kernel')} {environment.get('architecture')}"),
        Finding("processor", "note", f"{environment.get('cpus')} x {environment.get('processor')}"),
    ]
    return [*named, *environment.rights(), *environment.noise()]


def _guests(architecture: str) -> list[Finding]:
    """The programs that guests of an architecture need on this machine."""
    own = ["cc"] if architecture == "x86_64" else ["aarch64-linux-gnu-gcc", "apt-get", "dpkg-deb"]
    programs = [f"qemu-system-{architecture}", "cpio", *own]
    programs += ["busybox", "perf"] if architecture == "x86_64" else []
    found = [_program(name) for name in programs]
    if shutil.which(programs[0]):
        try:
            if architecture == "x86_64":
                qemu = find_qemu()
                value = f"plugin API {qemu.plugin_api}: {qemu.version}"
                found.append(Finding("exact counts", "ok", value))
            kvm = find_emulator(architecture).kvm
        except ProfdiffError as error:
            found.append(Finding("exact counts", "missing", str(error)))
            return found
        if architecture == os.uname().machine:
            what = "guests of the perf collector run on it" if kvm else "not usable: TCG is used"
            found.append(Finding("KVM", "ok" if kvm else "note", what))
    return found


def _program(name: str) -> Finding:
    try:
        return Finding(name, "ok", str(find_program(name)))
    except MissingError as error:
        _, _, mend = str(error).partition(": ")
        return Finding(name, "missing", "not on PATH", mend)


def _show(title: str, findings: list[Finding]) -> None:
    console = CleanConsole()
    table = Table.grid(padding=(0, 2))
    for one in findings:
        told = (Text(text) for text in (one.what, one.value, one.mend))
        table.add_row(Text(one.state, _STYLE[one.state]), *told)
    if not console.is_terminal:
        console.width = 400  # nothing is to be wrapped in a pipe
    console.print(Text(title, "bold"))
    console.print(table)
