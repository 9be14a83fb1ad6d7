"""Parts that forked processes make come back in order, and so do their errors."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from profdiff.base import processes
from profdiff.base.errors import InputError, ProfdiffError
from profdiff.base.processes import made_in_order
from profdiff.symbolization import _native
from profdiff.symbolization._native import SymbolIndex


@pytest.fixture(autouse=True)
def processors(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """How many there seem to be: three, or so many."""

    def seem(number: int) -> None:
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(number)))

    seem(3)
    return seem


def children() -> list[str]:
    return Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()


@pytest.mark.parametrize("number", [0, 1, 2, 3, 4, 50])
def test_parts_are_in_order(number: int) -> None:
    before = children()
    assert list(made_in_order(lambda part: f"{part}\udc80" * part, range(number))) == [
        f"{part}\udc80" * part for part in range(number)
    ]
    assert children() == before


def test_native_threads_are_a_processs_own() -> None:
    """Those that this process started do not run in a fork of it, which would wait for them."""
    sections = SymbolIndex.open(_native.__file__).sections()
    assert sections
    found = made_in_order(lambda path: SymbolIndex.open(path).sections(), [_native.__file__] * 3)
    assert list(found) == [sections] * 3


def test_several_processes_make_them(processors: Callable[[int], None]) -> None:
    assert len(set(made_in_order(lambda _: os.getpid(), range(9)))) == 3
    processors(1)
    assert set(made_in_order(lambda _: os.getpid(), range(9))) == {os.getpid()}


def test_an_error_comes_where_its_part_would() -> None:
    def make(part: int) -> int:
        if part == 4:
            raise InputError("the fifth")
        return part

    found = made_in_order(make, range(9))
    assert [next(found) for _ in range(4)] == [0, 1, 2, 3]
    with pytest.raises(InputError, match="the fifth"):
        next(found)


def test_a_defect_is_raised_here_with_its_trace(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ZeroDivisionError) as raised:
        list(made_in_order(lambda part: 1 // (part - 4), range(9)))
    assert "in _make" in raised.value.__notes__[0]
    assert capfd.readouterr().err == ""


def test_who_asks_no_more_leaves_no_process() -> None:
    before = children()
    found = made_in_order(lambda part: b"x" * 2**20, range(100))
    next(found)
    assert len(children()) == len(before) + 3
    found.close()
    assert children() == before


def test_a_process_that_is_ended_is_told() -> None:
    with pytest.raises(ProfdiffError, match="was ended"):
        list(made_in_order(lambda _: os.kill(os.getpid(), signal.SIGKILL), range(9)))


def test_what_is_made_waits() -> None:
    """Memory holds few parts, however many there are."""
    processors = len(os.sched_getaffinity(0))
    number = 40 * processors
    counter = processes.get_context("fork").Value("i", 0)

    def make(part: int) -> bytes:
        with counter.get_lock():
            counter.value += 1
        return b"x" * 2**20

    found = made_in_order(make, range(number))
    next(found)
    assert counter.value <= 8 * processors
    found.close()
