"""What another person needs to see the same: the workload's source, where it is short, and the
kernels."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from profdiff.base import bounded
from profdiff.base.errors import InputError, SessionError
from profdiff.evidence.findings import Findings
from profdiff.mail.measured import is_local
from profdiff.session.kernel_config import MAX_SIZE, unpacked
from profdiff.session.manifest import Kernel
from profdiff.session.session import Session

MAX_LINES = 120
_MAX_SIZE = 16 * 1024


@dataclass(frozen=True)
class Reproducer:
    """``text``: the source, None if it is longer than MAX_LINES or 16 KiB."""

    name: str
    text: str | None

    @staticmethod
    def read(path: Path) -> "Reproducer":
        """The source in a file. Raises InputError when it cannot be read or is not text."""
        try:
            with path.open("rb") as file:
                data = file.read(_MAX_SIZE + 1)
        except OSError as error:
            raise InputError(f"--reproducer {path}: {error.strerror}") from error
        if b"\0" in data:
            raise InputError(f"--reproducer {path} is a binary: name its source")
        text = data.decode(errors="replace")
        short = len(data) <= _MAX_SIZE and len(text.splitlines()) <= MAX_LINES
        return Reproducer(path.name, text if short else None)

    @staticmethod
    def of(session: Session) -> "Reproducer | None":
        """The source that the session keeps: a script, or what was compiled; None if it keeps
        neither. A name in a manifest is not looked up outside the session: who made the manifest
        may be a stranger, who would like to read that file in a mail."""
        workload = session.manifest.workload
        kept = workload.source
        if workload.kind == "script" and workload.files:
            kept = workload.files[0].path
        try:
            path = session.path(kept) if kept else None
            found = Reproducer.read(path) if path else None
        except (InputError, SessionError):
            return None
        name = Path(workload.argv[0]).name if workload.argv else ""
        return Reproducer(name, found.text) if found else None


_MAX_KERNELS = 8
_DIGITS = 12


def kernel_lines(findings: Findings) -> list[str]:
    """How to get the kernels that the command alone does not tell: local ones, what a Debian suite
    had, and configs that are files. None of imported recordings."""
    if findings.manifest.workload.kind == "imported":
        return []
    lines = [line for kernel in findings.manifest.compared for line in _kernel(findings, kernel)]
    more = len(lines) - _MAX_KERNELS
    lines = [*lines[:_MAX_KERNELS], *([f"and {more:,} more kernels"] if more > 0 else [])]
    if any(is_local(kernel) for kernel in findings.manifest.compared):
        lines.append("Local kernels are on my machine: put your own builds in their place.")
    return lines


def _kernel(findings: Findings, kernel: Kernel) -> Iterator[str]:
    config = _config(findings, kernel)
    release = f"Linux {kernel.release}" if kernel.release else "Linux, release unknown"
    if is_local(kernel):
        # The command has its release.
        build_id = f"build id {kernel.build_id[:_DIGITS]}" if kernel.build_id else ""
        yield f"{kernel.label}: {', '.join(filter(None, ['local', build_id, config]))}"
    elif kernel.spec.startswith("debian:"):
        yield f"{kernel.label}: {kernel.spec} was {release}"
    elif kernel.source and kernel.source.config and config:
        yield f"{kernel.label}: {config}"


def _config(findings: Findings, kernel: Kernel) -> str:
    """Its hash; "" where it is not known."""
    if findings.session is None or kernel.config is None:
        return ""
    try:
        data = unpacked(bounded.read(findings.session.path(kernel.config), MAX_SIZE))
    except (OSError, ValueError, SessionError):
        return ""
    return f"config sha256 {hashlib.sha256(data).hexdigest()[:_DIGITS]}"
