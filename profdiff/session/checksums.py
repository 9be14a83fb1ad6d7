"""Whether the files of a session are as they were written, by the length and checksum that the
manifest has of each. A session that another program wrote may have none."""

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from pathlib import Path

from msgspec.structs import replace

from profdiff.collectors.records import DAMAGED, Failure
from profdiff.session.held import MANIFEST
from profdiff.session.manifest import Checksum, Manifest, Run
from profdiff.symbolization._native import checksum, file_checksums

# What a run says of trouble and of its machine. Other files have its numbers, or a kernel without
# them differs from one with them: ``observed`` has the system calls.
_ASIDE = re.compile(
    r"stdout|stderr|status|console|qemu-stderr|dmesg|version|cmdline|notes|config|attempt"
    r"|(untraced-)?usage|vmstat-(before|after)|perf-version|(perf|tracefs)-refusal(\.\d)?"
    r"|probe-errors"
)
# From this length on, a file has at least this part of it on the disk, however that packs it.
_LARGE, _MOST_PACKED = 1 << 24, 1000
# How the file of a manifest ends.
_END = b' "checksum": %s\n}\n'
_UNSIGNED = _END % b"null"


def signed(data: bytes) -> bytes:
    """The file of a manifest that has no checksum of its own, with it."""
    if not data.endswith(_UNSIGNED):
        raise ValueError("not the file of a manifest")
    return data.removesuffix(_UNSIGNED) + _END % f'"{checksum(data)}"'.encode()


def is_whole(data: bytes, told: str | None) -> bool:
    """Whether the file of a manifest is as it was written, which says that its checksum is
    ``told``. One that says nothing is, and one that does not end as ours do: another program wrote
    it, on purpose."""
    end = _END % f'"{told}"'.encode()
    return not data.endswith(end) or checksum(data.removesuffix(end) + _UNSIGNED) == told


def referenced(manifest: Manifest) -> set[str]:
    """The files that a manifest names, by their paths in the session."""
    every: Iterator[str | None] = chain(
        (path for run in manifest.runs for path in run.files.values()),
        (path for kernel in manifest.kernels for path in (kernel.config, kernel.symbols)),
        (path for kernel in manifest.kernels for path in (kernel.code, kernel.accesses)),
        (file.path for file in manifest.workload.files),
        (file.path for kernel in manifest.kernels for file in kernel.files),
        (manifest.workload.source, manifest.functions, manifest.events),
    )
    # What is written after them all is none of them.
    return {path for path in every if path is not None} - {MANIFEST}


def checksums(folder: Path, files: Collection[str]) -> dict[str, Checksum]:
    """Those of files in a session's folder that are there."""
    wanted = sorted(files)
    found = file_checksums(str(folder), [(name, None) for name in wanted]) if wanted else []
    return {
        name: Checksum(length, blake3)
        for name, (length, blake3, problem) in zip(wanted, found, strict=True)
        if problem is None
    }


def damage(folder: Path, files: Mapping[str, Checksum]) -> dict[str, str]:
    """By path, a clause of what is wrong with files that are not as they were written."""
    holes = {name for name, file in files.items() if _is_hole(folder / name, file.length)}
    wanted = [(name, file) for name, file in files.items() if name not in holes]
    asked: list[tuple[str, int | None]] = [(name, one.length) for name, one in wanted]
    found = file_checksums(str(folder), asked) if asked else []
    told = dict.fromkeys(holes, "is damaged: its disk space is far below its length")
    for (name, one), (length, blake3, problem) in zip(wanted, found, strict=True):
        if problem is not None:
            told[name] = f"is damaged: {problem}"
        elif length != one.length:
            told[name] = f"is damaged: it has {length:,} bytes, not {one.length:,} as written"
        elif blake3 != one.blake3:
            told[name] = "is damaged: its content is not what was written"
    return told


def _is_hole(path: Path, length: int) -> bool:
    """Whether a file would take longer to read than whoever made it took to send it."""
    if length < _LARGE:
        return False
    try:
        return path.stat().st_blocks * 512 * _MOST_PACKED < length
    except OSError:
        return False


def other_lengths(folder: Path, files: Mapping[str, Checksum]) -> dict[str, Checksum]:
    """Those of some files that have another length than was written, or none."""
    return {name: file for name, file in files.items() if _length(folder, name) != file.length}


def _length(folder: Path, name: str) -> int | None:
    try:
        return (folder / name).stat().st_size
    except OSError:
        return None


def of_results(manifest: Manifest) -> set[str]:
    """The files of runs that have a result."""
    return {path for run in manifest.runs if not run.failure for path in run.files.values()}


def without(manifest: Manifest, damaged: Mapping[str, str]) -> Manifest:
    """The manifest without damaged files of runs, nor the result of each run whose recording is one
    of them."""
    if not damaged:
        return manifest
    return replace(manifest, runs=[_without(run, damaged) for run in manifest.runs])


def _without(run: Run, damaged: Mapping[str, str]) -> Run:
    bad = {what: path for what, path in run.files.items() if path in damaged}
    if not bad:
        return run
    left = {what: path for what, path in run.files.items() if what not in bad}
    first = next((path for what, path in bad.items() if not _ASIDE.fullmatch(what)), None)
    if first is None or run.failure:
        return replace(run, files=left)
    return replace(run, files=left, failure=Failure(DAMAGED, f"{first} {damaged[first]}"))
