"""Files on their way to nodes: each once to a store, from the recorder or from another node."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

from profdiff.base.errors import InputError
from profdiff.recording.cluster import node
from profdiff.recording.cluster.nodes import Node, Nodes


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
        self._travelling: dict[tuple[str, str], asyncio.Task[None]] = {}
        self.sent = 0
        """How many files left the recorder."""

    def digest(self, path: Path) -> str:
        """A file's sha256, from which it is known afterwards. Raises OSError."""
        status = path.stat()
        mark = (status.st_ino, status.st_size, status.st_mtime_ns)
        known = self._known.get(path)
        if known is None or known[0] != mark:
            known = mark, digest_of(path)
            self._known[path] = known
            self._paths[known[1]] = path
        return known[1]

    def told(self, path: Path) -> str | None:
        """The same if it was asked for before."""
        known = self._known.get(path)
        return known[1] if known else None

    async def bring(self, digests: tuple[str, ...], to: Node) -> None:
        """Have files in the store of a node. Raises InputError, OSError, what Dask raises."""
        missing = [one for one in digests if one not in to.has]
        if missing:
            lacking = set(await self._nodes.on(to, node.lacking, missing))
            to.has.update(one for one in missing if one not in lacking)
        for digest in missing:
            if digest not in to.has:
                await self._once(digest, to)

    def forget(self, digests: tuple[str, ...], there: Node) -> None:
        """A node has said that one of them is not there after all."""
        there.has.difference_update(digests)

    async def _once(self, digest: str, to: Node) -> None:
        """Runs of one node that need the same file wait for the same journey."""
        key = (to.told.store, digest)
        task = self._travelling.get(key)
        if task is None:
            task = asyncio.ensure_future(self._send(digest, to))
            self._travelling[key] = task
            task.add_done_callback(lambda _: self._travelling.pop(key, None))
            to.serving.add(task)
            task.add_done_callback(to.serving.discard)
        # Who waits may be cancelled, the journey goes on for others.
        await asyncio.shield(task)

    async def _send(self, digest: str, to: Node) -> None:
        for holder in self._nodes.here:
            if digest in holder.has and holder is not to and not holder.lost:
                moving = asyncio.ensure_future(self._move(digest, holder, to))
                holder.serving.add(moving)
                try:
                    await moving
                    to.has.add(digest)
                    return
                except asyncio.CancelledError:
                    if to.lost or not holder.lost:
                        raise
                except (OSError, InputError):
                    holder.has.discard(digest)
                finally:
                    holder.serving.discard(moving)
        await self._from_here(digest, to)
        to.has.add(digest)

    async def _move(self, digest: str, holder: Node, to: Node) -> None:
        """From node to node: the bytes pass neither the recorder nor the scheduler."""
        client = self._nodes.client
        held = client.submit(
            node.read, digest, workers=[holder.address], allow_other_workers=False, pure=False
        )
        try:
            await self._nodes.on(to, node.keep, digest, held)
        finally:
            held.release()

    async def _from_here(self, digest: str, to: Node) -> None:
        path = self._paths[digest]
        data = await asyncio.get_running_loop().run_in_executor(None, path.read_bytes)
        self.sent += 1
        held = await self._nodes.client.scatter(
            [data], workers=[to.address], direct=to.direct, hash=False, asynchronous=True
        )
        try:
            await self._nodes.on(to, node.keep, digest, held[0])
        finally:
            held[0].release()
