"""Jobs of KernelCI's PULL_LABS protocol: the events that announce them, and what they ask for.

The fields are those of kernelci-core's template (``config/runtime/base/pull_labs.jinja2``) and of
the poller in kernelci-pipeline (``tools/example_pull_lab.py``). Others are ignored, since jobs for
other labs have more. A job is a stranger's: nothing of it becomes a command or a path.
"""

import re
from contextlib import suppress
from typing import Annotated, NamedTuple, TypeVar

import msgspec

from .servers import LabError

# Values of a page of events: a thousand for each of a thousand.
VALUES = 10**6
T = TypeVar("T")
Text = Annotated[str, msgspec.Meta(max_length=4096)]
Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+:-]{0,127}\Z")]
Digest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]


class Names(msgspec.Struct):
    platform: Text | None = None
    runtime: Text | None = None


class Outer(msgspec.Struct):
    data: Names = msgspec.field(default_factory=Names)


class Node(msgspec.Struct):
    id: Text = ""
    artifacts: dict[Text, Text | None] | None = None


class Event(msgspec.Struct):
    timestamp: Text = ""
    node: Node = msgspec.field(default_factory=Node)
    data: Outer = msgspec.field(default_factory=Outer)


class Announced(NamedTuple):
    """A job that waits. ``node``: its id, of hexadecimal digits; ``definition``: its address."""

    node: str
    definition: str
    platform: str | None
    runtime: str | None


class Test(msgspec.Struct):
    id: Name
    type: Name
    timeout_s: Annotated[float, msgspec.Meta(gt=0, le=1e7)] = 600.0


class Environment(msgspec.Struct):
    platform: Name


class Callback(msgspec.Struct):
    url: Text


class Artifacts(msgspec.Struct):
    kernel: Text


class Sums(msgspec.Struct):
    kernel: Digest | None = None


class Integrity(msgspec.Struct):
    sha256: Sums = msgspec.field(default_factory=Sums)


class Job(msgspec.Struct):
    """A job definition."""

    artifacts: Artifacts
    tests: Annotated[list[Test], msgspec.Meta(max_length=1000)]
    environment: Environment
    callback: Callback
    integrity: Integrity = msgspec.field(default_factory=Integrity)


def decoded(data: bytes, kind: type[T], what: str) -> T:
    try:
        # Each value stands behind one of these, and few of them are in texts.
        if data.count(b",") + data.count(b"[") + data.count(b"{") >= VALUES:
            raise ValueError(f"it has more than {VALUES:,} values")
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise LabError(f"{what} cannot be read: {str(error)[:200]}") from error


def announced(data: bytes) -> tuple[list[Announced], str]:
    """The jobs that a page of events announces, and the time of its last event, "" without one.
    What is not an event of a pull lab's job is passed over."""
    found, last = [], ""
    for raw in decoded(data, list[msgspec.Raw], "the list of events"):
        with suppress(msgspec.MsgspecError, ValueError, RecursionError):
            event = msgspec.json.decode(raw, type=Event)
            definition = (event.node.artifacts or {}).get("job_definition")
            if definition and re.fullmatch("[0-9a-f]{8,64}", event.node.id):
                names = event.data.data
                found.append(Announced(event.node.id, definition, names.platform, names.runtime))
            # A text behind all times would hide the events to come.
            if re.fullmatch("[0-9]{4}-[0-9T:.+Z-]{6,60}", event.timestamp):
                last = max(last, event.timestamp)
    return found, last
