"""Jobs of KernelCI's PULL_LABS protocol: the events that announce them, and what they ask for.

The fields are those of kernelci-core's template (``config/runtime/base/pull_labs.jinja2``) and of
the poller in kernelci-pipeline (``tools/example_pull_lab.py``). Others are ignored, since jobs for
other labs have more. A job is a stranger's: nothing of it becomes a command or a path.
"""

import re
from collections.abc import Iterator
from typing import Annotated, TypeVar

import msgspec

from profdiff.base import bounded
from profdiff.base.errors import InputError

Text = Annotated[str, msgspec.Meta(max_length=4096)]
Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+:-]{0,127}\Z")]
# A text behind all times would hide the events to come.
_TIME = re.compile(r"[0-9]{4}-[0-9T:.+Z-]{6,60}")
_NODE = re.compile(r"[0-9a-f]{8,64}")
# Values of a page of events: a thousand for each of a thousand.
_MOST = 10**6
T = TypeVar("T")


class _Data(msgspec.Struct):
    platform: Text | None = None
    runtime: Text | None = None


class _Outer(msgspec.Struct):
    data: _Data = msgspec.field(default_factory=_Data)


class _Node(msgspec.Struct):
    id: Text = ""
    artifacts: dict[Text, Text | None] | None = None


class _Event(msgspec.Struct):
    timestamp: Text = ""
    node: _Node = msgspec.field(default_factory=_Node)
    data: _Outer = msgspec.field(default_factory=_Outer)


class Announced(msgspec.Struct, frozen=True):
    """A job that waits. ``node``: its id, of hexadecimal digits; ``definition``: its address."""

    node: str
    definition: str
    platform: str
    runtime: str


class Test(msgspec.Struct, frozen=True):
    """One that a job asks for."""

    id: Name
    type: Name
    timeout_s: Annotated[float, msgspec.Meta(gt=0, le=1e7)] = 600.0


class _Environment(msgspec.Struct, frozen=True):
    arch: Name
    platform: Name


class _Callback(msgspec.Struct, frozen=True):
    url: Text


class _Integrity(msgspec.Struct, frozen=True):
    sha256: dict[Text, Text] = {}


class Job(msgspec.Struct, frozen=True):
    """A job definition. ``artifacts``: addresses by what they are."""

    artifacts: Annotated[dict[Text, Text], msgspec.Meta(max_length=100)]
    tests: Annotated[list[Test], msgspec.Meta(max_length=1000)]
    environment: _Environment
    callback: _Callback
    integrity: _Integrity = _Integrity()

    @staticmethod
    def parse(data: bytes) -> "Job":
        """Raises InputError if ``data`` does not define a job."""
        job = _decoded(data, Job, "the job definition")
        digest = job.integrity.sha256.get("kernel")
        if "kernel" not in job.artifacts:
            raise InputError("the job names no kernel")
        if digest is not None and not re.fullmatch("[0-9a-f]{64}", digest):
            raise InputError("the job's SHA-256 of the kernel is malformed")
        return job


def announced(data: bytes) -> tuple[list[Announced], str]:
    """The jobs that a server's answer announces, and the time of its last event, "" without one.
    What is not an event of a pull lab's job is passed over. Raises InputError."""
    events = list(_events(data))
    found = [
        Announced(
            event.node.id,
            definition,
            event.data.data.platform or "",
            event.data.data.runtime or "",
        )
        for event in events
        if (definition := (event.node.artifacts or {}).get("job_definition"))
        and _NODE.fullmatch(event.node.id)
    ]
    times = (event.timestamp for event in events if _TIME.fullmatch(event.timestamp))
    return found, max(times, default="")


def _events(data: bytes) -> Iterator[_Event]:
    for raw in _decoded(data, list[msgspec.Raw], "the list of events"):
        try:
            yield msgspec.json.decode(raw, type=_Event)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            continue


def _decoded(data: bytes, kind: type[T], what: str) -> T:
    try:
        bounded.check_values(data, _MOST)
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise InputError(f"{what} cannot be read: {str(error)[:200]}") from error
