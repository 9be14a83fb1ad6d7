"""What a guest's clock gives under emulation: not time, but instructions.

With ``-icount shift=0`` QEMU's virtual clock advances by one nanosecond for each instruction
(docs/devel/tcg-icount.rst), so a duration is a number of instructions, whatever its unit says.
"""

from profdiff.base.metric import WALL_TIME, Metric

_SUFFIX = " (guest clock)"
_COUNTS = {
    "ns": "instructions",
    "us": "thousand instructions",
    "ms": "million instructions",
    "s": "billion instructions",
}
_WHOLE_COMMAND = "whole-command"


def has_time(unit: str) -> bool:
    """Whether time is in a unit: ``ns``, ``ns/page``, ``ops/s``."""
    return any(_time(part) for part in unit.split("/"))


def _time(part: str) -> str:
    """The unit of time that a part of a unit is, or ends in (``latency_ns``); "" for none."""
    last = part.rpartition("_")[2]
    return last if last in _COUNTS else ""


def counted(metric: Metric) -> Metric:
    """``metric`` as that clock measures it: ``instructions/call (guest clock)`` for ``ns/call``,
    ``thousand instructions (guest clock)`` for ``us``. Values stay as they are. A program's own
    metric keeps its name; ``wall-time`` becomes ``whole-command``. A metric without time in its
    unit is not changed."""
    if not has_time(metric.unit):
        return metric
    unit = "/".join(_COUNTS.get(_time(part), part) for part in metric.unit.split("/"))
    name = _WHOLE_COMMAND if metric.name == WALL_TIME.name else metric.name
    return metric._replace(name=name, unit=f"{unit}{_SUFFIX}")


def is_instructions(metric: Metric) -> bool:
    """Whether it is a number of instructions by that clock, perhaps of each of something."""
    plain = unsaid(metric.unit)
    return plain != metric.unit and plain.partition("/")[0].endswith("instructions")


def is_whole_command(metric: Metric) -> bool:
    """Whether it is what every timed run has: the command from its start to its end."""
    return metric.name in (WALL_TIME.name, _WHOLE_COMMAND)


def unsaid(text: str) -> str:
    """``text`` without ``(guest clock)`` at its end, where something else says so."""
    return text.removesuffix(_SUFFIX)


def per_op(unit: str) -> str:
    """A unit of any metric, per op: ``instructions per op (guest clock)``."""
    plain = unsaid(unit)
    return f"{plain} per op{unit[len(plain) :]}"
