"""Bisections of small trees by the command line."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import made_repository
import small_linux
import whole_run
from made_repository import Made, MadeRepository
from support import EXAMPLE, need_program, profdiff

from profdiff.base.cache import cache_folder

PROGRAM = [sys.executable, "-m", "profdiff"]
OLD, NEW, NEWEST = "v6.12.107", "v6.18.15", "v7.1.8"


@dataclass(frozen=True)
class Bisect:
    """``profdiff bisect`` in ``folder``, which has the repository ``linux`` and a cache."""

    folder: Path
    repository: MadeRepository

    def command(self, *options: str, workload: Sequence[str] = ()) -> list[str]:
        """Good is c0, and bad the last commit, where ``options`` do not say something else."""
        usual = {
            "--repo": str(self.repository.folder),
            "--good": "c0",
            "--bad": list(self.repository.commits)[-1],
            "--ops": "4000",
        }
        own = [word for pair in usual.items() if pair[0] not in options for word in pair]
        plain = ["-o", str(self.folder / "b"), "--no-call-tree", "--no-observe"]
        words = workload or [str(EXAMPLE), "400", "40"]
        return [*PROGRAM, "bisect", *own, *plain, *options, "--", *words]

    @property
    def environment(self) -> Mapping[str, str]:
        """With a cache of its own for what is built, and the kernels of the small trees."""
        cache = self.folder / "cache"
        if not cache.exists():
            cache.mkdir()
            for name in ("states", "symbols"):
                (cache / name).symlink_to(cache_folder(name))
        return {
            **os.environ,
            "PROFDIFF_CACHE": str(cache),
            "SMALL_LINUX_KERNELS": str(small_linux.kernels_folder()),
        }

    def run(
        self, *options: str, status: int = 0, workload: Sequence[str] = ()
    ) -> subprocess.CompletedProcess[str]:
        """To its end, which is ``status``."""
        words = self.command(*options, workload=workload)[len(PROGRAM) :]
        with whole_run.processors(whole_run.GUESTS):
            done = profdiff(*words, env=dict(self.environment), status=status)
        assert "Traceback" not in done.stderr
        return done


def history(folder: Path, kinds: Sequence[Sequence[str] | str], **more: str) -> Bisect:
    """A line of commits c0, c1 ..., whose kernels are ``kinds`` (``small_linux.tree``). Each adds a
    file of its own, so that any can be reverted."""
    need_program("make")
    commits, files = {}, dict[str, str]()
    for i, kind in enumerate(kinds):
        files = {**files, f"notes/{i}": f"{i}\n"}
        lines = [kind] if isinstance(kind, str) else kind
        parents = [f"c{i - 1}"] if i else []
        tree = {**small_linux.tree(*lines), **files}
        if f"c{i}" in more:
            tree["tiny.config"] += more[f"c{i}"]
        commits[f"c{i}"] = Made(tree, parents, f"mm: change {i}")
    return Bisect(folder, made_repository.make(folder / "linux", commits))
