"""Files by build id from debuginfod servers (debuginfod(8)): debug ELFs, programs and libraries.

Servers are asked only where ``DEBUGINFOD_URLS`` names them, with the limits of debuginfod's other
variables (debuginfod-find(1)). Files are kept where debuginfod's own client keeps them, so that
gdb, perf and profdiff fetch each once. What a server sends is a stranger's file: it is kept only if
it is an ELF file with the build id that was asked for.
"""

import os
import re
from functools import cache
from pathlib import Path
from typing import Literal

from profdiff.base.terminal import tell
from profdiff.symbolization.elf_file import has_build_id

Kind = Literal["debuginfo", "executable"]
# A server that failed is not asked again for the next of many files.
_failed: set[str] = set()


def servers() -> list[str]:
    """The servers that the user names, in their order."""
    words = os.environ.get("DEBUGINFOD_URLS", "").split()
    # Newer clients take what to do about signatures among them.
    return [word.rstrip("/") for word in words if not word.startswith("ima:")]


def cache_root() -> Path:
    """Where debuginfod's client keeps its files."""
    if own := os.environ.get("DEBUGINFOD_CACHE_PATH"):
        return Path(own)
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "debuginfod_client"


@cache
def find(build_id: str, kind: Kind, name: str) -> Path | None:
    """The file with that build id: kept, or fetched now; None where no server has it. ``name``:
    what it is, for messages. A server that fails is told of, and nothing is raised."""
    if not re.fullmatch(r"[0-9a-f]{8,128}", build_id):
        return None
    path = cache_root() / build_id / kind
    if has_build_id(path, build_id):
        return path
    for server in servers():
        if server in _failed:
            continue
        # Few need it, and it loads rich.
        from profdiff.symbolization import debuginfod_fetch

        try:
            if debuginfod_fetch.fetch(server, build_id, path, name):
                return path
        except debuginfod_fetch.FetchError as error:
            _failed.add(server)
            tell(f"debuginfod: {error}")
    return None
