"""``python -m profdiff.recording.cluster.worker``: a worker that a recorder started, here or over
ssh.

Its standard input has one line of JSON that says where the scheduler is and what lets it in; when
the input ends, the recorder is gone and so is the worker.
"""

import asyncio
import json
import os
import shutil
import sys
from typing import Any

_DEATH_SECONDS = 60
# Above any line of ours: three PEM files.
_MAX_LINE = 1 << 16


def main() -> None:
    """Serve until the recorder is gone."""
    told = json.loads(sys.stdin.readline(_MAX_LINE))
    try:
        asyncio.run(_serve(told))
    except (OSError, TimeoutError) as error:
        sys.exit(f"cannot join the recorder's scheduler: {error}")


async def _serve(told: dict[str, Any]) -> None:
    import dask
    from distributed import Worker
    from distributed.security import Security

    from profdiff.base.temporary import temporary_folder
    from profdiff.recording.cluster.connection import quiet

    quiet()
    host, scheduler = told["host"], told["scheduler"]
    # Over ssh: as the other side of the connection is called there.
    if connection := os.environ.get("SSH_CONNECTION", "").split():
        host, scheduler = connection[2], connection[0]
    slots = told["slots"] or len(os.sched_getaffinity(0))
    # A worker serves pages to whoever asks, whatever its dashboard is.
    dask.config.set({"distributed.worker.http.routes": []})
    with temporary_folder() as folder:
        worker = Worker(
            f"tls://{_bracketed(scheduler)}:{told['port']}",
            nthreads=slots,
            name=told["name"] or None,
            host=host,
            security=Security(require_encryption=True, **told["tls"]),
            # Guests are other processes.
            memory_limit=0,
            local_directory=str(folder),
            dashboard=False,
            death_timeout=_DEATH_SECONDS,
        )
        async with worker:
            ends = (worker.finished(), asyncio.to_thread(sys.stdin.read))
            waited = [asyncio.ensure_future(end) for end in ends]
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
            # Not when its guests end: they go with this process.
            shutil.rmtree(folder.parent, ignore_errors=True)
            os._exit(0)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


if __name__ == "__main__":
    main()
