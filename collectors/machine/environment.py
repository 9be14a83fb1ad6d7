"""What a machine has of what recording needs, read from environment.sh, and what mends it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "missing", "noise", "note"]


@dataclass(frozen=True)
class Finding:
    """One line of ``profdiff doctor``. ``mend``: the one command, or what else to do; "" if there
    is nothing to mend. ``noise``: it does not prevent recording, it makes results vary."""

    what: str
    state: State
    value: str
    mend: str = ""


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
    def has_pmu(self) -> bool:
        """Whether hardware events can be counted: the processor's own event source."""
        return any(name.startswith(("cpu", "armv8", "arm_")) for name in self.event_sources)

    @property
    def rate_changed(self) -> tuple[int, int] | None:
        """perf_event_max_sample_rate before and after a run, if the kernel lowered it."""
        before = self.number("perf_event_max_sample_rate")
        after = self.number("perf_event_max_sample_rate_after")
        return (before, after) if before and after and before != after else None

    def rights(self) -> list[Finding]:
        """What perf needs, most important first."""
        root = self.get("user") == "0"
        found = [
            Finding("perf", "ok", f"{self.get('perf')} {self.get('perf_version')}")
            if self.get("perf")
            else Finding("perf", "missing", "not on PATH", "apt-get install linux-perf")
        ]
        sources = ", ".join(name for name in self.event_sources if name.startswith(("cpu", "arm")))
        found.append(
            Finding("hardware events", "ok", sources)
            if self.has_pmu
            else Finding(
                "hardware events",
                "note",
                "no PMU: only cpu-clock can be sampled",
                "give the virtual machine a vPMU, or record on hardware",
            )
        )
        found.append(
            self._limit("perf_event_paranoid", 1, root, "sysctl kernel.perf_event_paranoid=1")
        )
        found.append(
            self._limit("kptr_restrict", 1 if root else 0, False, "sysctl kernel.kptr_restrict=0")
        )
        if self.has_pmu and self.number("nmi_watchdog"):
            mend = "sysctl kernel.nmi_watchdog=0"
            found.append(Finding("NMI watchdog", "noise", "on: it keeps one counter", mend))
        if rate := self.get("perf_event_max_sample_rate"):
            found.append(Finding("perf_event_max_sample_rate", "note", f"{rate} a second"))
        return found

    def _limit(self, name: str, most: int, exempt: bool, mend: str) -> Finding:
        value = self.number(name)
        if value is None:
            return Finding(name, "note", "unknown")
        if value <= most or exempt:
            return Finding(name, "ok", str(value))
        return Finding(name, "missing", f"{value}: at most {most} shows the kernel", mend)

    def noise(self) -> list[Finding]:
        """What makes results vary from run to run, with present values."""
        found = []
        governor = self.get("governor")
        if governor and governor != "performance":
            mend = "cpupower frequency-set -g performance"
            found.append(Finding("governor", "noise", governor, mend))
        elif governor:
            found.append(Finding("governor", "ok", governor))
        if self.number("no_turbo") == 0:
            mend = "sh -c 'echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo'"
            found.append(Finding("turbo", "noise", "on", mend))
        elif self.number("boost") == 1:
            mend = "sh -c 'echo 0 > /sys/devices/system/cpu/cpufreq/boost'"
            found.append(Finding("turbo", "noise", "on", mend))
        if self.get("smt") == "on":
            mend = "sh -c 'echo off > /sys/devices/system/cpu/smt/control'"
            found.append(Finding("SMT", "noise", "on", mend))
        elif self.get("smt"):
            found.append(Finding("SMT", "ok", self.get("smt")))
        if self.number("randomize_va_space"):
            mend = "sysctl kernel.randomize_va_space=0"
            found.append(Finding("ASLR", "noise", self.get("randomize_va_space"), mend))
        if self.number("numa_balancing"):
            mend = "sysctl kernel.numa_balancing=0"
            found.append(Finding("NUMA balancing", "noise", "on", mend))
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
