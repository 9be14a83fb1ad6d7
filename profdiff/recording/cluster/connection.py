"""The way to a scheduler: one that a user started, or one of this process with its workers."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import IO, TYPE_CHECKING, Any

from profdiff.base.errors import InputError, MissingError
from profdiff.collectors.machine.run import connection_message, ssh_command
from profdiff.collectors.messages import last_line
from profdiff.recording.cluster.address import Where
from profdiff.recording.cluster.quiet import quiet

if TYPE_CHECKING:
    from distributed import Client

    from profdiff.collectors.kernels.address import Address

_TIMEOUT_SECONDS = 20
# What a dashboard serves. Dask's proxy is none of it: it fetches pages from any port of the hosts
# on which workers are.
_PAGES = ("distributed.http.scheduler.info", "distributed.http.statics")
_MODULE = "profdiff.recording.cluster.worker"
PYTHON = "PROFDIFF_CLUSTER_PYTHON"
"""The variable that names the Python of nodes which ssh reaches."""


@dataclass
class Connection:
    """``client`` of a scheduler; ``dashboard``: its page, "" without one; ``workers`` that were
    started for it."""

    client: Client
    dashboard: str
    workers: list[Started] = field(default_factory=list)


@dataclass
class Started:
    """A worker's process, here or ssh's; ``where`` it runs."""

    process: subprocess.Popen[bytes]
    where: Address | None
    errors: IO[bytes]

    def problem(self) -> str | None:
        """Why it has ended; None while it runs."""
        if self.process.poll() is None:
            return None
        self.errors.seek(0)
        said = self.errors.read(1 << 16)
        lines = [line for line in said.decode(errors="replace").splitlines() if line.strip()]
        if self.where is None:
            return f"a worker has ended ({last_line(said) or self.process.returncode})"
        if self.process.returncode == 255:
            return connection_message(self.where, lines)
        return (
            f"the worker on {self.where} has ended ({last_line(said) or self.process.returncode}): "
            f"profdiff[cluster] must be there; {PYTHON} names its Python"
        )


@contextlib.contextmanager
def connected(where: Where) -> Iterator[Connection]:
    """Yield the connection. Raises InputError when nobody answers, MissingError without Dask."""
    lacking = [name for name in ("distributed", "cryptography") if find_spec(name) is None]
    if "distributed" in lacking or (lacking and not where.scheduler):
        raise MissingError(
            f"--cluster needs {lacking[0]}: install it with pip install 'profdiff[cluster]'"
        )
    quiet()
    if where.scheduler:
        with _client(where.scheduler) as client:
            served = "dashboard" in client.scheduler_info().get("services", {})
            yield Connection(client, client.dashboard_link if served else "")
        return
    with _own(where) as connection:
        yield connection


@contextlib.contextmanager
def _client(told: str) -> Iterator[Client]:
    from distributed import Client

    try:
        client = Client(
            told,
            timeout=_TIMEOUT_SECONDS,
            set_as_default=False,
            name="profdiff",
        )
    # TypeError: tls:// without a configuration of TLS.
    except (OSError, TimeoutError, ValueError, RuntimeError, TypeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"--cluster {told}: no scheduler answers there ({reason}): start one (dask scheduler), "
            "or see docs/clusters.md for TLS"
        ) from error
    try:
        yield client
    finally:
        _close(client)


@contextlib.contextmanager
def _own(where: Where) -> Iterator[Connection]:
    import dask
    from distributed import Client, LocalCluster
    from distributed.security import Security

    # Whoever reaches a scheduler makes it run code: only who has this key does.
    security = Security.temporary()
    listens = "0.0.0.0" if where.hosts else "127.0.0.1"  # noqa: S104
    with contextlib.ExitStack() as stack:
        # The port is there in any case (Dask's Node.start_http_server), and answers every user of
        # this machine.
        served = _PAGES if where.dashboard else []
        with dask.config.set({"distributed.scheduler.http.routes": list(served)}):
            cluster = LocalCluster(
                n_workers=0,
                host=listens,
                protocol="tls",
                security=security,
                dashboard_address="127.0.0.1:0",
                scheduler_kwargs={"dashboard": where.dashboard and _charts()},
                silence_logs=100,
            )
        stack.callback(_close, cluster)
        client = Client(cluster, timeout=_TIMEOUT_SECONDS, set_as_default=False, name="profdiff")
        stack.callback(_close, client)
        port = int(cluster.scheduler_address.rpartition(":")[2])
        told = {"host": "127.0.0.1", "scheduler": "127.0.0.1", "port": port, "tls": _keys(security)}
        connection = Connection(client, _page(client) if where.dashboard else "")
        stack.callback(_end, connection.workers)
        for number in range(where.local):
            line = {**told, "slots": 1, "name": f"local-{number + 1}"}
            connection.workers.append(_start(None, line))
        for host in where.hosts:
            connection.workers.append(_start(host, {**told, "slots": 0, "name": ""}))
        yield connection


def _charts() -> bool:
    """Whether Dask's page has charts."""
    return find_spec("bokeh") is not None


def _page(client: Client) -> str:
    """The address of the dashboard: the list of workers where there are no charts."""
    page: str = client.dashboard_link
    return page if _charts() else f"{page.removesuffix('/status')}/info/main/workers.html"


def _keys(security: Any) -> dict[str, str]:
    """What lets a worker in."""
    return {
        "tls_ca_file": security.tls_ca_file,
        "tls_worker_cert": security.tls_worker_cert,
        "tls_worker_key": security.tls_worker_key,
    }


def _start(host: Address | None, told: dict[str, Any]) -> Started:
    errors = tempfile.TemporaryFile()  # noqa: SIM115
    if host is None:
        setpriv = shutil.which("setpriv")
        command: Sequence[str] = [
            *([setpriv, "--pdeathsig", "KILL"] if setpriv else []),
            *(sys.executable, "-m", _MODULE),
        ]
    else:
        python = os.environ.get(PYTHON) or sys.executable
        command = [*ssh_command(host), shlex.join(["exec", python, "-m", _MODULE])]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=errors,
        # What interrupts the recorder must not interrupt its guests first.
        start_new_session=True,
    )
    assert process.stdin is not None  # noqa: S101
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(json.dumps(told).encode() + b"\n")
        process.stdin.flush()
    return Started(process, host, errors)


def _end(workers: Sequence[Started]) -> None:
    for one in workers:
        if one.process.stdin:
            with contextlib.suppress(BrokenPipeError):
                one.process.stdin.close()
    for one in workers:
        try:
            one.process.wait(10)
        except subprocess.TimeoutExpired:
            one.process.kill()
            one.process.wait()
        one.errors.close()


def _close(what: Any) -> None:
    # A scheduler that is gone cannot be told.
    with contextlib.suppress(Exception):
        what.close(timeout=5)
