"""What a count counts."""

from typing import NamedTuple

# Software clocks count nanoseconds (perf_event_open(2)); everything else counts itself.
_CLOCKS = ("cpu-clock", "task-clock")


class Metric(NamedTuple):
    """``name`` as perf has it, without what only says how precisely it was sampled; ``exact``: from
    a deterministic collector, where the others are sampled."""

    name: str
    exact: bool

    @property
    def unit(self) -> str:
        """What one of it is: ``ns``, or the metric's own name."""
        return "ns" if self.name.partition(":")[0] in _CLOCKS else self.name

    @property
    def title(self) -> str:
        """Name and unit, for the head of a table."""
        return self.name if self.unit == self.name else f"{self.name} ({self.unit})"


INSTRUCTIONS = Metric("instructions", exact=True)


def event_metric(event: str) -> Metric:
    """The metric that an event samples: ``cycles`` for ``cpu-cycles:P``, ``cycles:u`` for itself.

    The modifiers p, P (precision), S (leader sampling), D (pinned), H and G with each other change
    how an event is sampled, not what it counts (perf-list(1)).
    """
    name, _, modifiers = event.strip("/").partition(":")
    name = {"cpu-cycles": "cycles"}.get(name, name)
    kept = "".join(sorted(set(modifiers) & set("ukhGH")))
    kept = kept.replace("GH", "")
    return Metric(f"{name}:{kept}" if kept else name, exact=False)
