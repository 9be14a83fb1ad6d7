"""The workers of a cluster as the recorder sees them: which take part, which are gone."""

from __future__ import annotations

import asyncio
import concurrent.futures
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from profdiff.base import units
from profdiff.base.errors import ProfdiffError, RunError
from profdiff.base.terminal import short
from profdiff.recording.cluster import node
from profdiff.recording.cluster.errand import Needs, Told

if TYPE_CHECKING:
    from distributed import Client

_T = TypeVar("_T")
# How often the scheduler is asked who is there; how long it may be silent.
_LOOK_SECONDS = 0.5
_SILENT_SECONDS = 15.0


class NodeLostError(Exception):
    """A worker is gone, and what it did with it."""


class TakenBackError(Exception):
    """The scheduler has dropped a task."""


@dataclass(eq=False)
class Node:
    """A worker, with ``slots`` for guests; ``runs`` are there now. ``has``: the files in its store,
    by sha256; workers with one store share it. ``answered``: it told what it is; ``refusal``: the
    line that says why it does not take part; ``gone``: the scheduler has it no more."""

    address: str
    slots: int = 1
    host: str = ""
    has: set[str] = field(default_factory=set)
    runs: set[object] = field(default_factory=set)
    answered: bool = False
    refusal: str = ""
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    asked: asyncio.Task[None] | None = None

    @property
    def name(self) -> str:
        """What lines call it."""
        netloc = urlsplit(self.address).netloc
        return f"{self.host} ({netloc})" if self.host else netloc


class Nodes:
    """All workers that the scheduler of ``client`` knows. Coroutines run in the client's thread,
    the rest in the recorder's."""

    def __init__(self, client: Client, needs: Needs) -> None:
        self.client = client
        self.lines: list[str] = []
        """What a user is to know, oldest first."""
        self.retries = 0
        """How often runs were tried again."""
        self.known: dict[str, Node] = {}
        self._needs = needs
        self._stores: dict[str, set[str]] = {}
        self._heard = time.monotonic()

    @property
    def here(self) -> list[Node]:
        """Those that take part."""
        return [one for one in list(self.known.values()) if one.answered and not one.refusal]

    @property
    def refusals(self) -> list[str]:
        """Why all do not; nothing while one may still."""
        known = list(self.known.values())
        return [one.refusal for one in known] if all(one.refusal for one in known) else []

    def check(self) -> None:
        """Raises RunError when the scheduler is silent."""
        silent = time.monotonic() - self._heard > _SILENT_SECONDS
        if self.client.status == "closed" or silent:
            address = getattr(self.client.scheduler, "address", "no address")
            raise RunError(
                f"the scheduler does not answer any more ({address}): start it and run the same "
                "command again, which resumes from here"
            )

    def spawn(self, work: Coroutine[Any, Any, _T]) -> concurrent.futures.Future[_T]:
        """Start ``work`` in the client's thread."""
        return asyncio.run_coroutine_threadsafe(work, self.client.loop.asyncio_loop)

    async def watch(self) -> None:
        """Hear of workers that join and leave, for ever."""
        scheduler: Any = self.client.scheduler
        while True:
            try:
                threads = await asyncio.wait_for(scheduler.ncores(), _SILENT_SECONDS)
            except (OSError, TimeoutError):
                pass
            else:
                self._heard = time.monotonic()
                self.update(threads)
            await asyncio.sleep(_LOOK_SECONDS)

    def update(self, threads: Mapping[str, int]) -> None:
        """These workers are there, with so many threads."""
        for address in threads.keys() - self.known.keys():
            one = self.known[address] = Node(address, max(1, threads[address]))
            one.asked = asyncio.ensure_future(self._ask(one))
        for address in self.known.keys() - threads.keys():
            one = self.known.pop(address)
            one.gone.set()
            if one.answered and not one.refusal and not one.runs:
                self.lines.append(f"{one.name} has left")

    def refuse(self, one: Node, why: str) -> None:
        """Give a node no more runs. Those that are there go on."""
        one.refusal = f"{one.name} is left out: {why}"
        self.lines.append(one.refusal)

    async def on(
        self,
        where: Node,
        function: Callable[..., Any],
        *arguments: Any,
    ) -> Any:
        """What ``function`` returns in a worker. Raises what it raises, NodeLostError when the
        worker is gone before, TakenBackError. A task that is cancelled is taken back there."""
        from distributed import KilledWorker

        future = self.client.submit(
            function, *arguments, workers=[where.address], allow_other_workers=False, pure=False
        )
        answer = self.client.gather(future, asynchronous=True)
        try:
            return await unless_gone(answer, where)
        except KilledWorker as error:
            raise NodeLostError from error
        finally:
            future.release()

    async def _ask(self, one: Node) -> None:
        """Let a node take part, or refuse it."""
        try:
            told: Told = await self.on(one, node.tell, self._needs)
        except NodeLostError:
            return
        except TakenBackError:
            # Asked again, if it is still there.
            self.known.pop(one.address, None)
            return
        except ModuleNotFoundError as error:
            name = (error.name or "").partition(".")[0]
            why = f"its Python has no {name or 'profdiff'}: install profdiff[cluster] there"
        except ProfdiffError as error:
            why = str(error)
        except Exception as error:  # whatever another profdiff there raises
            why = short(f"{type(error).__name__}: {error}")
        else:
            one.host, one.has = told.host, self._stores.setdefault(told.store, set())
            why = told.refusal or ""
        if why:
            self.refuse(one, why)
        else:
            slots = units.counted(one.slots, "guest")
            self.lines.append(f"{one.name} takes part, {slots} at a time")
        one.answered = True


async def unless_gone(work: Awaitable[_T], where: Node) -> _T:
    """What ``work`` comes to. Raises NodeLostError where a node is gone before, TakenBackError."""
    answer = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(where.gone.wait())
    try:
        await asyncio.wait((answer, gone), return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            raise NodeLostError
        if answer.cancelled():
            raise TakenBackError
        return answer.result()
    except concurrent.futures.CancelledError as error:
        raise TakenBackError from error
    finally:
        answer.cancel()
        gone.cancel()
