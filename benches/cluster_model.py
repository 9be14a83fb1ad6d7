"""What a cluster costs: measured with real schedulers and workers here, and computed from that for
many nodes.

    python benches/cluster_model.py [--tasks N] [--kernels K] [--cells C] [--nodes N] [--slots S]

Measured: what Dask's scheduler takes for each task that it knows, and tasks a second; what the
recorder does for each run (the round trip of a result, its files, the manifest of a session with K
kernels). Simulated from it, by events: K kernels × C cells on N nodes with S guests each, where a
node takes runs whose kernel it has. docs/clusters.md has the figures.
"""

import argparse
import asyncio
import contextlib
import hashlib
import heapq
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# A restored run (docs/restored-machines.md), a boot that is saved, on a processor with nothing else
# to do; what travels, from sessions of Debian's kernels: image, machine and its initramfs, what a
# run leaves of its own, and in all with linked facts once a kernel and session.
RUN_SECONDS, SAVE_SECONDS = 0.5, 8.0
IMAGE, MACHINE, DELIVERY, LEFT, FACTS = 9e6, 90e6, 1.5e6, 24e3, 0.9e6
# Of a node, and of the recorder.
NETWORK = 1e9 / 8
RECORDER_CPUS = 32


def rss(pid: int) -> int:
    """Bytes of memory that a process has."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) << 10
    raise ProcessLookupError(pid)


@contextlib.contextmanager
def cluster(workers: int, threads: int) -> Iterator[tuple[Any, int]]:
    """A client of a scheduler with workers of its own, and the scheduler's process."""
    from distributed import Client

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    address, processes = f"tcp://127.0.0.1:{port}", []

    def dask(name: str, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{name}", *words]
        processes.append(subprocess.Popen(command, stderr=subprocess.DEVNULL))
        return processes[-1]

    with tempfile.TemporaryDirectory() as folder:
        try:
            scheduler = dask(
                "scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"
            )
            for _ in range(workers):
                words = [address, "--host", "127.0.0.1", "--nthreads", str(threads), "--no-nanny"]
                dask("worker", *words, "--no-dashboard", "--local-directory", folder)
            with Client(address, set_as_default=False, timeout=60) as client:
                client.wait_for_workers(workers)
                yield client, scheduler.pid
        finally:
            for process in reversed(processes):
                process.kill()
                process.wait()


def answer(number: int, size: int) -> bytes:
    """A task of a worker: bytes that no compression shrinks."""
    del number
    return os.urandom(size)


def in_flight(client: Any, tasks: int, slots: int, size: int) -> float:
    """Seconds for ``tasks`` of which ``slots`` are known to the scheduler at a time, each on a
    worker that was chosen here and with its result brought here: what record does."""
    addresses = list(client.nthreads())

    async def one(number: int, room: asyncio.Semaphore) -> None:
        async with room:
            there = [addresses[number % len(addresses)]]
            future = client.submit(
                answer, number, size, workers=there, allow_other_workers=False, pure=False
            )
            await client.gather(future, asynchronous=True, direct=True)
            future.release()

    async def every() -> None:
        room = asyncio.Semaphore(slots)
        await asyncio.gather(*(one(number, room) for number in range(tasks)))

    start = time.perf_counter()
    asyncio.run_coroutine_threadsafe(every(), client.loop.asyncio_loop).result()
    return time.perf_counter() - start


def all_at_once(client: Any, pid: int, tasks: int) -> float:
    """Bytes of the scheduler's memory for each task that it knows and that has not begun."""
    addresses = list(client.nthreads())
    stop = client.map(time.sleep, [2.0] * 64, workers=addresses[:1], pure=False)
    before = rss(pid)
    futures = client.map(answer, range(tasks), size=1, workers=addresses[:1], pure=False)
    deadline, known = time.monotonic() + 120, 0
    while known < tasks and time.monotonic() < deadline:
        time.sleep(0.2)
        known = client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))
    grown = rss(pid) - before
    client.cancel([*futures, *stop])
    return grown / tasks


def recorder_seconds(kernels: int, cells: int) -> tuple[float, float, float, float]:
    """What the recorder does for a run besides Dask: seconds for its files, for the manifest of a
    session that is half full; bytes of a whole manifest, and of a suite without files of runs."""
    from profdiff.recording.cluster.errand import packed, unpack

    sys.path.insert(0, str(ROOT / "tests"))
    from synthetic_suite import large_suite

    from profdiff.session import manifest as m
    from profdiff.session.suite import Suite

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "left").mkdir()
        for number in range(8):
            (folder / "left" / f"file-{number}").write_bytes(os.urandom(int(LEFT / 8)))
        files = packed(folder / "left", without=set())
        start = time.perf_counter()
        for number in range(200):
            there = folder / f"run-{number}"
            there.mkdir()
            unpack(files, there)
        written = (time.perf_counter() - start) / 200
        # What a machine is given is read, put together and hashed for each run.
        (folder / "program").write_bytes(os.urandom(int(DELIVERY)))
        start = time.perf_counter()
        for _ in range(50):
            hashlib.sha256(b"".join([(folder / "program").read_bytes(), b"request"])).hexdigest()
        written += (time.perf_counter() - start) / 50
        large_suite(folder / "S", kernels, 1, cells)
        _, _, session = next(iter(Suite.open(folder / "S").recorded()))
        manifest = session.manifest
        half = m.replace(manifest, runs=manifest.runs[: len(manifest.runs) // 2])
        start = time.perf_counter()
        for _ in range(5):
            session.save(half)
        saved = (time.perf_counter() - start) / 5
        session.save(manifest)
        size = (session.folder / "manifest.json").stat().st_size
        whole = sum(path.stat().st_size for path in (folder / "S").rglob("*") if path.is_file())
    return written, saved, float(size), float(whole)


def simulate(
    kernels: int, cells: int, nodes: int, slots: int, each: float, saved: float
) -> dict[str, float]:
    """The recorder looks at all runs in turn: it enters those that ended, for ``each`` seconds one
    after the other, starts the next ones, and writes the manifest in ``saved`` seconds. Kernels
    come to nodes from the recorder once, then from another node."""
    left = [cells] * kernels
    holders: list[set[int]] = [set() for _ in range(kernels)]
    own: list[list[int]] = [[] for _ in range(nodes)]
    new, others = deque(range(kernels)), deque(range(kernels))
    in_free, stored, out_free, sent = [0.0] * nodes, [0.0] * nodes, 0.0, 0.0
    free = [(0.0, node) for node in range(nodes) for _ in range(slots)]
    clock, waiting = 0.0, kernels * cells
    while waiting:
        clock = max(clock, free[0][0])
        ended = []
        while free and free[0][0] <= clock:
            ended.append(heapq.heappop(free)[1])
        for node in ended[:waiting]:
            own[node] = [one for one in own[node] if left[one]]
            while not own[node] and not (new or left[others[0]]):
                others.popleft()
            kernel = own[node][0] if own[node] else new.popleft() if new else others[0]
            others.rotate(-1 if kernel == others[0] else 0)
            left[kernel] -= 1
            clock += each
            begin = clock
            if node not in holders[kernel]:
                begin = max(begin, in_free[node])
                if not holders[kernel]:
                    begin = out_free = max(begin, out_free) + (IMAGE + MACHINE) / NETWORK
                    sent += IMAGE + MACHINE
                else:
                    begin += (IMAGE + MACHINE) / NETWORK
                in_free[node] = begin
                holders[kernel].add(node)
                own[node].append(kernel)
                stored[node] += IMAGE + MACHINE
            heapq.heappush(free, (begin + RUN_SECONDS, node))
        waiting -= min(waiting, len(ended))
        clock += saved
    end = max(at for at, _ in free)
    return {
        "seconds": end,
        "used": kernels * cells * RUN_SECONDS / (end * nodes * slots),
        "sent": sent,
        "moved": sum(stored) - sent,
        "node": max(stored) + cells * DELIVERY,
    }


def main() -> None:
    """Measure, simulate, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=20_000)
    parser.add_argument("--kernels", type=int, default=1_000)
    parser.add_argument("--cells", type=int, default=150)
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--slots", type=int, default=8)
    asked = parser.parse_args()
    slots = asked.nodes * asked.slots
    with cluster(2, 8) as (client, pid):
        in_flight(client, 500, 100, 1)
        small = rss(pid)
        seconds = in_flight(client, asked.tasks, slots, int(LEFT))
        print(
            f"scheduler: {small / 1e6:.0f} MB; {(rss(pid)) / 1e6:.0f} MB after {asked.tasks:,} "
            f"tasks, {slots} at a time, {asked.tasks / seconds:,.0f} a second with results of "
            f"{LEFT / 1e3:.0f} kB"
        )
        trip = seconds / asked.tasks
        slope = all_at_once(client, pid, asked.tasks)
        runs = asked.kernels * asked.cells
        print(
            f"all at once: {slope / 1e3:.1f} kB a task ({asked.tasks:,} tasks), "
            f"{slope * runs / 1e6:,.0f} MB for {runs:,}"
        )
    # The suite has some 50 workloads of 3 points.
    written, saved, manifest, _ = recorder_seconds(asked.kernels, 3)
    print(
        f"recorder, a run: {1e3 * trip:.1f} ms of Dask, {1e3 * written:.1f} ms of files, "
        f"{1e3 * saved:.1f} ms of manifest ({manifest / 1e6:.1f} MB, {3 * asked.kernels:,} runs)"
    )
    disk = runs * LEFT + asked.kernels * FACTS + asked.cells / 3 * manifest
    print(f"suite: {disk / 1e9:.1f} GB in {asked.cells // 3} sessions")
    saving = asked.kernels * SAVE_SECONDS / RECORDER_CPUS
    print(f"saving {asked.kernels:,} machines on {RECORDER_CPUS} processors: {saving / 60:.0f} min")
    for shards in (1, 4, 16):
        found = simulate(
            asked.kernels // shards,
            asked.cells,
            asked.nodes // shards,
            asked.slots,
            trip + written,
            saved / shards,
        )
        print(
            f"{shards} recorders: {found['seconds'] / 60:.1f} min, slots used {found['used']:.0%}; "
            f"each sends {found['sent'] / 1e9:.1f} GB, its nodes {found['moved'] / 1e9:.1f} GB to "
            f"each other, a node keeps at most {found['node'] / 1e9:.1f} GB"
        )


if __name__ == "__main__":
    main()
