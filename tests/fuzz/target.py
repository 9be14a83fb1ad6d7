"""What is tried: a reader, real inputs of its kind, and how to change them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from profdiff.base.errors import ProfdiffError

Mutation = Callable[[Random, bytes], bytes]


@dataclass(frozen=True)
class Target:
    """A reader as users reach it.

    ``seeds``: real inputs, all of which it accepts. ``read``: gives it bytes and a folder, empty
    and its own; returns the text that it made of them, if that is meant for a terminal. What it
    may raise are ``refusals``. ``mutations``: changes of the format's own, beside those of bytes;
    ``words``: bytes that mean something in it. ``cases``: how many a test run tries. A case has
    ``seconds`` of processor time and ``memory`` bytes beside what the interpreter has already.
    """

    name: str
    seeds: Callable[[], list[bytes]]
    read: Callable[[bytes, Path], str | None]
    cases: int
    refusals: tuple[type[Exception], ...] = (ProfdiffError,)
    mutations: Sequence[Mutation] = ()
    words: Sequence[bytes] = ()
    seconds: float = 10
    memory: int = 1 << 30
