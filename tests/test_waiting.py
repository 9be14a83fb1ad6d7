"""Waiting for file descriptors."""

import fcntl
import os
import resource
import time
from collections.abc import Iterator

import pytest

from profdiff.base.processes import wait_readable

HIGH = 1500


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """A pipe whose reading end has a number that select(2) does not take."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard <= HIGH:
        pytest.skip("this machine allows too few open files")
    if soft != resource.RLIM_INFINITY and soft <= HIGH:
        resource.setrlimit(resource.RLIMIT_NOFILE, (HIGH + 100, hard))
    low, writing = os.pipe()
    reading = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, HIGH)
    os.close(low)
    yield reading, writing
    for one in (reading, writing):
        try:
            os.close(one)
        except OSError:
            continue
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def seconds(descriptors: list[int], most: float) -> float:
    """How long it waits."""
    began = time.monotonic()
    wait_readable(descriptors, most)
    return time.monotonic() - began


def test_what_can_be_read_ends_it(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    assert reading >= HIGH
    assert seconds([reading], 0.1) >= 0.09
    os.write(writing, b"x")
    assert seconds([reading, reading], 60) < 30


def test_a_closed_end_does(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    os.close(writing)
    assert seconds([reading], 60) < 30


def test_nothing_to_read_is_a_pause() -> None:
    assert seconds([], 0.1) >= 0.09
