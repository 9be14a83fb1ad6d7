"""Where kernels are built: a few linked worktrees of a repository (git-worktree(1)) in the cache,
each with folders of object files, so that a build goes on from the one before.

A slot belongs to whoever locks it (flock(2)), and to the processes that it started, however it
ends. The folders of object files lie directly in the tree: Kbuild then names sources relative to
them (``../mm/mprotect.c``), so that neither ccache nor the kernel sees where a slot is.

A folder of object files, which one build after the other goes on with.

What was built and is not in use any more: kernels, and worktrees with their object files.
"""

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from profdiff.base.cache import cache_folder
from profdiff.base.errors import InputError, MissingError, ProfdiffError, told
from profdiff.base.git import Git, Stuck, environment
from profdiff.base.terminal import tell
from profdiff.collectors.kernels.building.job import BuildJob
from profdiff.collectors.kernels.building.kept import kept_kernels, remove
from profdiff.collectors.kernels.building.make import first_error, is_full, supervised
from profdiff.collectors.kernels.building.prepared import Prepared
from profdiff.collectors.kernels.git_spec import GitSpec, is_git

# What was written so shortly before a build was killed may be half a file (vmlinux is slowest).
_UNSURE = 60
# Its own mark, so that a build of something else in the same tree leaves it.
_BUILDING = ".building"


@dataclass(frozen=True)
class Objects:
    """``new``: it was empty. ``cut_short``: the last build in it did not end by itself; what that
    may have written by halves is gone."""

    folder: Path
    new: bool
    cut_short: bool

    @staticmethod
    def open(folder: Path) -> "Objects":
        """The folder, marked as one that is built in until ``whole`` is called."""
        new = not folder.is_dir()
        folder.mkdir(exist_ok=True)
        mark = folder / _BUILDING
        cut_short = mark.exists()
        if cut_short:
            _remove_unsure(folder)
        mark.touch()
        return Objects(folder, new, cut_short)

    def whole(self) -> None:
        """Nothing in it is half written."""
        (self.folder / _BUILDING).unlink(missing_ok=True)

    def empty(self) -> None:
        """Remove all that is in it, but the mark."""
        for path in self.folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.name != _BUILDING:
                path.unlink()


def _remove_unsure(folder: Path) -> None:
    """Remove what may be half written; make makes it again."""
    times = {
        path: status.st_mtime
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink() and (status := path.stat())
    }
    mark = folder / _BUILDING
    times.pop(mark, None)
    newest = max(times.values(), default=0.0)
    for path, time_ in times.items():
        if time_ >= newest - _UNSURE:
            path.unlink(missing_ok=True)


MOST = 3
"""The most slots that a repository has."""
_MOST_OBJECTS = 3
# With so many other files, a build takes as long as a new one.
_FAR = 4000
_WAIT = 0.5
_TRIES = 3
_CHECK_OUT = ("core.sparseCheckout=false", "core.autocrlf=false", "submodule.recurse=false")


@dataclass(frozen=True)
class Slot:
    """``tree``: the worktree. ``lock``: the descriptor that locks it. ``log``: of this build.
    ``unclean``: the mark that ``tree`` has while it is used; ``was_unclean``: it had it before."""

    tree: Path
    lock: int
    log: Path
    unclean: Path
    was_unclean: bool

    def objects(self, name: str) -> Objects:
        """The folder of object files called ``name``; makes room for it."""
        folder = self.tree / f".profdiff-{name}"
        others = [path for path in self.tree.glob(".profdiff-*") if path != folder]
        others.sort(key=lambda path: path.stat().st_mtime_ns, reverse=True)
        for old in others[_MOST_OBJECTS - 1 :]:
            shutil.rmtree(old, ignore_errors=True)
        found = Objects.open(folder)
        os.utime(folder)
        return found

    def check_out(self, git: Git, commit: str) -> None:
        """Let the tree have the files of ``commit``; what is the same there is not touched. Raises
        InputError, MissingError without room."""
        own = Git(git.shown, self.tree).without_drivers().configured(*_CHECK_OUT)
        folder = Path(own.run("rev-parse", "--absolute-git-dir").decode().rstrip("\n"))
        # This worktree's own, which nobody else uses; the slot's lock is held.
        for name in ("index", "HEAD", "ORIG_HEAD"):
            (folder / f"{name}.lock").unlink(missing_ok=True)
        commands = [own.command("reset", "--hard", "--quiet", commit)]
        if self.was_unclean:
            commands.append(own.command("clean", "-ffdxq", "-e", ".profdiff-*"))
        for command in commands:
            try:
                status = supervised(
                    command, self.tree, environment(), self.log, lock=self.lock, of_git=True
                )
            except Stuck as error:
                raise InputError(f"{git.shown}: git {error}") from None
            if status:
                if is_full(self.log):
                    raise MissingError(
                        f"no room for {self.tree}: make room and run the same command again"
                    )
                said = first_error(self.log)
                raise InputError(f"{git.shown}: {commit[:12]} cannot be checked out: {said}")


@contextlib.contextmanager
def slot_for(prepared: Prepared, objects: str) -> Iterator[Slot]:
    """Yield the free slot whose revision is nearest to what is to be built, or a new one; waits
    where all are in use. Raises InputError where the repository takes no worktree."""
    common = _common(prepared.git)
    name = hashlib.sha256(os.fsencode(common)).hexdigest()[:12]
    folder = cache_folder("builds", "slots", name)
    if re.search(r"[\s:]", str(folder)):
        raise MissingError(
            f"Linux does not build in a folder with a space or colon in its path ({folder}): "
            "set PROFDIFF_CACHE to another folder"
        )
    with _locked(folder, prepared, objects) as (tree, lock):
        unclean = tree.with_suffix(".unclean")
        os.utime(lock)
        was_unclean = unclean.exists()
        unclean.touch()
        if not _is_worktree(tree, common):
            _add(prepared.git, tree, prepared.built)
        log = tree.with_suffix(".log")
        log.write_bytes(b"")
        yield Slot(tree, lock, log, unclean, was_unclean)
        unclean.unlink(missing_ok=True)


@contextlib.contextmanager
def _locked(folder: Path, prepared: Prepared, objects: str) -> Iterator[tuple[Path, int]]:
    tries = 0
    while True:
        free: dict[Path, int] = {}
        chosen = None
        try:
            for tree in _trees(folder):
                if (lock := locked(tree)) is not None:
                    free[tree] = lock
            known = {tree: lock for tree, lock in free.items() if tree.is_dir()}
            far = {tree: _distance(tree, prepared) for tree in known}
            unused = [tree for tree in free if tree not in known]
            # Where object files of the same kind are, unless little of them can be used.
            near = sorted(known, key=lambda tree: (_lacks(tree, objects) * _FAR + far[tree], tree))
            if near and (far[near[0]] < _FAR or not unused):
                chosen = near[0]
            elif unused:
                chosen = unused[0]
        finally:
            for tree, lock in free.items():
                if tree != chosen:
                    os.close(lock)
        if chosen:
            try:
                yield chosen, free[chosen]
            finally:
                os.close(free[chosen])
            return
        # Another process may have looked at all of them at this moment: report nothing for that.
        if (tries := tries + 1) == _TRIES:
            tell(f"{prepared.git.shown}: its {MOST} worktrees are in use: waiting for one")
        time.sleep(_WAIT)


def _trees(folder: Path) -> list[Path]:
    return [folder / f"profdiff-{number}" for number in range(1, MOST + 1)]


def locked(tree: Path) -> int | None:
    """A descriptor that locks a worktree until it is closed; None where another has it. Raises
    MissingError where nothing can be locked."""
    descriptor = os.open(tree.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError as error:
        os.close(descriptor)
        raise MissingError(
            f"{tree.parent} cannot be locked ({told(error)}): set PROFDIFF_CACHE to a folder of "
            "this machine"
        ) from error
    return descriptor


def _lacks(tree: Path, objects: str) -> bool:
    return not (tree / f".profdiff-{objects}").is_dir()


def _distance(tree: Path, prepared: Prepared) -> int:
    """How many files differ from what is to be built; more than all where nobody can tell."""
    head = Git(str(tree), tree).succeeds("rev-parse", "--verify", "--quiet", "HEAD")
    if head is None:
        return 1 << 30
    words = ("diff-tree", "-r", "--name-only", "-z", head.decode().strip(), prepared.built)
    said = prepared.git.succeeds(*words)
    return 1 << 30 if said is None else said.count(b"\0")


def _common(git: Git) -> Path:
    """The folder that all worktrees of a repository share."""
    output = git.run("rev-parse", "--path-format=absolute", "--git-common-dir")
    return Path(os.fsdecode(output).rstrip("\n")).resolve()


def _is_worktree(tree: Path, common: Path) -> bool:
    if not (tree / ".git").is_file():
        return False
    try:
        return _common(Git(str(tree), tree)) == common
    except InputError:
        return False


def _add(git: Git, tree: Path, commit: str) -> None:
    shutil.rmtree(tree, ignore_errors=True)
    try:
        # Twice: its folder may be gone where the cache was emptied.
        git.run("worktree", "add", "-f", "-f", "--detach", "--no-checkout", str(tree), commit)
    except InputError as error:
        raise InputError(
            f"{error}: profdiff builds in a linked worktree, for which the repository must be "
            "writable: name a clone of it"
        ) from error


def remove_unused(days: float, specs: Collection[str]) -> tuple[int, int, int]:
    """Remove kernels that nobody used for ``days``, unless one of ``specs`` means them or they were
    built by it, and the worktrees in which nobody built for so long. Returns how many kernels, how
    many worktrees, and their size in bytes."""
    kernels, slots, size = 0, 0, 0
    meant = set(_keys(specs))
    for kernel in kept_kernels():
        if (
            kernel.days >= days
            and kernel.about.spec not in specs
            and kernel.folder.name not in meant
        ):
            if not remove(kernel):
                continue
            kernels, size = kernels + 1, size + kernel.size
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
