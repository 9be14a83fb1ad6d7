"""One run on a cluster: tried on a node, and on another one if that is lost."""

from __future__ import annotations

import asyncio
import concurrent.futures
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from profdiff.base.errors import ProfdiffError
from profdiff.collectors import records
from profdiff.collectors.messages import short
from profdiff.collectors.recorder import Running
from profdiff.recording.cluster import errand as e
from profdiff.recording.cluster import node
from profdiff.recording.cluster.nodes import Node, Nodes
from profdiff.recording.cluster.travel import Files

# A run that took so many workers with it is a failed one, and one that so many failed at.
MOST_LOST = 3
# Its files may go from a node's store, but not for ever.
_MOST_SENT = 3


class Attempt:
    """A run's process, elsewhere. ``pick`` gives a node with room, that is none of some hosts if
    there is another; ``say`` takes a line, ``again`` one that says that it is tried again."""

    def __init__(
        self,
        nodes: Nodes,
        files: Files,
        errand: e.Errand,
        folder: Path,
        pick: Callable[[e.Errand, set[str]], Node | None],
        say: Callable[[str], None],
        again: Callable[[str], None],
    ) -> None:
        self._nodes, self._files, self._errand, self._folder = nodes, files, errand, folder
        self._pick, self._say, self._again_said = pick, say, again
        self._node: Node | None = None
        self._made: concurrent.futures.Future[e.Left] | None = None
        self._outcome: set[str] | records.Failure | None = None
        self._resent = 0
        self._failed: list[str] = []
        self._started = time.monotonic()
        self.wall_seconds = 0.0
        self.arguments = list(errand.arguments)
        self.lost: list[str] = []
        """The nodes that were lost with it."""
        self._place()

    @property
    def phase(self) -> str:
        """Where it is."""
        return f"on {self._node.name}" if self._node else "waiting for a node"

    @property
    def host(self) -> str:
        """The node that made it, or has it."""
        return self._node.told.host if self._node else ""

    def poll(self) -> bool:
        """Look after it; True when it has ended, and its files are here. Raises InputError for
        files that no run leaves, OSError."""
        if self._outcome is not None:
            return True
        self.wall_seconds = time.monotonic() - self._started
        if self._node is None or self._made is None:
            self._place()
        elif self._node.lost and not self._made.done():
            self._take_back()
            self._count_lost(self._node)
        elif self._made.done():
            self._end(self._node, self._made)
        return self._outcome is not None

    def stop(self) -> None:
        """Take it back."""
        self._take_back()

    def result(self, members: Mapping[str, int]) -> set[str] | records.Failure:
        """As of a guest here."""
        del members  # the errand names them
        return self._outcome or records.Failure("connection", "the run was given up")

    def _place(self) -> None:
        self._node = self._pick(self._errand, set(self.lost))
        if self._node is None:
            return
        self._node.runs += 1
        self._started = time.monotonic()
        self._made = self._nodes.spawn(self._make(self._node))

    async def _make(self, there: Node) -> e.Left:
        await self._files.bring(self._errand.inputs, there)
        left: e.Left = await self._nodes.on(there, node.make, self._errand)
        return left

    def _take_back(self) -> None:
        if self._made is not None:
            self._made.cancel()
            self._made = None
        self._leave()

    def _leave(self) -> None:
        if self._node is not None:
            self._node.runs -= 1

    def _again(self, why: str) -> None:
        self._node = self._made = None
        self._again_said(f"{self._errand.name}: {why}; it is tried again")

    def _count_lost(self, there: Node) -> None:
        self.lost.append(there.told.host)
        if len(self.lost) < MOST_LOST:
            self._again(f"{there.name} was lost")
            return
        told = f"{MOST_LOST} workers were lost while they made this run ({', '.join(self.lost)})"
        self._outcome = records.Failure("connection", told)

    def _end(self, there: Node, made: concurrent.futures.Future[e.Left]) -> None:
        from distributed import KilledWorker

        self._leave()
        try:
            left = made.result()
        except KilledWorker:
            self._count_lost(there)
        except (concurrent.futures.CancelledError, asyncio.CancelledError):
            if there.lost:
                self._count_lost(there)
            else:
                self._count_failed(there, "the scheduler took it back")
        except FileNotFoundError:
            # The store has let an input go since it was seen there, or it was damaged.
            self._files.forget(self._errand.inputs, there)
            self._resent += 1
            if self._resent < _MOST_SENT:
                self._again(f"{there.name} lacks a file")
            else:
                self._resent = 0
                self._count_failed(there, "its files vanish", leave_out=True)
        except ProfdiffError as error:
            self._count_failed(there, str(error), leave_out=True)
        except OSError as error:
            self._count_failed(there, error.strerror or str(error), leave_out=True)
        except Exception as error:  # what Dask raises has no common class
            if type(error).__module__.partition(".")[0] not in ("distributed", "dask"):
                raise
            self._count_failed(there, short(f"{type(error).__name__}: {error}"))
        else:
            e.unpack(left.files, self._folder)
            self.arguments, self.wall_seconds = left.arguments, left.wall_seconds
            self._outcome = left.outcome

    def _count_failed(self, there: Node, why: str, *, leave_out: bool = False) -> None:
        """``leave_out``: it is the node's fault, as long as few of them fail."""
        self._failed.append(there.told.host)
        if len(self._failed) >= MOST_LOST:
            told = f"{MOST_LOST} times it could not be made ({', '.join(self._failed)}): {why}"
            self._outcome = records.Failure("connection", told)
        elif leave_out:
            self._say(self._nodes.refuse(there, why))
            self._again(f"{there.name} failed")
        else:
            self._again(why)


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
