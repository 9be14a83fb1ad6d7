"""One run on a cluster: tried on a node, and on another one if that is lost.

Files on their way to nodes: each once to a store.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from profdiff.base.errors import ProfdiffError
from profdiff.base.terminal import short
from profdiff.collectors import records
from profdiff.collectors.recorder import Running
from profdiff.recording.cluster import node
from profdiff.recording.cluster.errand import Errand, Left, unpack
from profdiff.recording.cluster.nodes import Node, NodeLostError, Nodes, TakenBackError, unless_gone

if TYPE_CHECKING:
    from distributed import Future


# A run that took so many workers with it is a failed one, and one that so many failed at.
MOST_LOST = 3
# Its files may go from a node's store, but not for ever.
_MOST_SENT = 3
_WAIT_SECONDS = 0.1


class Attempt:
    """A run's process, elsewhere. ``pick`` gives a node with room, that is none of some hosts if
    there is another."""

    def __init__(
        self,
        nodes: Nodes,
        files: Files,
        errand: Errand,
        folder: Path,
        pick: Callable[[Errand, set[str]], Node | None],
    ) -> None:
        self._nodes, self._files, self._errand, self._folder = nodes, files, errand, folder
        self._pick = pick
        self._node: Node | None = None
        self._outcome: set[str] | records.Failure | None = None
        self._failed: list[str] = []
        self._resent = 0
        self._started = time.monotonic()
        self.wall_seconds = 0.0
        self.arguments = list(errand.arguments)
        self.lost: list[str] = []
        """The nodes that were lost with it."""
        # Here, so that the next run sees that the node has less room.
        self._place()
        self._work = nodes.spawn(self._make())

    @property
    def phase(self) -> str:
        """Where it is."""
        return f"on {self._node.name}" if self._node else "waiting for a node"

    @property
    def host(self) -> str:
        """The node that made it, or has it."""
        return self._node.host if self._node else ""

    def poll(self) -> bool:
        """Look after it; True when it has ended, and its files are here. Raises InputError for
        files that no run leaves, OSError."""
        if self._outcome is None:
            self.wall_seconds = time.monotonic() - self._started
            if not self._work.done():
                return False
            made = self._work.result()
            if isinstance(made, Left):
                unpack(made.files, self._folder)
                self.arguments, self.wall_seconds = made.arguments, made.wall_seconds
            self._outcome = made.outcome if isinstance(made, Left) else made
        return True

    def stop(self) -> None:
        """Take it back."""
        self._work.cancel()

    def result(self, members: Mapping[str, int]) -> set[str] | records.Failure:
        """As of a guest here."""
        del members  # the errand names them
        return self._outcome or records.Failure("connection", "the run was given up")

    def _place(self) -> Node | None:
        self._node = self._pick(self._errand, set(self.lost))
        if self._node:
            self._node.runs.add(self)
            self._started = time.monotonic()
        return self._node

    async def _make(self) -> Left | records.Failure:
        while True:
            there = self._node or self._place()
            if there is None:
                await asyncio.sleep(_WAIT_SECONDS)
                continue
            try:
                await self._files.bring(self._errand.inputs, there)
                left: Left = await self._nodes.on(there, node.make, self._errand)
                return left
            except Exception as error:
                why = self._problem(there, error)
            finally:
                there.runs.discard(self)
            for hosts, told in (
                (self.lost, f"{MOST_LOST} workers were lost while they made this run"),
                (self._failed, f"{MOST_LOST} times it could not be made"),
            ):
                if len(hosts) == MOST_LOST:
                    more = f": {why}" if hosts is self._failed else ""
                    return records.Failure("connection", f"{told} ({', '.join(hosts)}){more}")
            self._node = None
            self._nodes.retries += 1
            self._nodes.lines.append(f"{self._errand.name}: {why}; it is tried again")

    def _problem(self, there: Node, error: Exception) -> str:
        """Why a node did not make it, which is counted."""
        if isinstance(error, NodeLostError) or there.gone.is_set():
            self.lost.append(there.host)
            return f"{there.name} was lost"
        if isinstance(error, FileNotFoundError):
            # The store has let an input go since it was seen there, or it was damaged.
            there.has.difference_update(self._errand.inputs)
            self._resent += 1
            if self._resent % _MOST_SENT:
                return f"{there.name} lacks a file"
            return self._refused(there, "its files vanish")
        if isinstance(error, ProfdiffError):
            return self._refused(there, str(error))
        if isinstance(error, OSError):
            return self._refused(there, error.strerror or str(error))
        self._failed.append(there.host)
        if isinstance(error, TakenBackError):
            return "the scheduler took it back"
        # What Dask raises has no common class.
        if type(error).__module__.partition(".")[0] in ("distributed", "dask"):
            return short(f"{type(error).__name__}: {error}")
        raise error

    def _refused(self, there: Node, why: str) -> str:
        """It is the node's fault, as long as few of them fail."""
        self._failed.append(there.host)
        if len(self._failed) == MOST_LOST:
            return why
        self._nodes.refuse(there, why)
        return f"{there.name} failed"


@dataclass(frozen=True)
class RunningThere(Running):
    """A run on a node."""

    attempt: Attempt

    @property
    def node(self) -> records.Node | None:
        """The one that made it, or had it last."""
        host = self.attempt.host or (self.attempt.lost or [""])[-1]
        return records.Node(host=host, lost=list(self.attempt.lost))

    @property
    def emulator(self) -> records.Qemu | None:
        """What the guest ran on; its arguments are the node's."""
        qemu = self.recorder.qemu
        return qemu.described(self.attempt.arguments) if qemu else None


def digest_of(path: Path) -> str:
    """A file's sha256. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Files:
    """Local files by their sha256, and how they come to ``nodes``."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._known: dict[Path, tuple[tuple[int, int, int], str]] = {}
        self._paths: dict[str, Path] = {}
        self._travelling: dict[tuple[int, str], asyncio.Task[None]] = {}
        # What Dask has, and moves from node to node, for as long as some node waits for it.
        self._held: WeakValueDictionary[str, Future] = WeakValueDictionary()

    def digest(self, path: Path) -> str:
        """A file's sha256, from which it is known afterwards. Raises OSError."""
        status = path.stat()
        mark = (status.st_ino, status.st_size, status.st_mtime_ns)
        known = self._known.get(path)
        if known is None or known[0] != mark:
            known = self._known[path] = mark, digest_of(path)
            self._paths[known[1]] = path
        return known[1]

    def told(self, path: Path) -> str | None:
        """The same if it was asked for before."""
        known = self._known.get(path)
        return known[1] if known else None

    async def bring(self, digests: tuple[str, ...], to: Node) -> None:
        """Have files in the store of a node. Raises what ``Nodes.on`` does, InputError, OSError."""
        missing = [one for one in digests if one not in to.has]
        if missing:
            lacking = await self._nodes.on(to, node.lacking, missing)
            to.has.update(set(missing) - set(lacking))
        for digest in missing:
            await self._once(digest, to)

    async def _once(self, digest: str, to: Node) -> None:
        """Runs of one store that need the same file wait for the same journey."""
        key = (id(to.has), digest)
        while digest not in to.has:
            task = self._travelling.get(key)
            if task is None:
                task = self._travelling[key] = asyncio.ensure_future(self._send(digest, to))
                task.add_done_callback(lambda _: self._travelling.pop(key, None))
            try:
                # Who waits may be cancelled, the journey goes on for others.
                await asyncio.shield(task)
            except NodeLostError:
                # Another worker of this store may have been the one that is gone.
                if to.gone.is_set():
                    raise

    async def _send(self, digest: str, to: Node) -> None:
        held = self._held.get(digest)
        if held is None or held.status != "finished":
            data = await asyncio.to_thread(self._paths[digest].read_bytes)
            scattered = self._nodes.client.scatter(
                [data], workers=[to.address], hash=False, asynchronous=True
            )
            (held,) = await unless_gone(scattered, to)
            self._held[digest] = held
        await self._nodes.on(to, node.keep, digest, held)
        to.has.add(digest)
