"""The table of events: ``functions.toml``, which says what its members mean."""

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Literal

import msgspec

Context = Literal["own", "beside"]
Version = tuple[int, ...]


class Way(msgspec.Struct, frozen=True):
    """One way to tell an event, of kernels that have all of its ``functions``. ``architecture``: ""
    for each; ``inside``: what they are inlined into, "" where they have code of their own."""

    functions: tuple[str, ...]
    source: str
    looked_up: dict[str, tuple[str, str]]
    architecture: str = ""
    inside: str = ""

    def is_looked_up(self, architecture: str, version: Version | None) -> bool:
        """Whether somebody looked that up in kernels of a version."""
        found = self.looked_up.get(architecture)
        if found is None or version is None:
            return False
        first, last = (tuple(map(int, one.split("."))) for one in found)
        return first <= version <= last


class Event(msgspec.Struct, frozen=True):
    """``about``: which events it stands among; ``told``: what happens; ``chance``: timer ticks,
    which task runs first, or where things lie decide how often it happens, too; ``context``: where
    it happens."""

    name: str
    about: str
    told: str = msgspec.field(name="is")
    ways: tuple[Way, ...] = msgspec.field(name="by")
    chance: bool = False
    context: Context = "own"


@cache
def events() -> tuple[Event, ...]:
    """All of them, in the order of the table."""
    import tomllib

    known = [{"name": name, **one} for name, one in tomllib.loads(definitions()).items()]
    return msgspec.convert(tuple(known), tuple[Event, ...])


@cache
def definitions() -> str:
    """The table as text: another one may tell an event by other functions."""
    return resources.files("profdiff.profile.events").joinpath("functions.toml").read_text()


@cache
def by_name() -> Mapping[str, Event]:
    """The same by their names."""
    return {event.name: event for event in events()}
