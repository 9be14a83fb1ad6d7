"""How much of the tests a run has: the usual ones; less with --quick; all with --nightly."""

import ipaddress
import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from profdiff.collectors.architecture import ARCHITECTURES

# A test that asks for a fixture with such an end of its name, directly or through others, has the
# mark.
_FIXTURES = {
    "qemu": "guest",
    "64_kernel": "network",
    "browser": "browser",
    "compile_c": "build",
    "old_kernel": "kernel",
    "new_kernel": "kernel",
    "newest_kernel": "kernel",
    "fixture_vmlinux": "kernel",
}
_COMPILERS = {one.compiler for one in ARCHITECTURES} | {"cc", "gcc", "gcc-11", "g++", "clang-19"}
# What a quick run leaves out: programs, and the arguments that a test may give them only if it has
# the mark. An emulator without a kernel only says what it can do, a compiler its name.
_PROGRAMS = (
    ("guest", [one.emulator for one in ARCHITECTURES], "*' -kernel '*"),
    ("network", ["apt-get", "mmdebstrap"], "*"),
    ("browser", ["chromium"], "*"),
    ("build", sorted(_COMPILERS), "*' -o '*"),
    ("build", ["cargo", "go", "make"], "*"),
)
_LEFT_OUT = {"nightly", "kernel", "slow", *(mark for mark, _, _ in _PROGRAMS)}
# Stands before the program on PATH.
_STAND_IN = """\
#!/bin/sh
case " $* " in {left_out}) ;; *) exec {program} "$@" ;; esac
echo "{name} (mark the test: {mark})" >> {log}
echo "{name} is left out of quick runs" >&2
exit 1
"""
# Processor time of a quick test: one that takes a second is slow, and one of these fails.
_SECONDS = 5
# Of so many nightly examples or cases one, and at least as many as this.
_USUAL, _QUICK = 4, 20
_FEWEST = 10

_quick = _nightly = False
_log: Path | None = None


def configure(config: pytest.Config) -> None:
    """Take the options of this run."""
    global _quick, _nightly
    _quick, _nightly = config.getoption("--quick"), config.getoption("--nightly")
    if _quick and _nightly:
        raise pytest.UsageError("--quick and --nightly exclude each other")
    settings.register_profile(
        "extent",
        max_examples=examples(settings().max_examples),
        # How long an example takes is the machine's: neighbours make one of a thousand late.
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("extent")


def examples(nightly: int) -> int:
    """How many examples or cases this run tries, of ``nightly`` in a nightly one."""
    if _nightly:
        return nightly
    return max(min(nightly, _FEWEST), nightly // (_QUICK if _quick else _USUAL))


def is_nightly() -> bool:
    """Whether this run leaves nothing out."""
    return _nightly


def select(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests by their fixtures, and deselect those that this run leaves out."""
    for item in items:
        asked = getattr(item, "fixturenames", ())
        for end, mark in _FIXTURES.items():
            if any(fixture.endswith(end) for fixture in asked):
                item.add_marker(mark)
    out = _LEFT_OUT if _quick else set() if _nightly else {"nightly"}
    left = [item for item in items if _marked(item, out)]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in set(left)]


def is_long(item: pytest.Item) -> bool:
    """Whether a quick run leaves it out, once ``select`` has marked it."""
    return _marked(item, _LEFT_OUT)


def _marked(item: pytest.Item, marks: set[str]) -> bool:
    return any(mark.name in marks for mark in item.iter_markers())


def leave_out(folder: Path) -> None:
    """In a quick run, let nothing of this process start what is left out, or reach another machine,
    without a note of it in a file of ``folder``."""
    global _log
    if not _quick:
        return
    _log = folder / "started"
    _log.touch()
    for mark, names, left_out in _PROGRAMS:
        for name in names:
            if program := shutil.which(name):
                words = {"left_out": left_out, "program": shlex.quote(program), "name": name}
                text = _STAND_IN.format(mark=mark, log=shlex.quote(str(_log)), **words)
                (folder / name).write_text(text)
                (folder / name).chmod(0o755)
    os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"
    sys.addaudithook(_note_connections)


def uses(what: str, mark: str) -> None:
    """Fail in a quick run: what has ``mark`` uses ``what``."""
    if _quick:
        pytest.fail(f"a quick run uses {what} (mark the test: {mark})", pytrace=False)


@contextmanager
def limited() -> Iterator[None]:
    """In a quick run, fail what takes so much processor time, of this process and those that it
    waits for, that it should have the mark for it."""
    before = sum(os.times()[:4])
    yield
    if _quick and (taken := sum(os.times()[:4]) - before) > _SECONDS:
        pytest.fail(f"a quick run takes {taken:.0f} s for it (mark the test: slow)", pytrace=False)


def check_started() -> None:
    """Fail where what is left out was started, or asked for, since the last call."""
    if _log and (started := _log.read_text()):
        _log.write_text("")
        pytest.fail(f"a quick run started {started.strip()}", pytrace=False)


def _note_connections(event: str, arguments: tuple[object, ...]) -> None:
    if event == "socket.connect" and isinstance(arguments[1], tuple) and _log:
        host = str(arguments[1][0])
        try:
            near = ipaddress.ip_address(host).is_loopback
        except ValueError:
            near = host in ("localhost", "")
        if not near:
            with _log.open("a") as log:
                log.write(f"a connection to {host} (mark the test: network)\n")
