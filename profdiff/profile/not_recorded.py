"""What an import says of files that hold no recording, and of a kernel without names."""

import os
import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from profdiff.base import bounded
from profdiff.base.errors import InputError
from profdiff.base.names import meant_file
from profdiff.collectors.recorded import Recorded
from profdiff.session.held import TITLES, held
from profdiff.session.manifest import Kernel
from profdiff.symbolization import debug_files
from profdiff.symbolization.running_kernel import running_build_id

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


_TOLD = 5


def addresses(recorded: Recorded) -> str:
    """The addresses of the kernel with the most samples, in one clause; nothing if it has none."""
    places, count = recorded.places, recorded.count[:, 0]
    rows = np.flatnonzero(places.in_kernel & (count > 0))
    rows = rows[np.argsort(-count[rows], kind="stable")][:_TOLD]
    # With KASLR, addresses compare only by where the kernel's text is.
    mappings = places.kernel_mappings or ()
    text = next((mapping.offset for mapping in mappings if mapping.name.endswith("]_text")), 0)
    told = []
    for row in rows.tolist():
        address = int(places.address[row])
        name = f"_text+{address - text:#x}" if 0 < text <= address else f"{address:#x}"
        told.append(f"{name} ({100 * count[row] / count.sum():.1f}%)")
    if not told:
        return ""
    return f"its kernel's functions have no names; it was most often at {', '.join(told)}"


def wanted(kernels: Sequence[Kernel]) -> str:
    """What to give so that the functions of ``kernels`` have names: one line, or nothing."""
    if not kernels:
        return ""
    asked = ", ".join(
        f"--vmlinux {kernel.label}=ELF (build id {kernel.build_id or 'unknown'})"
        for kernel in kernels
    )
    more = "" if debug_files.servers() else ", or set DEBUGINFOD_URLS"
    running = running_build_id()
    if running and any(kernel.build_id == running for kernel in kernels):
        more += ", or become root, to whom the running kernel shows its symbols"
    labels = ", ".join(kernel.label for kernel in kernels)
    return f"{labels}: kernel functions have no names without symbols: give {asked}{more}"
