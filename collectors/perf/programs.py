"""What perf needs: its program in a guest, this machine's own or another architecture's; what a
script that starts it finds beside it; the rights it needs on a machine."""

from collections.abc import Sequence
from pathlib import Path

from profdiff.base.errors import MissingError
from profdiff.collectors.architecture import Architecture
from profdiff.collectors.guest.initramfs import foreign_perf, guest_resources, nul_separated
from profdiff.collectors.machine.environment import Environment, Finding
from profdiff.collectors.perf.command import refusal_line
from profdiff.collectors.programs import find_program
from profdiff.collectors.records import Failure
from profdiff.collectors.workload.elf import read_elf
from profdiff.collectors.workload.elf_closure import closure
from profdiff.collectors.workload.files import GuestFile
from profdiff.collectors.workload.root import THIS_MACHINE, Root

PERF_GUEST_PATH = "/usr/bin/perf"
# What perf.sh starts it from.
_FOLDER = "/usr/lib/profdiff-perf"


def perf_files(architecture: Architecture) -> list[GuestFile]:
    """perf and the libraries that it needs. Raises MissingError, InputError."""
    root, program = _found(architecture)
    elf = read_elf(program)
    if elf is None:
        raise MissingError(
            f"{program} is a script, the guest needs the program itself: apt-get install linux-perf"
        )
    if not elf.interpreter:
        return [GuestFile(program, PERF_GUEST_PATH, executable=True, is_code=False)]
    sources = {
        "ld.so" if one.guest_path == elf.interpreter else Path(one.guest_path).name: one.source
        for one in closure(elf, root)
    }
    places = {f"{_FOLDER}/{name}": source for name, source in sources.items()}
    places |= {
        PERF_GUEST_PATH: Path(__file__).with_name("perf.sh"),
        f"{_FOLDER}/perf": program,
    }
    return [
        GuestFile(source, guest_path, executable=True, is_code=False)
        for guest_path, source in places.items()
    ]


def _found(architecture: Architecture) -> tuple[Root, Path]:
    """The root folder with perf for an architecture, and perf in it. Raises MissingError."""
    if architecture.is_host:
        return THIS_MACHINE, find_program("perf").resolve()
    root = Root(foreign_perf(architecture).resolve())
    program = root.find("/usr/bin/perf")
    if program is None:
        raise MissingError(
            f"Debian's linux-perf for {architecture.debian} in {root.path} holds no perf: remove "
            "that folder, and the next recording downloads it anew"
        )
    return root, program


def files(attempts: Sequence[Sequence[str]]) -> dict[str, bytes]:
    """Arguments of perf as ``attempt.N`` from 1 on, best first, and what asks for the facts."""
    numbered = enumerate(attempts, 1)
    found = {f"attempt.{number}": nul_separated(one) for number, one in numbered}
    return found | {"environment.sh": (guest_resources() / "environment.sh").read_bytes()}


def refused(verb: str, complaint: bytes) -> Failure:
    """Why perf cannot ``verb`` there, by what it wrote; nothing where there is no perf."""
    why = refusal_line(complaint.decode(errors="replace"))
    missing = "perf is missing: install linux-perf there, or your distribution's package"
    message = f"perf cannot {verb} there: {why}" if why else missing
    return Failure("perf", f"{message} (profdiff doctor says what is missing)")


def has_pmu(environment: Environment) -> bool:
    """Whether hardware events can be counted: the processor's own event source."""
    return any(name.startswith(("cpu", "armv8", "arm_")) for name in environment.event_sources)


def rights(environment: Environment) -> list[Finding]:
    """What perf needs of a machine, most important first."""
    root = environment.get("user") == "0"
    found = [
        Finding("perf", "ok", f"{environment.get('perf')} {environment.get('perf_version')}")
        if environment.get("perf")
        else Finding("perf", "missing", "not on PATH", "apt-get install linux-perf")
    ]
    sources = ", ".join(
        source for source in environment.event_sources if source.startswith(("cpu", "arm"))
    )
    found.append(
        Finding("hardware events", "ok", sources)
        if has_pmu(environment)
        else Finding(
            "hardware events",
            "note",
            "no PMU: only cpu-clock can be sampled",
            "give the virtual machine a vPMU, or record on hardware",
        )
    )
    most = 1 if root else 0
    found += [
        _limit(environment, "perf_event_paranoid", 1, root, "sysctl kernel.perf_event_paranoid=1"),
        _limit(environment, "kptr_restrict", most, False, "sysctl kernel.kptr_restrict=0"),
    ]
    if has_pmu(environment) and environment.number("nmi_watchdog"):
        command = "sysctl kernel.nmi_watchdog=0"
        found.append(Finding("NMI watchdog", "noise", "on: it occupies one counter", command))
    if rate := environment.get("perf_event_max_sample_rate"):
        found.append(Finding("perf_event_max_sample_rate", "note", f"{rate} a second"))
    return found


def _limit(environment: Environment, name: str, most: int, exempt: bool, command: str) -> Finding:
    value = environment.number(name)
    if value is None:
        return Finding(name, "note", "unknown")
    if value <= most or exempt:
        return Finding(name, "ok", str(value))
    return Finding(name, "missing", f"{value}: must be at most {most} to show the kernel", command)
