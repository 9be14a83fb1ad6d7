"""What a machine has of what recording needs, read from environment.sh, and what fixes it."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from profdiff.collectors.programs import fix

State = Literal["ok", "missing", "noise", "note"]


@dataclass(frozen=True)
class Finding:
    """One line of ``profdiff doctor``. ``fix``: the one command, or what else to do; "" if there
    is nothing to fix. ``noise``: it does not prevent recording, it makes results vary."""

    what: str
    state: State
    value: str
    fix: str = ""


def program(name: str) -> Finding:
    """Whether a program is on PATH."""
    path = shutil.which(name)
    return Finding(name, "ok", path) if path else Finding(name, "missing", "not on PATH", fix(name))


@dataclass(frozen=True)
class Environment:
    """``values`` by name; ``mitigations`` and ``event_sources`` come several times."""

    values: Mapping[str, str]
    mitigations: tuple[str, ...]
    event_sources: tuple[str, ...]

    @staticmethod
    def parse(text: str) -> "Environment":
        """From lines of "NAME VALUE"; others are passed over."""
        values: dict[str, str] = {}
        many: dict[str, list[str]] = {"mitigation": [], "event_source": []}
        for line in text.splitlines()[:10_000]:
            name, _, value = line.partition(" ")
            if name in many:
                many[name].append(value.strip())
            elif name:
                values[name] = value.strip()
        return Environment(values, tuple(many["mitigation"]), tuple(many["event_source"]))

    def get(self, name: str) -> str:
        """The value, "" if the machine does not say."""
        return self.values.get(name, "")

    def number(self, name: str) -> int | None:
        """The value as a number; None if it is none."""
        try:
            return int(self.get(name))
        except ValueError:
            return None

    @property
    def rate_changed(self) -> tuple[int, int] | None:
        """perf_event_max_sample_rate before and after a run, if the kernel lowered it."""
        before = self.number("perf_event_max_sample_rate")
        after = self.number("perf_event_max_sample_rate_after")
        return (before, after) if before and after and before != after else None

    def noise(self) -> list[Finding]:
        """What makes results vary from run to run, with present values."""
        found = []
        governor = self.get("governor")
        if governor and governor != "performance":
            command = "cpupower frequency-set -g performance"
            found.append(Finding("governor", "noise", governor, command))
        elif governor:
            found.append(Finding("governor", "ok", governor))
        if self.number("no_turbo") == 0:
            command = "sh -c 'echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo'"
            found.append(Finding("turbo", "noise", "on", command))
        elif self.number("boost") == 1:
            command = "sh -c 'echo 0 > /sys/devices/system/cpu/cpufreq/boost'"
            found.append(Finding("turbo", "noise", "on", command))
        if self.get("smt") == "on":
            command = "sh -c 'echo off > /sys/devices/system/cpu/smt/control'"
            found.append(Finding("SMT", "noise", "on", command))
        elif self.get("smt"):
            found.append(Finding("SMT", "ok", self.get("smt")))
        if self.number("randomize_va_space"):
            command = "sysctl kernel.randomize_va_space=0"
            found.append(Finding("ASLR", "noise", self.get("randomize_va_space"), command))
        if self.number("numa_balancing"):
            command = "sysctl kernel.numa_balancing=0"
            found.append(Finding("NUMA balancing", "noise", "on", command))
        if pages := self.get("transparent_hugepage"):
            chosen = next((word.strip("[]") for word in pages.split() if word[0] == "["), pages)
            found.append(Finding("transparent huge pages", "note", chosen))
        working = sum("Mitigation" in line for line in self.mitigations)
        if self.mitigations:
            what = f"{working} of {len(self.mitigations)} vulnerabilities mitigated"
            found.append(Finding("mitigations", "note", what))
        if self.get("hypervisor"):
            found.append(Finding("virtual machine", "noise", "other guests share the processor"))
        return found
