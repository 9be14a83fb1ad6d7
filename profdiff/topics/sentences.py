"""Parts of sentences that several topics have."""

from collections.abc import Sequence

from profdiff.base import units

# With more kernels, a sentence for each is a page that nobody reads.
_MAX_KERNELS = 3


def told_kernels(labels: Sequence[str]) -> Sequence[int]:
    """The numbers of the kernels that have a sentence each: all but the base, or the last of
    many."""
    kernels = range(1, len(labels))
    return kernels if len(kernels) <= _MAX_KERNELS else kernels[-1:]


def changed(label: str, base: str, what: str, ends: tuple[float, float], ops: int | None) -> str:
    """How often ``what`` happened on a kernel, and where on its base; ``ends``: on the base, and
    on the kernel, per op where ``ops`` are known."""
    first, other = (units.count(end, per_op=True) if ops else units.count(int(end)) for end in ends)
    change = f" ({units.change(*ends)})" if ends[0] else ""
    return f"{label} has {other} {what}{' per op' if ops else ''} where {base} has {first}{change}"


def more_rows(number: int) -> list[str]:
    """What tells of rows that readers do not see; nothing where they see all."""
    return [f"{number:,} more rows in --csv and --json."] if number > 0 else []
