"""Which rows of the function table a reader asked for, and in which order."""

from dataclasses import dataclass
from typing import Literal

Sort = Literal["delta", "total-delta", "self", "total", "name"]


@dataclass(frozen=True)
class Selection:
    """``top``: at most that many rows; ``min_delta``: rows with a smaller absolute self delta (of
    the metric, on every kernel) are left out; ``side``: None for both."""

    sort: Sort = "delta"
    top: int | None = None
    min_delta: int = 0
    side: Literal["kernel", "user"] | None = None
