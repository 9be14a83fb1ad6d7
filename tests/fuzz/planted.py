"""Readers with a defect each, to see that it is found: ``python -m fuzz.planted 0 hang``."""

import os
import sys
import time
from contextlib import suppress
from pathlib import Path

from fuzz.__main__ import main
from fuzz.target import Target
from profdiff.base.errors import InputError


def _exception(data: bytes, folder: Path) -> None:
    raise KeyError("planted")


def _abort(data: bytes, folder: Path) -> None:
    os.abort()


def _exit(data: bytes, folder: Path) -> None:
    os._exit(3)


def _endless(data: bytes, folder: Path) -> None:
    while True:
        pass


def _blocked(data: bytes, folder: Path) -> None:
    time.sleep(1000)


def _memory(data: bytes, folder: Path) -> None:
    kept = []
    while True:
        kept.append(bytes(1 << 20))


_KEPT: list[bytes] = []


def _memory_kept(data: bytes, folder: Path) -> None:
    """Nothing is left for whoever looks after it."""
    for size in (1 << 20, 1 << 16, 1 << 10):
        with suppress(MemoryError):
            while True:
                _KEPT.append(bytes(size))
    raise MemoryError


def _outside(data: bytes, folder: Path) -> None:
    (folder.parent / "planted").write_text("x")


def _through_link(data: bytes, folder: Path) -> None:
    (folder / "link").symlink_to(folder.parent / "planted")
    (folder / "link").write_text("x")


def _removes(data: bytes, folder: Path) -> None:
    (folder.parent / "planted").unlink(missing_ok=True)


def _control(data: bytes, folder: Path) -> str:
    return "fine\x1b[2J"


def _silent(data: bytes, folder: Path) -> None:
    raise InputError("")


# What each must be reported as.
EXPECTED = {
    _exception: "KeyError",
    _abort: "ends the process with SIGABRT",
    _exit: "ends the process with status 3",
    _endless: "took more than 0.2 s of processor time",
    _blocked: "goes on for more than 1.6 s",
    _memory: "MemoryError",
    _memory_kept: "MemoryError",
    _outside: "writes outside its place: open",
    _through_link: "writes outside its place: open",
    _removes: "writes outside its place: os.remove",
    _control: "prints a control character",
    _silent: "an error that says nothing",
}


def _target(defect: object) -> Target:
    def read(data: bytes, folder: Path) -> str | None:
        if b"!" in data:
            return defect(data, folder)  # type: ignore[operator]
        if b"?" in data:
            raise InputError("this is none")
        return "fine\n"

    name = defect.__name__.strip("_").replace("_", "-")  # type: ignore[attr-defined]
    # What is large needs room to be changed.
    seeds = [b"plain" * 100_000] if defect is _memory_kept else [b"plain", b"simple"]
    return Target(
        name,
        lambda: seeds,
        read,
        cases=8,
        mutations=[lambda random, data: data + random.choice((b"!", b"?"))],
        seconds=0.2,
        memory=1 << 26,
    )


def _refuses_all(data: bytes, folder: Path) -> None:
    raise InputError("this is none")


TARGETS = [_target(defect) for defect in EXPECTED]
TARGETS.append(Target("bad-seed", lambda: [b"x"], _refuses_all, cases=8))

if __name__ == "__main__":
    sys.exit(main(TARGETS))
