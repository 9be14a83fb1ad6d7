"""Lines of the cache: 64 bytes on all processors that profdiff records on."""

from collections.abc import Iterable

LINE = 64


def lines_of(start: int, size: int) -> range:
    """The lines that ``size`` bytes from ``start`` on lie in; what has no size lies in one."""
    return range(start // LINE, (start + max(size, 1) - 1) // LINE + 1)


def covered(pieces: Iterable[tuple[int, int]]) -> set[int]:
    """The lines that some pieces, (start, size), lie in."""
    return {line for start, size in pieces for line in lines_of(start, size)}


def least(size: int) -> int:
    """How few lines so many bytes can lie in."""
    return -(-size // LINE)
