"""What the tests of building share: a repository of small trees, and builds of it."""

from pathlib import Path

import small_linux
from made_repository import Made, MadeRepository, make

from profdiff.collectors.kernels.build import build
from profdiff.collectors.kernels.building.job import BuildJob
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.kernels.git_spec import GitSpec

FAST = {"mm__mprotect_dot_c": small_linux.MPROTECT.replace("return PAGES", "return 2 * PAGES")}
OTHER = {"mm__mmap_dot_c": '#include "small.h"\nint mmap_region(void) { return PAGES; }\n'}


def history(folder: Path) -> MadeRepository:
    """``base``, ``other`` (one more file), ``fast`` (mprotect.c differs), ``broken``."""
    return make(
        folder,
        {
            "base": Made(small_linux.tree(), subject="mm: begin"),
            "other": Made(small_linux.tree(**OTHER), ["base"], "mm: add mmap"),
            "fast": Made(small_linux.tree(**OTHER, **FAST), ["other"], "mm: make it fast"),
            "broken": Made(small_linux.tree("broken"), ["fast"], "mm: break it"),
        },
    )


def built(repository: MadeRepository, rest: str) -> KernelFiles:
    """The kernel of ``git:REPOSITORY`` and ``rest``."""
    return build(BuildJob.of(GitSpec.parse(f"git:{repository.folder}{rest}")), "k", quiet=True)


def compiled(kernel: KernelFiles) -> list[str]:
    """The object files that were compiled for it."""
    assert kernel.image
    log = (kernel.image.parent / "build.log").read_text()
    return sorted(line.split()[1] for line in log.splitlines() if line.startswith("  CC "))


def content(kernel: KernelFiles) -> bytes:
    """Of the image, which for these trees is what was linked."""
    assert kernel.image
    return kernel.image.read_bytes()
