"""The workers of a cluster as the recorder sees them: which take part, which are gone."""

from __future__ import annotations

import asyncio
import concurrent.futures
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from profdiff.base import units
from profdiff.base.errors import ProfdiffError, RunError
from profdiff.collectors.messages import short
from profdiff.recording.cluster import node
from profdiff.recording.cluster.errand import Needs, Told

if TYPE_CHECKING:
    from distributed import Client

_T = TypeVar("_T")
# How often the scheduler is asked who is there; how long it may be silent.
_LOOK_SECONDS = 0.5
_SILENT_SECONDS = 15.0
_REACH_SECONDS = 3.0


@dataclass(eq=False)
class Node:
    """A worker that takes part, with ``slots`` for guests; ``runs`` are there now. ``direct``:
    whether the recorder reaches it without the scheduler. ``has``: the files in its store, by
    sha256; workers with one store share it. ``lost``: the worker is gone."""

    address: str
    slots: int
    told: Told
    direct: bool
    has: set[str]
    runs: int = 0
    lost: bool = False
    serving: set[asyncio.Future[Any]] = field(default_factory=set)

    @property
    def name(self) -> str:
        """What lines call it."""
        return f"{self.told.host} ({urlsplit(self.address).netloc})"


class Nodes:
    """All workers that the scheduler of ``client`` knows. Coroutines run in the client's thread,
    the rest in the recorder's."""

    def __init__(self, client: Client, needs: Needs, plugins: Mapping[str, bytes]) -> None:
        self.client = client
        self._needs, self._plugins = needs, plugins
        self._asked: dict[str, concurrent.futures.Future[tuple[Told, bool]]] = {}
        self._threads: dict[str, int] = {}
        self._refused: dict[str, str] = {}
        self._stores: dict[str, set[str]] = {}
        self._known: dict[str, Node] = {}
        # Refused while they had runs, which are lost if these go.
        self._left_out: dict[str, Node] = {}
        self._listing: concurrent.futures.Future[Mapping[str, int]] | None = None
        self._looked = 0.0
        # Since when the scheduler does not answer.
        self._failing: float | None = None
        self._told = False

    @property
    def here(self) -> list[Node]:
        """Those that take part."""
        return list(self._known.values())

    @property
    def refusals(self) -> list[str]:
        """Why the others do not, a line for each."""
        return list(self._refused.values())

    @property
    def settled(self) -> bool:
        """Whether every worker that there is has told what it is."""
        return self._told and not self._asked

    def spawn(self, work: Coroutine[Any, Any, _T]) -> concurrent.futures.Future[_T]:
        """Start ``work`` in the client's thread."""
        return asyncio.run_coroutine_threadsafe(work, self.client.loop.asyncio_loop)

    async def on(self, where: Node | str, function: Callable[..., Any], *arguments: Any) -> Any:
        """What ``function`` returns in a worker. Raises what it raises; a task that is cancelled
        is taken back there."""
        address = where.address if isinstance(where, Node) else where
        future = self.client.submit(
            function, *arguments, workers=[address], allow_other_workers=False, pure=False
        )
        direct = where.direct if isinstance(where, Node) else False
        try:
            return await self.client.gather(future, asynchronous=True, direct=direct)
        finally:
            future.release()

    def refuse(self, one: Node, why: str) -> str:
        """Give a node no more runs: the line that says so. Those that are there go on."""
        if self._known.pop(one.address, None) is one:
            self._left_out[one.address] = one
        self._refused[one.address] = line = f"{one.name} is left out: {why}"
        return line

    def look(self) -> list[str]:
        """Hear of workers that joined or left; the lines that tell what changed. Raises RunError
        when the scheduler is silent."""
        now = time.monotonic()
        lines = []
        if self._listing is not None and self._listing.done():
            listing, self._listing = self._listing, None
            if listing.exception() is None:
                self._failing, self._told = None, True
                lines += self._update(listing.result())
            elif self._failing is None:
                self._failing = now
        elif self._listing is None and now - self._looked >= _LOOK_SECONDS:
            self._looked = now
            self._listing = self.spawn(self._list())
        since = self._failing or (self._looked if self._listing is not None else now)
        if self.client.status == "closed" or now - since > _SILENT_SECONDS:
            raise RunError(
                f"the scheduler does not answer any more ({_address(self.client)}): start it and "
                "run the same command again, which goes on from here"
            )
        for address, asked in list(self._asked.items()):
            if asked.done():
                del self._asked[address]
                lines += self._answered(address, asked)
        return lines

    async def _list(self) -> Mapping[str, int]:
        scheduler: Any = self.client.scheduler
        found: Mapping[str, int] = await scheduler.ncores()
        return found

    def _update(self, threads: Mapping[str, int]) -> list[str]:
        self._threads = dict(threads)
        lines = []
        for address in threads:
            if address not in {*self._known, *self._asked, *self._refused}:
                self._asked[address] = self.spawn(self._ask(address))
        for address, one in [*self._known.items(), *self._left_out.items()]:
            if address not in threads:
                one.lost = True
                for serving in list(one.serving):
                    self.client.loop.add_callback(serving.cancel)
                taking_part = self._known.pop(address, None)
                self._left_out.pop(address, None)
                if taking_part and one.runs == 0:
                    lines.append(f"{one.name} has left")
        for address, asked in list(self._asked.items()):
            if address not in threads:
                del self._asked[address]
                asked.cancel()
        return lines

    async def _ask(self, address: str) -> tuple[Told, bool]:
        told: Told = await self.on(address, node.tell, self._needs, dict(self._plugins))
        return told, await _reaches(address)

    def _answered(
        self, address: str, asked: concurrent.futures.Future[tuple[Told, bool]]
    ) -> list[str]:
        netloc = urlsplit(address).netloc
        try:
            told, direct = asked.result()
        except (concurrent.futures.CancelledError, asyncio.CancelledError):
            return []  # asked again, if it is still there
        except ModuleNotFoundError as error:
            name = (error.name or "").partition(".")[0]
            why = f"its Python has no {name or 'profdiff'}: install profdiff[cluster] there"
        except ProfdiffError as error:
            why = str(error)
        except Exception as error:  # whatever another profdiff there raises
            why = short(f"{type(error).__name__}: {error}")
        else:
            one = Node(
                address,
                max(1, self._threads.get(address, 1)),
                told,
                direct,
                self._stores.setdefault(told.store, set()),
            )
            if told.refusal is None:
                self._known[address] = one
                return [f"{one.name} takes part, {_slots(one.slots)}"]
            return [self.refuse(one, told.refusal)]
        self._refused[address] = line = f"{netloc} is left out: {why}"
        return [line]


async def _reaches(address: str) -> bool:
    """Whether a connection can be opened from here."""
    place = urlsplit(address)
    try:
        opening = asyncio.open_connection(place.hostname, place.port)
        _, writer = await asyncio.wait_for(opening, _REACH_SECONDS)
    except (OSError, TimeoutError, ValueError):
        return False
    writer.close()
    return True


def _slots(count: int) -> str:
    return f"{units.counted(count, 'guest')} at a time"


def _address(client: Client) -> str:
    scheduler: Any = client.scheduler
    return str(getattr(scheduler, "address", "no address"))
