"""Files on their way to nodes: each once to a store."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from profdiff.recording.cluster import node
from profdiff.recording.cluster.nodes import Node, NodeLostError, Nodes, unless_gone

if TYPE_CHECKING:
    from distributed import Future


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
