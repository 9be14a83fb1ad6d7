"""Reads a session's facts: configs, command lines, and what machines say of themselves."""

import shlex
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress

from msgspec.structs import replace

from profdiff.base import bounded
from profdiff.base.errors import SessionError
from profdiff.collectors.machine.environment import Environment
from profdiff.collectors.perf.samples import workload_of
from profdiff.profile.kernel_profile import Profile
from profdiff.session.facts import Facts
from profdiff.session.kernel_config import MAX_SIZE, ConfigDifferences, parse, unpacked
from profdiff.session.manifest import Manifest, Run
from profdiff.session.session import Session
from profdiff.session.variants import variants

# COMMAND_LINE_SIZE is 2,048 on x86 and arm64, at most 4,096.
_MAX_COMMAND_LINE = 64 * 1024
_MAX_ENVIRONMENT = 2**20
_MAX_VALUES = 1000


def read(session: Session) -> Facts:
    """The facts of all kernels of a session. What cannot be read is told, or left out: a report
    does not depend on it."""
    kernels = session.compared
    differences = ConfigDifferences()
    configs, problems = [], {}
    for kernel in kernels:
        if kernel.config is None:
            continue
        try:
            options = options_of(session, kernel.config)
        except (OSError, ValueError, SessionError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            problems[kernel.label] = f"not read: {reason or error}"
            continue
        differences.add(kernel.label, options)
        configs.append(kernel.label)
    runs = _runs(session, "cmdline")
    lines = {label: _text(session, run, "cmdline", _MAX_COMMAND_LINE) for label, run in runs}
    return Facts(
        workloads=workloads(session.manifest),
        compilers={kernel.label: kernel.compiler for kernel in kernels if kernel.compiler},
        command_lines={label: line.strip("\0\n ") for label, line in lines.items()},
        machines=_machines(session),
        configs=configs,
        config=differences.result(),
        config_problems=problems,
        variants=variants(session.manifest),
        settings={kernel.label: kernel.source.settings for kernel in kernels if kernel.source},
        built={kernel.label: kernel.source.options for kernel in kernels if kernel.source},
    )


def options_of(session: Session, config: str) -> dict[str, str]:
    """The options of a kernel's config in a session. Raises OSError, ValueError, SessionError."""
    return parse(unpacked(bounded.read(session.path(config), MAX_SIZE)))


def known_options(
    session: Session, labels: Collection[str]
) -> Iterator[tuple[str, dict[str, str]]]:
    """The options of each of these kernels whose config can be read."""
    for kernel in session.compared:
        if kernel.config is not None and kernel.label in labels:
            with suppress(OSError, ValueError, SessionError):
                yield kernel.label, options_of(session, kernel.config)


def workloads(manifest: Manifest) -> dict[str, str]:
    """By label what ran in recordings that exist: commands, or else the programs; of those that
    tell neither, nothing."""
    found: dict[str, set[str]] = {}
    for run in manifest.runs:
        if run.collector == "import":
            command = workload_of(run.sampling.command) if run.sampling else []
            found.setdefault(run.kernel, set()).add(shlex.join(command) or run.program)
    return {label: " and ".join(sorted(told)) for label, told in found.items() if all(told)}


def with_profiles(facts: Facts, profiles: Mapping[str, Profile]) -> Facts:
    """``facts`` with what the recordings themselves say: lost samples, and the machine."""
    machines = {
        label: {**profile.machine, **facts.machines.get(label, {})}
        for label, profile in profiles.items()
    }
    lost = {
        label: profile.lost / max(profile.lost + profile.taken, 1)
        for label, profile in profiles.items()
        if profile.taken
    }
    known = {label: machine for label, machine in machines.items() if machine}
    return replace(facts, machines={**facts.machines, **known}, lost=lost)


def _runs(session: Session, what: str) -> list[tuple[str, Run]]:
    """A finished run of each kernel that has the file, by the collector that has most kernels'
    (collectors boot with different command lines)."""
    found: dict[str, dict[str, Run]] = {}
    for run in session.manifest.runs:
        if what in run.files and run.failure is None:
            found.setdefault(run.collector, {}).setdefault(run.kernel, run)
    mine: dict[str, Run] = max(found.values(), key=len, default={})
    return [
        (kernel.label, mine[kernel.label]) for kernel in session.compared if kernel.label in mine
    ]


def _machines(session: Session) -> dict[str, dict[str, str]]:
    machines: dict[str, dict[str, str]] = {}
    for run in session.manifest.runs:
        if run.qemu and run.failure is None:
            machines.setdefault(run.kernel, {}).setdefault("emulator", run.qemu.version)
    for label, run in _runs(session, "environment"):
        environment = Environment.parse(_text(session, run, "environment", _MAX_ENVIRONMENT))
        own = machines.setdefault(label, {})
        own.update(list(environment.values.items())[:_MAX_VALUES])
    return machines


def _text(session: Session, run: Run, what: str, limit: int) -> str:
    try:
        return bounded.read(session.path(run.files[what]), limit).decode(errors="replace")
    except (OSError, SessionError):
        return ""
