"""Transparent huge pages that a workload would have on its user's machine and has not in the
recording, whose counts are then of another path through the memory manager."""

from collections.abc import Mapping
from typing import NamedTuple

from profdiff.base import units
from profdiff.profile.session_facts import known_options
from profdiff.session.facts import Facts
from profdiff.session.points import Setting
from profdiff.session.session import Session
from profdiff.session.state import HUGE_GIVEN, HUGE_REQUESTS, THP, PointState, State

# How a config has them on after boot: for all memory, or for what asks for them.
_ALWAYS, _MADVISE = "CONFIG_TRANSPARENT_HUGEPAGE_ALWAYS", "CONFIG_TRANSPARENT_HUGEPAGE_MADVISE"
# What has less memory than one (KiB) can have none.
_ONE = 2048
# hugepage_init() turns them off where the kernel manages less than 512 MiB (mm/huge_memory.c),
# which a guest of so many MiB always has.
_ENOUGH = 1024


class _Kernel(NamedTuple):
    """``asked``: how often the workload asks for huge pages; ``given``: how many it has in any way,
    None where that is unknown; ``setting``: what /sys/kernel/mm/transparent_hugepage/enabled says,
    None without the file; ``small``: whether the guest has too little memory for those that the
    config has on; ``lost``: whether the workload would have some without asking."""

    asked: int
    given: int | None
    setting: str | None
    small: bool
    lost: bool


def lacking(session: Session, facts: Facts, setting: Setting, state: State) -> list[str]:
    """At most one sentence, for the head of a report. What cannot be read is passed over."""
    point = next((one for one in state.points if one.setting.point == setting.point), None)
    guest = session.manifest.guest
    if point is None or guest is None:
        return []
    memory = {one.label: one.variant.memory or guest.memory for one in session.compared}
    little = {label: size for label, size in memory.items() if size < _ENOUGH}
    off = {label for label in little if _value(point, THP, label) == "never"}
    options = dict(known_options(session, off))
    kernels = {
        kernel.label: _kernel(point, kernel.label, options.get(kernel.label, {}), facts)
        for kernel in session.compared
    }
    asking = {label: one for label, one in kernels.items() if one.asked and one.given == 0}
    lost = {label: one for label, one in kernels.items() if one.lost}
    if not asking and not lost:
        return []
    told = f"Transparent huge pages are off on {units.listed(lost)}" if lost else ""
    if asking:
        times = units.counted(max(one.asked for one in asking.values()), "time")
        told = (
            f"The workload asks for huge pages ({times}), but gets none on {units.listed(asking)}"
        )
    shown = asking or lost
    why = _why(shown, min((little[label] for label, one in shown.items() if one.small), default=0))
    return [f"{told}{': ' if why else ''}{why}."]


def _why(kernels: Mapping[str, _Kernel], memory: int) -> str:
    if any(one.small for one in kernels.values()):
        return (
            f"Linux turns them off in guests of {memory:,} MiB, though the config has them on; "
            f"record with --memory {_ENOUGH // 1024}G"
        )
    if any(one.setting is None for one in kernels.values()):
        return "CONFIG_TRANSPARENT_HUGEPAGE is off"
    if any(one.setting == "never" for one in kernels.values()):
        return "/sys/kernel/mm/transparent_hugepage/enabled is never"
    return ""


def _kernel(point: PointState, label: str, options: Mapping[str, str], facts: Facts) -> _Kernel:
    values = {
        name: value
        for name in (THP, HUGE_REQUESTS, "resident_kib", *HUGE_GIVEN)
        if (value := _value(point, name, label)) is not None
    }
    given = [int(values[name]) for name in HUGE_GIVEN if name in values]
    # Without CONFIG_VM_EVENT_COUNTERS, one that came and went was not seen.
    counted = "vmstat thp_fault_alloc" in values or values.get(THP) in (None, "never")
    chosen = "transparent_hugepage=" in facts.command_lines.get(label, "")
    always, madvise = (options.get(one) == "y" for one in (_ALWAYS, _MADVISE))
    small = (always or madvise) and not chosen
    roomy = int(values.get("resident_kib", _ONE)) >= _ONE
    return _Kernel(
        int(values.get(HUGE_REQUESTS, 0)),
        sum(given) if counted and given else None,
        values.get(THP),
        small,
        small and always and roomy,
    )


def _value(point: PointState, name: str, label: str) -> str | None:
    differs = point.differences.get(name)
    return point.equal.get(name) if differs is None else differs.get(label)
