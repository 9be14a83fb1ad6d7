"""For how long vCPUs idled, as text: all of them, each, and by what gave way to that."""

from collections.abc import Mapping

from profdiff.profile.comparison import Comparison
from profdiff.reports.numbers import Numbers
from profdiff.reports.table import Block, Column, draw
from profdiff.views.profile.idle import Idle, idle

_PATHS = 8
# The innermost functions say most of why.
_FUNCTIONS = 3


def render(comparison: Comparison, numbers: Numbers, width: int) -> list[Block | str]:
    """A table, and what it means; nothing where no vCPU idled, or where that was not recorded."""
    found = idle(comparison)
    if found is None:
        return []
    labels = comparison.labels
    columns = [Column("vCPU", name=True)]
    columns += [Column(f"{label}", part=part) for part, label in enumerate(labels)]
    columns += [Column(f"{numbers.relative} {label}", part=part) for part, label in _others(labels)]
    rows = [["none busy", *_row(found.idle, numbers)]]
    rows += [
        [str(vcpu), *_row({one: found.vcpus[one][vcpu] for one in labels}, numbers)]
        for vcpu in range(_vcpus(found))
    ]
    tail = [["clock", *_row(found.advanced, numbers)]]
    title = f"idle, in ns of the guest's clock{numbers.title}"
    blocks: list[Block | str] = [*draw(title, columns, rows, width, tail)]
    return [*blocks, *_paths(found, labels, numbers, width)]


def _vcpus(found: Idle) -> int:
    """How many rows vCPUs have: one says no more than that none was busy."""
    several = min(map(len, found.vcpus.values()))
    return several if several > 1 else 0


def _others(labels: list[str]) -> list[tuple[int, str]]:
    return list(enumerate(labels))[1:]


def _row(values: Mapping[str, int], numbers: Numbers) -> list[str]:
    base, *others = values.values()
    return [
        *map(numbers.count, values.values()),
        *(numbers.change(base, other) for other in others),
    ]


def _paths(found: Idle, labels: list[str], numbers: Numbers, width: int) -> list[Block | str]:
    if not found.paths:
        return []
    columns = [
        *(Column(f"idle {label}", part=part) for part, label in enumerate(labels)),
        *(Column(f"times {label}", part=part, spare=1) for part, label in enumerate(labels)),
        Column("the last task gave way in", name=True),
    ]
    rows = [
        [
            *map(numbers.count, path.time.values()),
            *map(numbers.count, path.times.values()),
            " > ".join(path.functions[-_FUNCTIONS:]) or "(not known)",
        ]
        for path in found.paths[:_PATHS]
    ]
    told = "idle: summed over vCPUs; times: how often one began to idle"
    more = len(found.paths) - _PATHS
    told += f"; {more:,} more paths not shown" if more > 0 else ""
    return [*draw("", columns, rows, width), f"{told}."]
