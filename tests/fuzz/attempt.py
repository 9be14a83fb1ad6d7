"""One case in this process: what the reader did with the bytes, or a finding.

Runs in a child that the runner watches: it may end with a signal, or not end at all.
"""

import mmap
import os
import re
import resource
import shutil
import signal
import sys
import traceback
from pathlib import Path
from types import FrameType
from typing import Any

import profdiff
from fuzz.findings import Outcome
from fuzz.target import Target

# Of an error, beside what it quotes of its input with escapes.
_LONGEST_MESSAGE = 10_000
# All that moves a terminal's cursor or hides text but newline and tab.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_PROFDIFF = str(Path(profdiff.__file__).parent)
_OPEN_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Audit events of what changes files, with the positions of the paths in their arguments.
_CHANGES = {
    "open": (0,),
    "os.remove": (0,),
    "os.rename": (0, 1),
    "os.mkdir": (0,),
    "os.rmdir": (0,),
    "os.truncate": (0,),
    "os.chmod": (0,),
    "os.link": (1,),
    "os.symlink": (1,),
}


class TooSlow(BaseException):
    """The case's processor time is over."""


class Place:
    """The folder of a case, and a watch over what is written elsewhere."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.outside: list[str] = []
        sys.addaudithook(self._audit)

    def empty(self) -> Path:
        """The folder, with nothing in it."""
        for entry in self.folder.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
        self.outside.clear()
        return self.folder

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event not in _CHANGES:
            return
        if event == "open" and not (int(arguments[2] or 0) & _OPEN_WRITES):
            return
        for position in _CHANGES[event]:
            path = arguments[position]
            if not isinstance(path, str | bytes | os.PathLike):
                continue
            name = os.path.realpath(os.fsdecode(path))
            inside = name.startswith((f"{self.folder}/", "/dev/")) or name == str(self.folder)
            # A name within a folder that is open already has no path: rmtree and its kind.
            if not inside and Path(os.fsdecode(path)).is_absolute():
                self.outside.append(f"{event} {name}")


def address_space() -> int:
    """Bytes that this process may address (proc(5))."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE


def attempt(target: Target, data: bytes, place: Place) -> Outcome:
    """Read ``data``; never raises, but may not return."""
    folder = place.empty()
    # The bound is the reader's: what looks after it here needs memory, too.
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    unbounded, bounded = (most, most), (address_space() + target.memory, most)
    signal.signal(signal.SIGPROF, _too_slow)
    signal.setitimer(signal.ITIMER_PROF, target.seconds)
    try:
        resource.setrlimit(resource.RLIMIT_AS, bounded)
        try:
            text = target.read(data, folder)
        finally:
            resource.setrlimit(resource.RLIMIT_AS, unbounded)
    except target.refusals as error:
        signal.setitimer(signal.ITIMER_PROF, 0)
        message = str(error)
        if len(message) > 8 * len(data) + _LONGEST_MESSAGE:
            return _finding(f"an error of {len(message):,} characters", error)
        if not message.strip():
            return _finding("an error that says nothing", error)
        refused, text, detail = True, None, traceback.format_exc()
    except KeyboardInterrupt:
        raise
    except TooSlow as error:
        return _finding(f"took more than {target.seconds:g} s of processor time", error)
    except BaseException as error:
        signal.setitimer(signal.ITIMER_PROF, 0)
        return _finding(f"{type(error).__name__}: {str(error)[:200]!r}", error)
    else:
        refused, detail = False, ""
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    if place.outside:
        what = f"writes outside its place: {place.outside[0]}"
        return Outcome(what=what, signature="writes outside " + place.outside[0].split()[0])
    if text is not None and (found := _CONTROL.search(text)):
        around = text[max(0, found.start() - 60) : found.end() + 60]
        return Outcome(
            what=f"prints a control character: {around!r}",
            signature="prints a control character",
            detail=around,
        )
    return Outcome(refused=refused, detail=detail)


def _too_slow(number: int, frame: FrameType | None) -> None:
    raise TooSlow


def _finding(what: str, error: BaseException) -> Outcome:
    """The finding of an exception, known again by its kind and the innermost line of profdiff."""
    stack = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in stack if frame.filename.startswith(_PROFDIFF)]
    where = own[-1] if own else stack[-1]
    name = Path(where.filename).name
    # Of what is slow, the line is any.
    known = where.name if isinstance(error, TooSlow) else where.lineno
    return Outcome(
        what=f"{what} at {name}:{where.lineno}",
        signature=f"{type(error).__name__} at {name}:{known}",
        detail="".join(traceback.format_exception(error)),
    )
