"""What perf needs of a machine, and what fixes it."""

from profdiff.collectors.machine.environment import Environment, Finding


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
    sources = ", ".join(one for one in environment.event_sources if one.startswith(("cpu", "arm")))
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
