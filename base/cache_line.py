"""Lines of the cache: 64 bytes on all processors that profdiff records on."""

LINE = 64


def lines_of(start: int, size: int) -> range:
    """The lines that ``size`` bytes from ``start`` on lie in; what has no size lies in one."""
    return range(start // LINE, (start + max(size, 1) - 1) // LINE + 1)
