"""What ``--cluster`` names: a scheduler, or one that is started for this recording."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from profdiff.base.bounded import read
from profdiff.base.errors import InputError
from profdiff.collectors.kernels.address import Address, parse_address

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
    def parse(text: str) -> "Where":
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
            hosts = tuple(_host(text, one) for one in rest.split(","))
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
