"""What a value is a value of: its name, unit and direction, and what kind of value it is."""

import re
from math import nan
from typing import Literal, NamedTuple

Better = Literal["lower", "higher"]
# Software clocks count nanoseconds (perf_event_open(2)); everything else counts itself.
CLOCKS = ("cpu-clock", "task-clock")
_ALIASES = {"cpu-cycles": "cycles"}
# Modifiers of perf's grammar (modifier_event in tools/perf/util/parse-events.l): each letter once,
# p up to three times. ``pmu/terms/mods``, where perf stat writes ``pmu/name:mods/`` too.
_MODIFIERS = re.compile(r"(?!.*p.*p.*p.*p|.*([^p]).*\1)[ukhpPGHSDIWebRX]+")
_PMU_EVENT = re.compile(
    r"([^/:]+/[^/]*?)(?::([ukhpPGHSDIWebRX]+))?/:?([ukhpPGHSDIWebRX]*)", re.ASCII
)
# Tracepoints whose names users choose, so that they may be any letters: perf probe's and SDT's.
_PROBES = re.compile(r"(?:probe|sdt)(?:_[^:]*)?:")


class Kind(NamedTuple):
    """Where values come from. The set is open: a collector may define its own.

    ``words`` stand behind a metric in tables. ``verb``: how a sentence says a sum of them: a kernel
    *executes* 5% more instructions, *takes* more cycles, *has* a higher value. ``exact``: each
    event is counted, none is sampled. ``repeatable``: the same guest on an emulator, whose clock
    counts instructions, gives the same values again. ``per_op``: values are of one operation as
    they are. ``of_parts``: they are of functions or the like, not of the workload. ``floor``: a
    change of less is none, in the metrics' unit.
    """

    name: str
    words: str
    verb: Literal["executes", "takes", "has"]
    exact: bool = False
    repeatable: bool = False
    per_op: bool = False
    of_parts: bool = False
    floor: float = 0.0

    @property
    def times_work(self) -> bool:
        """Whether a time among them is that of the workload: neither sampled nor of a part."""
        return self.repeatable and not self.of_parts

    def change(self, base: float, other: float) -> tuple[float, float]:
        """How much more ``other`` is, and as a fraction of ``base``, nan where that is 0."""
        delta = other - base
        # Two decimals have no exact difference.
        if not delta or round(abs(delta), 6) < self.floor:
            return 0.0, 0.0
        return delta, delta / base if base else nan


EXACT = Kind("exact counts", "exact counts", "executes", exact=True, repeatable=True)
SAMPLED = Kind("samples", "sampled", "takes")
TIMED = Kind("times", "timed", "has", repeatable=True)
MODELLED = Kind("counts of a model", "turns at random places", "executes", exact=True)
TRANSFERRED = Kind(
    "transfers of lines", "op by op", "has", repeatable=True, per_op=True, floor=0.01
)
COUNTED = Kind("counts of events", "counted, not sampled", "has", repeatable=True)


class Metric(NamedTuple):
    """``name`` of an event is perf's, without modifiers that do not change what it counts. ``unit``
    is empty where nobody said what it is."""

    name: str
    unit: str = ""
    better: Better = "lower"
    kind: Kind = TIMED

    @property
    def exact(self) -> bool:
        """Whether each event is counted, and none sampled."""
        return self.kind.exact

    @property
    def deterministic(self) -> bool:
        """Whether an emulated guest repeats each single count."""
        return self.kind.exact and self.kind.repeatable

    @property
    def title(self) -> str:
        """Name and unit, for the head of a table."""
        if self.unit in ("", self.name):
            return self.name
        unit, bracket, more = self.unit.partition(" (")
        # One pair of brackets: ``cpu-clock (instructions, guest clock)``.
        return f"{self.name} ({unit}, {more}" if bracket else f"{self.name} ({unit})"


WALL_TIME = Metric("wall-time", "ns")
"""The time of a whole command, from its start to its end."""
INSTRUCTIONS = Metric("instructions", "instructions", kind=EXACT)
IDLE = Metric("idle", "ns of guest clock", kind=EXACT)
"""For how long no vCPU had anything to do."""


class EventName(NamedTuple):
    """The name of an event and its modifiers, by perf's grammar: ``cycles`` and ``up`` of
    ``cycles:up``, ``sched:sched_switch`` and none of itself."""

    name: str
    modifiers: str = ""

    @classmethod
    def of(cls, event: str, *, tracepoint: bool | None = None) -> "EventName":
        """``tracepoint``: whether it is one; None where only its name tells."""
        if match := _PMU_EVENT.fullmatch(event):
            name, inner, behind = match.groups("")
            return cls(f"{name}/", inner + behind)
        name, _, modifiers = event.rpartition(":")
        if not name or not _MODIFIERS.fullmatch(modifiers):
            return cls(_ALIASES.get(event, event))
        if tracepoint is None:
            tracepoint = bool(_PROBES.match(event))
        # The first colon of a tracepoint stands between its system and its name.
        if tracepoint and ":" not in name:
            return cls(event)
        return cls(_ALIASES.get(name, name), modifiers)


def event_metric(event: str, *, tracepoint: bool | None = None) -> Metric:
    """The metric that an event samples: ``cycles`` for ``cpu-cycles:P``, ``cycles:u`` for itself.

    The modifiers p, P (precision), S (leader sampling), D (pinned), H and G with each other and
    such change how an event is sampled, not what it counts (perf-list(1)).
    """
    name, modifiers = EventName.of(event, tracepoint=tracepoint)
    kept = "".join(sorted(set(modifiers) & set("ukhGHI"))).replace("GH", "")
    # A PMU's event has its modifiers behind the last slash.
    full = name + (kept if name.endswith("/") else f":{kept}" if kept else "")
    return Metric(full, "ns" if name in CLOCKS else full, kind=SAMPLED)
