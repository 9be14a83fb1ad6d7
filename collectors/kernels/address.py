"""Where a machine is that runs its kernel already: this one, or another over ssh."""

import re
from dataclasses import dataclass

from profdiff.base.errors import InputError

_SSH = re.compile(
    r"ssh://(?:([A-Za-z0-9_][A-Za-z0-9_.-]*)@)?([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::(\d{1,5}))?"
)
LOCAL = "running"


@dataclass(frozen=True)
class Address:
    """Where a machine is: ``host`` "" is this one."""

    host: str = ""
    user: str | None = None
    port: int | None = None

    def __str__(self) -> str:
        user = f"{self.user}@" if self.user else ""
        port = f":{self.port}" if self.port else ""
        return f"ssh://{user}{self.host}{port}" if self.host else LOCAL


def parse_address(spec: str) -> Address | None:
    """The machine that ``running`` or ``ssh://[user@]host[:port]`` names; None for other specs.

    Raises InputError for a malformed one.
    """
    if spec == LOCAL:
        return Address()
    if not spec.startswith("ssh:"):
        return None
    match = _SSH.fullmatch(spec.rstrip("/"))
    if not match or (match[3] and not 0 < int(match[3]) < 65536) or match[2].startswith("-"):
        raise InputError(f"{spec}: write ssh://[user@]host[:port]")
    return Address(match[2].strip("[]"), match[1], int(match[3]) if match[3] else None)
