"""What building a kernel from a git repository costs, and whether it comes out the same.

    python benches/kernel_build.py REPO REV CHANGED [--keep FOLDER] [--options ,cc=clang-18]

Builds REV of REPO in an empty cache without ccache; then CHANGED, which differs in little; then REV
again, which is in the cache; then REV once more, out of the object files of CHANGED. Elapsed and
processor time of each, and make's steps. Takes ten minutes or more on two cores, and 5 GB;
``--keep`` uses a folder that stays, and builds only what it does not hold. Exits with 1 where the
second build of REV is not the first one byte for byte, or what is in the cache takes more than a
second of processor time.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from profdiff.collectors.kernels.build import build
from profdiff.collectors.kernels.building.job import BuildJob
from profdiff.collectors.kernels.building.kept import kept_kernels
from profdiff.collectors.kernels.building.slots import remove_unused
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.kernels.git_spec import GitSpec

LIMIT = 1.0
_COMPARED = ("bzImage", "Image", "vmlinux", "vmlinux.zst", "config")


def measured(what: str, work: Callable[[], KernelFiles]) -> tuple[KernelFiles, float]:
    """What ``work`` gives, told with its times; and its processor time."""
    before, start = os.times(), time.monotonic()
    kernel = work()
    elapsed, after = time.monotonic() - start, os.times()
    spent = sum(after[:4]) - sum(before[:4])
    assert kernel.image
    kept = next(one for one in kept_kernels() if one.folder == kernel.image.parent)
    print(
        f"{what:34} {elapsed:8.1f} s  {spent:8.1f} s of processor time  "
        f"{kept.about.steps:6,} steps when it was built"
    )
    return kernel, spent


def run(repository: str, first: str, changed: str, options: str) -> bool:
    """Whether all limits hold."""

    def of(revision: str) -> Callable[[], KernelFiles]:
        spec = GitSpec.parse(f"git:{repository}@{revision}{options}")
        return lambda: build(BuildJob.of(spec), revision, quiet=True)

    kernel, _ = measured(f"{first}, cold", of(first))
    measured(f"{changed}, incremental", of(changed))
    _, spent = measured(f"{first}, in the cache", of(first))
    assert kernel.image
    folder = kernel.image.parent
    aside = folder.with_name(f"{folder.name}.first")
    folder.rename(aside)
    measured(f"{first}, incremental, once more", of(first))
    names = [name for name in _COMPARED if (aside / name).is_file()]
    differ = [name for name in names if (aside / name).read_bytes() != (folder / name).read_bytes()]
    print(f"the same byte for byte: {', '.join(sorted(set(names) - set(differ))) or 'nothing'}")
    for name in differ:
        print(f"MISSED: {name} differs")
    if spent > LIMIT:
        print(f"MISSED: what is in the cache takes {spent:.1f} s (limit {LIMIT} s)")
    return not differ and spent <= LIMIT


def main() -> None:
    """Build in a cache of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repository")
    parser.add_argument("first")
    parser.add_argument("changed")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--options", default="")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kernel-build-") as temporary:
        os.environ["PROFDIFF_CACHE"] = str((given.keep or Path(temporary)).absolute())
        os.environ["CCACHE_DISABLE"] = "1"
        try:
            good = run(given.repository, given.first, given.changed, given.options)
        finally:
            if not given.keep:
                remove_unused(0, ())
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
