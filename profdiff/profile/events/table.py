"""The table of events: ``functions.toml``, which says what its members mean."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal

Context = Literal["own", "beside"]
Version = tuple[int, ...]


@dataclass(frozen=True)
class Way:
    """One way to tell an event, of kernels that have all of its ``functions``. ``architecture``: ""
    for each; ``inside``: what they are inlined into, "" where they have code of their own."""

    functions: tuple[str, ...]
    source: str
    looked_up: Mapping[str, tuple[Version, Version]]
    architecture: str = ""
    inside: str = ""

    def is_looked_up(self, architecture: str, version: Version | None) -> bool:
        """Whether somebody looked that up in kernels of a version."""
        found = self.looked_up.get(architecture)
        return found is not None and version is not None and found[0] <= version <= found[1]


@dataclass(frozen=True)
class Event:
    """``about``: which events it stands among; ``told``: what happens; ``chance``: timer ticks,
    which task runs first, or where things lie decide how often it happens, too; ``context``: where
    it happens."""

    name: str
    about: str
    told: str
    chance: bool
    context: Context
    ways: tuple[Way, ...]


@cache
def events() -> tuple[Event, ...]:
    """All of them, in the order of the table."""
    text = resources.files("profdiff.profile.events").joinpath("functions.toml").read_text()
    return tuple(
        Event(
            name=name,
            about=one["about"],
            told=one["is"],
            chance=one.get("chance", False),
            context=one.get("context", "own"),
            ways=tuple(map(_way, one["by"])),
        )
        for name, one in tomllib.loads(text).items()
    )


def _way(one: Mapping[str, object]) -> Way:
    functions, looked_up = one["functions"], one["looked_up"]
    if not isinstance(functions, list) or not isinstance(looked_up, dict):
        raise ValueError(f"{one} is no way to tell an event")
    return Way(
        functions=tuple(functions),
        source=str(one["source"]),
        looked_up={
            name: (_version(first), _version(last)) for name, (first, last) in looked_up.items()
        },
        architecture=str(one.get("architecture", "")),
        inside=str(one.get("inside", "")),
    )


def _version(text: str) -> Version:
    return tuple(map(int, text.split(".")))
