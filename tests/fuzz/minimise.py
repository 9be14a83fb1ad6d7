"""The smallest input that shows a finding: parts are left out while its cause stays the same."""

from collections.abc import Callable
from dataclasses import replace

from fuzz.runner import Plan, run


def cause(plan: Plan, data: bytes) -> str | None:
    """The signature of what goes wrong with ``data``, None if nothing does."""
    found = run(replace(plan, given=data, first=0, last=0, jobs=1)).findings
    return found[0].signature if found else None


def minimised(plan: Plan, data: bytes, progress: Callable[[int], None]) -> bytes:
    """``data`` with as much left out as the cause allows: halves, then quarters, down to bytes;
    then every byte that can be is ``0``. Raises ValueError when nothing is wrong with it."""
    wanted = cause(plan, data)
    if wanted is None:
        raise ValueError("nothing is wrong with this input")
    size = max(len(data) // 2, 1)
    while True:
        at, before = 0, len(data)
        while at < len(data):
            shorter = data[:at] + data[at + size :]
            if cause(plan, shorter) == wanted:
                data = shorter
                progress(len(data))
            else:
                at += size
        if size == 1 and (len(data) == before or len(data) > 4096):
            break
        size = max(size // 2, 1)
    for at in range(min(len(data), 4096)):
        plain = data[:at] + b"0" + data[at + 1 :]
        if plain != data and cause(plan, plain) == wanted:
            data = plain
    return data
