"""``profdiff doctor``: what is there, what is missing, and what fixes it."""

import subprocess
from dataclasses import replace
from pathlib import Path

import click

from profdiff.collectors import registry
from profdiff.collectors.architecture import ARCHITECTURES, Architecture, of_image
from profdiff.collectors.kernels.address import Address
from profdiff.collectors.machine.environment import Finding, program
from profdiff.collectors.programs import fix
from profdiff.commands import complete
from profdiff.commands.command import command
from profdiff.commands.doctor.building import building

_STYLE = {"ok": "green", "missing": "bold red", "noise": "yellow", "note": "dim"}


@command()
@click.option(
    "--kernel",
    "kernels",
    multiple=True,
    metavar="[LABEL=]SPEC",
    shell_complete=complete.kernels,
    help="A kernel that you want to record. doctor queries a machine, or checks what a guest "
    "needs.  [default: this machine]",
)
def doctor(kernels: tuple[str, ...]) -> None:
    """Show what recording needs, what is missing, and the one command that fixes it.

    doctor also shows the settings that make results vary, with their current values. Commands that
    change a machine's settings must be run as root on that machine.
    """
    from profdiff.collectors.kernels.arguments import parse_arguments

    if not kernels:
        _show("this machine: recording the running kernel", _machine(Address()))
        _show("this machine: building kernels from a git repository", building())
        for architecture in ARCHITECTURES:
            title = f"this machine: recording in {architecture.told} guests"
            _show(title, _guests(architecture))
        _show("several machines: record --cluster", [_cluster()])
        return
    for argument in parse_arguments(kernels):
        files = argument.spec.locate(argument.label)
        if files.machine is not None:
            _show(f"{argument.label}: {files.machine}", _machine(files.machine))
        elif files.image:
            architecture = of_image(files.image)
            debug = Finding("debug ELF", "note", "none: inlined functions will not be visible")
            if files.debug_elf:
                debug = Finding("debug ELF", "ok", str(files.debug_elf))
            title = f"{argument.label}: a guest, {architecture.arch}"
            found = [Finding("image", "ok", str(files.image)), debug, *_least(files.image)]
            _show(title, [*found, *_guests(architecture)])


def _machine(address: Address) -> list[Finding]:
    from profdiff.collectors.machine.probe import environment_of

    environment = environment_of(address)
    named = [
        Finding("kernel", "ok", f"{environment.get('kernel')} {environment.get('architecture')}"),
        Finding("processor", "note", f"{environment.get('cpus')} x {environment.get('processor')}"),
    ]
    asked = [one.findings(None, environment) for one in registry.recording().values()]
    return [*named, *(finding for own in asked for finding in own), *environment.noise()]


def _least(image: Path) -> list[Finding]:
    """The memory that a kernel needs to boot, where its image says so."""
    from profdiff.collectors.guest.memory import of_image

    least = -(-of_image(image) >> 20)
    told = f"{least:,} MiB and what the workload needs (--memory)"
    return [Finding("least memory", "note", told)] if least else []


def _guests(architecture: Architecture) -> list[Finding]:
    """What guests of an architecture need on this machine."""
    from profdiff.base.errors import ProfdiffError
    from profdiff.collectors.guest.agent import AGENT
    from profdiff.collectors.guest.memory import of_this_machine
    from profdiff.collectors.guest.qemu import find_emulator
    from profdiff.collectors.guest.userland import has_busybox

    found = [program(name) for name in (architecture.emulator, "cpio")]
    if architecture.is_host:
        found.append(program("busybox"))
    elif has_busybox(architecture):
        found.append(Finding("busybox", "ok", f"Debian's for {architecture.told}, unpacked"))
    else:
        found += [program(name) for name in ("apt-get", "dpkg-deb")]
        told = f"the first recording downloads Debian's for {architecture.told}"
        found.append(Finding("busybox", "note", told))
    for needed in (program(architecture.compiler), _static_libc(architecture)):
        if needed.state == "missing" and AGENT.brought(architecture):
            told = "not installed; only .c workloads need it"
            found.append(replace(needed, state="note", value=told))
        else:
            found.append(needed)
    if (most := of_this_machine()) is not None:
        told = f"guests can have up to {most >> 20:,} MiB (--memory)"
        found.append(Finding("memory", "note", told))
    for one in registry.recording().values():
        found += one.findings(architecture, None)
    if found[0].state == "ok" and architecture.is_host:
        try:
            kvm = find_emulator(architecture).kvm
        except ProfdiffError as error:
            return [*found, Finding("KVM", "missing", str(error))]
        what = "guests run on it, except for exact counts" if kvm else "not usable: guests use TCG"
        found.append(Finding("KVM", "ok" if kvm else "note", what))
    return found


def _cluster() -> Finding:
    """What the extra brings, which only --cluster needs."""
    from importlib import metadata

    lacking = []
    for name in ("distributed", "cryptography"):
        try:
            metadata.version(name)
        except metadata.PackageNotFoundError:
            lacking.append(name)
    if lacking:
        told = f"no {' and no '.join(lacking)}: only --cluster needs it"
        return Finding("Dask", "note", told, "pip install 'profdiff[cluster]'")
    told = f"distributed {metadata.version('distributed')}"
    return Finding("Dask", "ok", told)


def _static_libc(architecture: Architecture) -> Finding:
    """The C library that programs for guests are linked with."""
    command = [architecture.compiler, "-print-file-name=libc.a"]
    try:
        told = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        place = told.stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        place = ""
    # A name without a path is what the compiler does not have.
    if "/" in place:
        return Finding("static libc", "ok", place)
    return Finding("static libc", "missing", "no libc.a", fix(architecture.compiler))


def _show(title: str, findings: list[Finding]) -> None:
    from rich.table import Table
    from rich.text import Text

    from profdiff.base.console import CleanConsole

    console = CleanConsole()
    table = Table.grid(padding=(0, 2))
    for one in findings:
        told = (Text(text) for text in (one.what, one.value, one.fix))
        table.add_row(Text(one.state, _STYLE[one.state]), *told)
    if not console.is_terminal:
        console.width = 400  # nothing is to be wrapped in a pipe
    console.print(Text(title, "bold"))
    for line in console.render_lines(table, pad=False):
        shown = Text.assemble(*((part.text, part.style or "") for part in line))
        shown.rstrip()  # the last column is padded to its width
        console.print(shown)
