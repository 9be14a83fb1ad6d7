"""What is given in the place of a recording that is a file."""

import os
import shlex
from contextlib import suppress
from pathlib import Path

from profdiff.base import bounded
from profdiff.base.errors import InputError
from profdiff.base.names import meant_file
from profdiff.session.held import TITLES, held

_OTHERS = ("an ELF file", "a kernel's image", "a package or an archive", "an archive for an initrd")


def refuse(path: Path) -> None:
    """Raise InputError for a ``path`` that shows at once that it is not a recording."""
    what = bounded.file_kind(path)
    if has := held(path):
        raise InputError(
            f"{path} is {TITLES[has]}, not a file of perf's: profdiff report "
            f"{shlex.quote(str(path))} compares the kernels that it holds; to compare others with "
            "them, record all into one session"
        )
    if what == "a folder":
        # tools/perf/util/data.c: what it writes for --threads.
        if (path / "data").is_file():
            raise InputError(
                f"{path} is a folder that perf record --threads made, which is not read: record "
                "without it"
            )
        raise InputError(f"{path} is a folder: name a file that perf record or perf script wrote")
    if what in _OTHERS:
        vmlinux = ", and an ELF file with --vmlinux" if what == "an ELF file" else ""
        raise InputError(
            f"{path} is {what}, not a recording: name a file that perf record or perf script "
            f"wrote{vmlinux}"
        )
    if not what and not os.path.lexists(path):
        meant = ""
        with suppress(OSError):
            meant = meant_file(path)
        raise InputError(f"{path}: there is no such file" + (f": {meant}" if meant else ""))


def refuse_kallsyms(path: Path, data: bytes) -> None:
    """Raise InputError where ``data`` of ``path`` is not what /proc/kallsyms has."""
    words = data[:1_000].split(b"\n", 1)[0].split()
    if len(words) < 3 or len(words[0]) < 8 or not words[0].isalnum() or len(words[1]) != 1:
        raise InputError(
            f"--kallsyms {path}: that is {bounded.file_kind(path) or 'something else'}, not a copy "
            "of /proc/kallsyms: on the recorded machine, sudo cat /proc/kallsyms > FILE"
        )
