"""What was built and is not in use any more: kernels, and worktrees with their object files."""

import contextlib
import os
import shutil
import time
from collections.abc import Collection, Iterator
from pathlib import Path

from profdiff.base.cache import cache_folder
from profdiff.base.errors import ProfdiffError
from profdiff.base.git import Git
from profdiff.collectors.kernels.building.job import BuildJob
from profdiff.collectors.kernels.building.kept import kept_kernels, remove
from profdiff.collectors.kernels.building.slots import locked
from profdiff.collectors.kernels.git_spec import GitSpec, is_git


def remove_unused(days: float, specs: Collection[str]) -> tuple[int, int, int]:
    """Remove kernels that nobody used for ``days``, unless one of ``specs`` means them or they were
    built by it, and the worktrees in which nobody built for so long. Returns how many kernels, how
    many worktrees, and their size in bytes."""
    kernels, slots, size = 0, 0, 0
    meant = set(_keys(specs))
    for one in kept_kernels():
        if one.days >= days and one.about.spec not in specs and one.folder.name not in meant:
            if not remove(one):
                continue
            kernels, size = kernels + 1, size + one.size
    for lock in cache_folder("builds", "slots").glob("*/*.lock"):
        tree = lock.with_suffix("")
        if tree.is_dir() and (time.time() - lock.stat().st_mtime) / 86400 >= days:
            freed = _remove_slot(tree)
            slots, size = slots + (freed is not None), size + (freed or 0)
    for log in cache_folder("builds", "failed").glob("*.log"):
        if (time.time() - log.stat().st_mtime) / 86400 >= days:
            log.unlink(missing_ok=True)
    return kernels, slots, size


def _keys(specs: Collection[str]) -> Iterator[str]:
    """The kernels that ``specs`` mean now: other words, another clone or a commit with the same
    files may have built them. Nothing is fetched for it."""
    for spec in filter(is_git, specs):
        # What means nothing now (a branch that is gone) protects only what its own words built.
        with contextlib.suppress(ProfdiffError):
            if job := BuildJob.known(GitSpec.parse(spec)):
                yield job.key


def _remove_slot(tree: Path) -> int | None:
    """Remove a worktree, unless it is in use; its size."""
    if (lock := locked(tree)) is None:
        return None
    try:
        size = _size(tree)
        # The repository forgets it, where there still is one.
        git = Git(str(tree), tree)
        if git.succeeds("worktree", "remove", "--force", "--force", str(tree)) is None:
            shutil.rmtree(tree, ignore_errors=True)
        for suffix in (".log", ".unclean"):
            tree.with_suffix(suffix).unlink(missing_ok=True)
    finally:
        os.close(lock)
    return size


def _size(folder: Path) -> int:
    total = 0
    for parent, _, files in os.walk(folder):
        for name in files:
            with contextlib.suppress(OSError):
                total += Path(parent, name).lstat().st_blocks * 512
    return total
