"""A folder of object files, which one build after the other goes on with."""

import shutil
from dataclasses import dataclass
from pathlib import Path

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
