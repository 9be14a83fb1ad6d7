"""A QEMU is asked once what it can do, and again where anything may have changed the answer."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import need_program

from profdiff.collectors.architecture import X86_64
from profdiff.collectors.exact.entry import Exact
from profdiff.collectors.guest import qemu
from profdiff.collectors.guest import qemu as emulator
from profdiff.collectors.guest.qemu import Qemu

# In a quick run a script stands before QEMU, and a script is asked each time.
pytestmark = pytest.mark.slow


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], tuple[Qemu, int]]:
    """Find this machine's QEMU as a new process does: it, and how often one was started."""
    program = Path(need_program(X86_64.emulator, X86_64.qemu_package)).resolve()
    # A file of its own, which tests may change, in a machine that has no other.
    shutil.copy(program, tmp_path / program.name)
    if modules := next(Path("/usr/lib").glob("*/qemu/accel-tcg-x86_64.so"), None):
        monkeypatch.setenv("QEMU_MODULE_DIR", str(modules.parent))
    monkeypatch.setenv("PROFDIFF_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(emulator, "every_program", lambda _name: iter(()))
    started: list[object] = []
    run = subprocess.run

    def counted(*arguments: Any, **more: Any) -> Any:
        started.append(arguments)
        return run(*arguments, **more)

    def found() -> tuple[Qemu, int]:
        emulator._found.cache_clear()
        started.clear()
        with monkeypatch.context() as patch:
            patch.setattr(emulator.subprocess, "run", counted)
            qemu = Exact().emulator(X86_64, tmp_path / program.name)
            qemu.identity()
        return qemu, len(started)

    return found


def test_it_is_asked_once(ask: Callable[[], tuple[Qemu, int]], tmp_path: Path) -> None:
    first, times = ask()
    assert times >= 4
    assert ask() == (first, 0)
    # As large, but another file.
    path = first.program
    os.utime(path, ns=(0, 0))
    assert ask() == (first, times)
    moved = path.with_name("moved")
    shutil.copy2(path, moved)
    moved.rename(path)
    assert ask() == (first, times)
    assert ask() == (first, 0)


def test_what_libraries_and_containers_change(
    ask: Callable[[], tuple[Qemu, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, times = ask()
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    assert ask() == (first, times)
    monkeypatch.delenv("LD_LIBRARY_PATH")
    status = Path("/proc/self/status").read_text().replace("Seccomp:\t", "Seccomp:\t1")
    read = Path.read_text
    told = lambda path, *more: status if path.name == "status" else read(path, *more)  # noqa: E731
    monkeypatch.setattr(qemu.Path, "read_text", told)
    assert ask() == (first, times)


def test_another_plugin_is_tried(
    ask: Callable[[], tuple[Qemu, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = ask()
    plugin = first.plugin
    assert plugin
    copied = Path(shutil.copy(plugin, tmp_path))
    monkeypatch.setattr(emulator, "_plugin_file", lambda _name: copied)
    assert ask()[1] > 0


@pytest.mark.parametrize("text", [b"", b"[]", b'{"a": 1}', b'{"a": "', b"\xff" * 2_000_000])
def test_a_damaged_file_is_not_believed(
    ask: Callable[[], tuple[Qemu, int]], tmp_path: Path, text: bytes
) -> None:
    first, times = ask()
    (tmp_path / "cache/emulators.json").write_bytes(text)
    assert ask() == (first, times)
    assert ask() == (first, 0)


def test_where_there_can_be_no_cache(ask: Callable[[], tuple[Qemu, int]], tmp_path: Path) -> None:
    (tmp_path / "cache").touch()
    assert ask() == ask()


def test_a_script_is_asked_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROFDIFF_CACHE", str(tmp_path))
    script = tmp_path / "qemu"
    script.write_text("#!/bin/sh\n")
    said = iter(["first", "second"])
    assert [qemu.answer(script, "?", lambda: next(said)) for _ in range(2)] == [
        "first",
        "second",
    ]


def test_few_answers_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROFDIFF_CACHE", str(tmp_path))
    program = Path(need_program("sh")).resolve()
    for number in range(120):
        assert qemu.answer(program, f"{number}", lambda: True)
    assert len(qemu._read()) == 100
    assert qemu.answer(program, "119", lambda: False)
    assert not qemu.answer(program, "0", lambda: False)
