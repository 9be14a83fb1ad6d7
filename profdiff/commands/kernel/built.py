"""The table of ``profdiff kernel list``: kernels that profdiff built."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from profdiff.base.units import file_size

if TYPE_CHECKING:
    from profdiff.collectors.kernels.building.kept import KeptKernel

_HEAD = ("release", "compiler", "size", "used", "built from")


def table() -> list[str]:
    """Its lines; none where nothing was built."""
    from profdiff.collectors.kernels.building.kept import kept_kernels

    rows = [_row(one) for one in kept_kernels()]
    if not rows:
        return []
    rows.insert(0, _HEAD)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(f"{word:{width}}" for word, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _row(kernel: KeptKernel) -> tuple[str, ...]:
    about = kernel.about
    return (
        about.release or "?",
        short_compiler(about.source.compiler),
        file_size(kernel.size),
        age(kernel.days),
        about.spec,
    )


def short_compiler(version: str) -> str:
    """``gcc 12.2.0`` of the line that a compiler says of its version."""
    name = "clang" if "clang" in version else "gcc" if "gcc" in version.lower() else "compiler"
    numbers = re.findall(r"\d+(?:\.\d+)+", version)
    return f"{name} {numbers[-1] if name == 'gcc' and numbers else (numbers or ['?'])[0]}"


def age(days: float) -> str:
    """``3 days ago``, in the largest unit that has one."""
    for unit, length in (("day", 1.0), ("hour", 1 / 24), ("minute", 1 / 1440)):
        if days >= length:
            number = int(days / length)
            return f"{number} {unit}{'s' if number > 1 else ''} ago"
    return "now"
