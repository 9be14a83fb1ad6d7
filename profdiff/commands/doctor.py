"""``profdiff doctor``: what is there, what is missing, and what fixes it."""

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from textwrap import TextWrapper

import click

from profdiff.base import terminal, units
from profdiff.base.cache import cache_folder
from profdiff.base.errors import ProfdiffError
from profdiff.base.terminal import Span, Style, Styled
from profdiff.base.units import file_size
from profdiff.collectors import registry
from profdiff.collectors.architecture import ARCHITECTURES, Architecture, of_image
from profdiff.collectors.kernels.address import Address
from profdiff.collectors.machine.environment import Finding, program
from profdiff.collectors.programs import fix
from profdiff.commands import complete
from profdiff.commands.command import command

_WIDTH = 100
_STYLE: dict[str, Style] = {"ok": "source", "missing": "more", "noise": "bold", "note": "dim"}


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
    from profdiff.collectors.kernels.kinds.registry import parse_arguments

    ready: dict[str, bool] = {}
    if not kernels:
        _show("this machine: recording the running kernel", _machine(Address()))
        _show("this machine: building kernels from a git repository", building())
        for architecture in ARCHITECTURES:
            title = f"this machine: recording in {architecture.told} guests"
            ready[architecture.told] = _show(title, _guests(architecture))
        _show("several machines: record --cluster", [_cluster()])
    for argument in parse_arguments(kernels):
        files = argument.spec.locate(argument.label)
        if files.machine is not None:
            title, found = f"{argument.label}: {files.machine}", _machine(files.machine)
            ready[argument.label] = _show(title, found)
        elif files.image:
            architecture = of_image(files.image)
            debug = Finding("debug ELF", "note", "none: inlined functions will not be visible")
            if files.debug_elf:
                debug = Finding("debug ELF", "ok", str(files.debug_elf))
            title = f"{argument.label}: a guest, {architecture.arch}"
            given = ", ".join(argument.variant.words)
            own = [Finding("its own", "note", given)] if given else []
            found = [Finding("image", "ok", str(files.image)), debug, *_least(files.image), *own]
            ready[argument.label] = _show(title, [*found, *_guests(architecture)])
    what = "" if kernels else " guests"
    lines = []
    if able := [one for one in ready if ready[one]]:
        lines.append(f"You can record {units.listed(able)}{what}.")
    if unable := [one for one in ready if not ready[one]]:
        told = f"{units.listed(unable)}{what}"
        lines.append(f"Before you record {told}: fix what is missing above.")
    terminal.say(" ".join(lines))


def _machine(address: Address) -> list[Finding]:
    from profdiff.collectors.machine.run import environment_of

    environment = environment_of(address)
    named = [
        Finding("kernel", "ok", f"{environment.get('kernel')} {environment.get('architecture')}"),
        Finding("processor", "note", f"{environment.get('cpus')} x {environment.get('processor')}"),
    ]
    asked = [one.findings(None, environment) for one in registry.recording().values()]
    return [*named, *(finding for own in asked for finding in own), *environment.noise()]


def _least(image: Path) -> list[Finding]:
    """The memory that a kernel needs to boot, where its image says so."""
    from profdiff.collectors.guest.boot import of_image

    least = -(-of_image(image) >> 20)
    told = f"{least:,} MiB and what the workload needs (--memory)"
    return [Finding("least memory", "note", told)] if least else []


def _guests(architecture: Architecture) -> list[Finding]:
    """What guests of an architecture need on this machine."""
    from profdiff.base.errors import ProfdiffError
    from profdiff.collectors.guest.agent import AGENT
    from profdiff.collectors.guest.boot import of_this_machine
    from profdiff.collectors.guest.initramfs import has_busybox
    from profdiff.collectors.guest.qemu import find_emulator

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
        return Finding("static libc", "ok", str(Path(place).resolve()))
    return Finding("static libc", "missing", "no libc.a", fix(architecture.compiler))


def _show(title: str, findings: list[Finding]) -> bool:
    """Print them; whether nothing is missing. A command that fixes something stands behind it, or
    below it where the line would be too long."""
    styled = [Styled(title, [Span(0, len(title), "bold")])]
    states = max(len(one.state) for one in findings)
    names = max(len(one.what) for one in findings)
    indent = states + names + 4
    wrapper = TextWrapper(_WIDTH - indent, break_long_words=False, break_on_hyphens=False)
    for one in findings:
        lines = wrapper.wrap(one.value)
        if one.fix and indent + len(f"{one.value}  {one.fix}") <= _WIDTH:
            lines = [f"{one.value}  {one.fix}"]
        elif one.fix:
            lines += _command_lines(one.fix, _WIDTH - indent)
        first = f"{one.state:<{states}}  {one.what:<{names}}  {''.join(lines[:1])}".rstrip()
        styled.append(Styled(first, [Span(0, len(one.state), _STYLE[one.state])]))
        styled += [Styled(" " * indent + line) for line in lines[1:]]
    terminal.say_styled(styled)
    return all(one.state != "missing" for one in findings)


def _command_lines(text: str, width: int) -> list[str]:
    """A command line on several, for a shell."""
    lines = [""]
    for word in re.findall(r"(?:'[^']*'|[^\s'])+", text):
        if lines[-1] and len(lines[-1]) + len(word) + 3 > width:
            lines[-1] += " \\"
            lines.append(f"  {word}")
        else:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return lines


_PROGRAMS = ("git", "make", "gcc", "ld", "objcopy", "flex", "bison", "bc")
_HEADERS = (("libelf.h", "libelf-dev", True), ("openssl/opensslv.h", "libssl-dev", False))
# What a kernel's worktree, the object files of one config, and a compiler's cache take.
_MIN_FREE = 8_000_000_000


def building() -> list[Finding]:
    """Programs, headers, other compilers, and room in the cache."""
    found = [program(name) for name in _PROGRAMS]
    found += [_header(*header) for header in _HEADERS]
    for name, what in (
        ("ccache", "a revision that was built before is built again in a fraction of the time"),
        ("zstd", "kept kernels take a third of the room"),
    ):
        found.append(_optional(name, f"with it, {what}"))
    found.append(_compilers())
    for architecture in ARCHITECTURES:
        if not architecture.is_host:
            found.append(
                _optional(architecture.compiler, f"only kernels for {architecture.told} need it")
            )
    return [*found, _room()]


def _optional(name: str, why: str) -> Finding:
    """As ``program``; where it is not there, a note of ``why`` it may be wanted."""
    found = program(name)
    return found if found.state == "ok" else replace(found, state="note", value=why)


def _header(name: str, package: str, needed: bool) -> Finding:
    """Whether the compiler finds a header that host programs of Kbuild include."""
    try:
        done = subprocess.run(
            ["gcc", "-E", "-x", "c", "-"],
            input=f"#include <{name}>\n".encode(),
            capture_output=True,
            check=False,
            timeout=60,
        )
        there = done.returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        there = False
    if there:
        return Finding(package, "ok", name)
    told = f"no {name}" if needed else f"no {name}: only configs with signed modules need it"
    return Finding(package, "missing" if needed else "note", told, f"apt-get install {package}")


def _compilers() -> Finding:
    """What ``cc=`` can name here."""
    pattern = re.compile(r"(?:gcc|clang)-\d+")
    names = {
        path.name
        for folder in ("/usr/bin", "/usr/local/bin")
        for path in Path(folder).glob("*-[0-9]*")
        if pattern.fullmatch(path.name)
    }
    by_number = sorted(names, key=lambda name: (name.partition("-")[0], int(name.split("-")[1])))
    return Finding("compilers", "note", f"for cc=: {', '.join(by_number) or 'none but gcc'}")


def _room() -> Finding:
    try:
        folder = cache_folder("builds")
    except ProfdiffError as error:
        return Finding("room", "missing", str(error))
    free = shutil.disk_usage(folder).free
    enough = free >= _MIN_FREE
    told = f"{file_size(free)} free in {folder}; a tree of Linux and its builds take some GB"
    fix = "" if enough else "profdiff kernel remove --unused --older-than 0, or set PROFDIFF_CACHE"
    return Finding("room", "ok" if enough else "note", told, fix)
