"""A thread by the Message-ID of one of its mails: b4, the kernel maintainers' own tool, fetches
it."""

import re
import subprocess
from pathlib import Path
from urllib.parse import unquote, urlsplit

from profdiff.base import processes
from profdiff.base.errors import InputError, MissingError
from profdiff.base.temporary import temporary_folder
from profdiff.mail.address import shown
from profdiff.mail.thread import Thread

_SECONDS = 120
_NAME = "thread"
# What b4 would take for an option has no way in.
_ID = re.compile(r"[A-Za-z0-9_.%+=!#$&'*/?^`{|}~][!-;=?A-~]{0,500}@[!-;=?-~]{1,500}")


def message_id(text: str) -> str | None:
    """The Message-ID in ``text``, without angle brackets: as it is, or in a URL of lore or another
    public-inbox; None where it holds none."""
    bare = text.strip()
    if re.match(r"https?://", bare):
        # https://lore.kernel.org/LIST/ID/ or .../ID/t.mbox.gz, ID as URLs write it.
        parts = [unquote(part) for part in urlsplit(bare).path.split("/")]
        bare = next((part for part in reversed(parts) if "@" in part), "")
    bare = bare.removeprefix("<").removesuffix(">")
    return bare if _ID.fullmatch(bare) else None


def fetch(wanted: str) -> Thread:
    """The thread of the mail with the id ``wanted``. Raises MissingError without b4, and InputError
    where it finds nothing or takes longer than two minutes."""
    with temporary_folder() as folder:
        command = ["b4", "--no-interactive", "mbox", "-o", str(folder), "-n", _NAME, wanted]
        try:
            result = processes.run(command, _SECONDS)
        except FileNotFoundError:
            raise MissingError(
                "b4 is not installed, which fetches a thread by its Message-ID (pip install b4); "
                f"without it: curl -LO 'https://lore.kernel.org/all/{wanted}/t.mbox.gz', then name "
                "t.mbox.gz"
            ) from None
        except subprocess.TimeoutExpired:
            raise InputError(f"{wanted}: b4 took longer than {_SECONDS} s") from None
        file = _written(folder)
        if result.returncode or file is None:
            said = result.stderr.strip().splitlines()
            why = f": {shown(said[-1])}" if said else ""
            raise InputError(f"{wanted}: b4 found no such thread{why}")
        return Thread.read(file, wanted)


def _written(folder: Path) -> Path | None:
    """The mbox: b4 adds an ending of its own."""
    found = sorted(entry for entry in folder.iterdir() if entry.name.startswith(_NAME))
    return found[0] if found and found[0].is_file() else None
