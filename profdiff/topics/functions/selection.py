"""Which rows of the function table a reader asked for, and in which order."""

from typing import Literal, NamedTuple

Sort = Literal["delta", "total-delta", "self", "total", "name"]


class Selection(NamedTuple):
    """``top``: at most that many rows; ``min_delta``: rows with a smaller absolute self delta (of
    the metric, on every kernel) are left out; ``side``: None for both."""

    sort: Sort = "delta"
    top: int | None = None
    min_delta: int = 0
    side: Literal["kernel", "user"] | None = None
