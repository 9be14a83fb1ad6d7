"""What is said of a kernel whose functions have no names: where it was, and what names them."""

from collections.abc import Sequence

import numpy as np

from profdiff.collectors.recorded import Recorded
from profdiff.session.manifest import Kernel
from profdiff.symbolization import debuginfod
from profdiff.symbolization.running_kernel import running_build_id

_TOLD = 5


def addresses(recorded: Recorded) -> str:
    """The addresses of the kernel with the most samples, in one clause; nothing if it has none."""
    places, count = recorded.places, recorded.count[:, 0]
    rows = np.flatnonzero(places.in_kernel & (count > 0))
    rows = rows[np.argsort(-count[rows], kind="stable")][:_TOLD]
    # With KASLR, addresses compare only by where the kernel's text is.
    mappings = places.kernel_mappings or ()
    text = next((one.offset for one in mappings if one.name.endswith("]_text")), 0)
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
    more = "" if debuginfod.servers() else ", or set DEBUGINFOD_URLS"
    running = running_build_id()
    if running and any(kernel.build_id == running for kernel in kernels):
        more += ", or become root, to whom the running kernel shows its symbols"
    labels = ", ".join(kernel.label for kernel in kernels)
    return f"{labels}: kernel functions have no names without symbols: give {asked}{more}"
