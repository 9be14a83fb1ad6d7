"""Coroutines in tests."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Result = TypeVar("Result")


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """What a coroutine returns. It has a thread of its own: the browser of other tests, which
    share the process, keeps an event loop in theirs."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(asyncio.run, work).result()
