"""What a value is a value of: its name, unit and direction, and what kind of value it is."""

from math import nan
from typing import Literal, NamedTuple

Better = Literal["lower", "higher"]
# Software clocks count nanoseconds (perf_event_open(2)); everything else counts itself.
_CLOCKS = ("cpu-clock", "task-clock")


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
    """``name`` of an event is perf's, without what only says how precisely it was sampled. ``unit``
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


def event_metric(event: str) -> Metric:
    """The metric that an event samples: ``cycles`` for ``cpu-cycles:P``, ``cycles:u`` for itself.

    The modifiers p, P (precision), S (leader sampling), D (pinned), H and G with each other change
    how an event is sampled, not what it counts (perf-list(1)).
    """
    name, _, modifiers = event.strip("/").partition(":")
    name = {"cpu-cycles": "cycles"}.get(name, name)
    kept = "".join(sorted(set(modifiers) & set("ukhGH"))).replace("GH", "")
    full = f"{name}:{kept}" if kept else name
    return Metric(full, "ns" if name in _CLOCKS else full, kind=SAMPLED)
