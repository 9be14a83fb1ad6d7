"""The way to a scheduler that ``--cluster`` names: one that a user started, or one of this process
with its workers."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from profdiff.base.bounded import read
from profdiff.base.errors import InputError, MissingError
from profdiff.base.terminal import last_line
from profdiff.collectors.kernels.address import Address, parse_address
from profdiff.collectors.machine.run import connection_message, ssh_command


def quiet() -> None:
    """Keep Dask from writing to standard error."""
    import distributed  # noqa: F401  # sets levels when it is loaded

    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado", "bokeh", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


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
        why = last_line(said) or self.process.returncode
        if self.where is None:
            return f"a worker has ended ({why})"
        if self.process.returncode == 255:
            lines = [line for line in said.decode(errors="replace").splitlines() if line.strip()]
            return connection_message(self.where, lines)
        return (
            f"the worker on {self.where} has ended ({why}): profdiff[cluster] must be there; "
            f"{PYTHON} names its Python"
        )

    def end(self) -> None:
        """Wait until it has ended, since its input has."""
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.errors.close()


@dataclass
class Connection:
    """``client`` of a scheduler; ``dashboard``: its page, "" without one; ``workers`` that were
    started for it."""

    client: Client
    dashboard: str
    workers: list[Started] = field(default_factory=list)


@contextlib.contextmanager
def connected(where: Where) -> Iterator[Connection]:
    """Yield the connection. Raises InputError when nobody answers, MissingError without Dask."""
    lacking = [name for name in ("distributed", "cryptography") if find_spec(name) is None]
    if "distributed" in lacking or (lacking and not where.scheduler):
        raise MissingError(
            f"--cluster needs {lacking[0]}: install it with pip install 'profdiff[cluster]'"
        )
    quiet()
    with contextlib.ExitStack() as stack:
        yield _own(where, stack) if where.local or where.hosts else _theirs(where.scheduler, stack)


def _theirs(told: str, stack: contextlib.ExitStack) -> Connection:
    try:
        client = _client(told, stack)
    # TypeError: tls:// without a configuration of TLS.
    except (OSError, TimeoutError, ValueError, RuntimeError, TypeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"--cluster {told}: no scheduler answers there ({reason}): start one (dask scheduler), "
            "or see docs/clusters.md for TLS"
        ) from error
    served = "dashboard" in client.scheduler_info().get("services", {})
    return Connection(client, client.dashboard_link if served else "")


def _client(of: Any, stack: contextlib.ExitStack, *, direct: bool = False) -> Client:
    """``direct``: it reaches the workers, and their results need not pass the scheduler."""
    from distributed import Client

    client = Client(
        of,
        timeout=_TIMEOUT_SECONDS,
        set_as_default=False,
        name="profdiff",
        direct_to_workers=direct,
    )
    stack.callback(_close, client, timeout=5)
    return client


def _own(where: Where, stack: contextlib.ExitStack) -> Connection:
    import dask
    from distributed import LocalCluster
    from distributed.security import Security

    # Whoever reaches a scheduler makes it run code: only who has this key does.
    security: Any = Security.temporary()
    charts = where.dashboard and find_spec("bokeh") is not None
    # The port is there in any case (Dask's Node.start_http_server), and answers every user of this
    # machine.
    served = list(_PAGES) if where.dashboard else []
    with dask.config.set({"distributed.scheduler.http.routes": served}):
        cluster = LocalCluster(
            n_workers=0,
            host="0.0.0.0" if where.hosts else "127.0.0.1",  # noqa: S104
            protocol="tls",
            security=security,
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": charts},
            silence_logs=100,
        )
    stack.callback(_close, cluster, timeout=5)
    client = _client(cluster, stack, direct=True)
    page = client.dashboard_link if where.dashboard else ""
    if not charts:
        page = page.replace("/status", "/info/main/workers.html")
    told = {
        "host": "127.0.0.1",
        "scheduler": "127.0.0.1",
        "port": int(cluster.scheduler_address.rpartition(":")[2]),
        "tls": {
            name: getattr(security, name)
            for name in ("tls_ca_file", "tls_worker_cert", "tls_worker_key")
        },
    }
    names = [f"local-{number + 1}" for number in range(where.local)]
    started = [_start(None, {**told, "slots": 1, "name": name}) for name in names]
    started += [_start(host, {**told, "slots": 0, "name": ""}) for host in where.hosts]
    for one in started:
        stack.callback(one.end)
    for one in started:
        stack.callback(_close, one.process.stdin)
    return Connection(client, page, started)


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


def _close(what: Any, **named: int) -> None:
    # What is gone cannot be told.
    with contextlib.suppress(Exception):
        what.close(**named)


_MOST_LOCAL = 1024
# Behind local:N and ssh:HOSTS. No host has a + in its name.
_DASHBOARD = "+dashboard"
# The largest file in which a scheduler says what it is.
_MOST_BYTES = 1 << 20
_ADDRESS = re.compile(r"((tcp|tls|ws|wss|ucx)://)?[\w.\[\]:%-]+:\d{1,5}/?", re.ASCII)


@dataclass(frozen=True)
class Where:
    """``scheduler``: its address; else the number of ``local`` workers, or the ``hosts`` on which
    ssh starts one each. ``dashboard``: whether the scheduler that is started serves its page."""

    scheduler: str = ""
    local: int = 0
    hosts: tuple[Address, ...] = ()
    dashboard: bool = False

    @staticmethod
    def parse(text: str) -> Where:
        """Raises InputError."""
        kind, _, rest = text.partition(":")
        named = rest.removesuffix(_DASHBOARD)
        dashboard, rest = named != rest, named
        if kind == "local":
            if not rest.isdecimal() or not 0 < int(rest[:6]) <= _MOST_LOCAL:
                raise InputError(
                    f"--cluster {text}: write local: and a number of workers up to {_MOST_LOCAL:,}"
                )
            return Where(local=int(rest), dashboard=dashboard)
        if kind == "ssh" and not rest.startswith("//"):
            hosts = tuple(_host(text, word) for word in rest.split(","))
            return Where(hosts=hosts, dashboard=dashboard)
        address = _from_file(text) if text.endswith(".json") else text
        if not _ADDRESS.fullmatch(address):
            raise InputError(
                f"--cluster {text!r} is none of a scheduler's address (tls://HOST:8786), its file "
                "(FILE.json), local:N and ssh:HOST,HOST"
            )
        return Where(scheduler=address.rstrip("/"))


def _from_file(text: str) -> str:
    """The address that a scheduler wrote into a file. Raises InputError."""
    try:
        told = json.loads(read(Path(text), _MOST_BYTES))
        address = told["address"]
    except OSError as error:
        raise InputError(f"--cluster {text}: {error.strerror}") from error
    except (ValueError, LookupError, TypeError, RecursionError):
        address = None
    if not isinstance(address, str):
        raise InputError(f"--cluster {text}: it is not a file that dask scheduler wrote")
    return address


def _host(text: str, one: str) -> Address:
    address = parse_address(f"ssh://{one}") if one else None
    if address is None or not address.host:
        raise InputError(f"--cluster {text}: write ssh: and hosts, separated by commas")
    return address
