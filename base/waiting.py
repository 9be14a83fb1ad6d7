"""Waiting for file descriptors, whatever their numbers."""

import select
from collections.abc import Iterable


def wait(descriptors: Iterable[int], seconds: float) -> None:
    """Until one of ``descriptors`` can be read, or its other end is closed, but no longer than
    ``seconds``. select(2) takes none from 1024 on."""
    waiting = select.poll()
    for one in descriptors:
        waiting.register(one, select.POLLIN)
    waiting.poll(seconds * 1000)
