"""Saved machines in the cache: whole or not there, shared by recorders, and not for ever."""

import errno
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from support import IMPORTED

from profdiff.base.atomic import link_or_copy
from profdiff.collectors.guest import machine_state
from profdiff.collectors.guest.machine_state import MachineState, find, keep, remove_unused


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROFDIFF_CACHE", str(tmp_path / "cache"))


def make(key: str, content: bytes = b"state") -> MachineState:
    def fill(folder: Path) -> dict[str, str]:
        (folder / "machine").write_bytes(content)
        (folder / "initramfs").write_bytes(b"files")
        (folder / "version").write_bytes(b"Linux")
        return {"version": "version"}

    return keep(key, "k", fill)


def test_what_was_kept_is_found(tmp_path: Path) -> None:
    assert find("a") is None
    made = make("a")
    found = find("a")
    assert found
    assert found.state.read_bytes() == made.state.read_bytes() == b"state"
    run = tmp_path / "run"
    run.mkdir()
    assert found.give_facts(run) == {"version": "version"}
    assert (run / "version").read_bytes() == b"Linux"
    # A second time changes nothing.
    assert found.give_facts(run) == {"version": "version"}


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("machine", b"stale"),
        ("machine", b""),
        ("version", b"other"),
        ("about.json", b"{"),
        ("about.json", b'{"label":"k","facts":{},"sha256":{}}'),
        ("about.json", b'{"label":"k","facts":{"x":"../y"},"sha256":{"../y":"0"}}'),
        ("about.json", b"[" * 100_000),
        ("initramfs", None),
    ],
)
def test_a_damaged_one_goes(name: str, data: bytes | None) -> None:
    folder = make("a").folder
    if data is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(data)
    assert find("a") is None
    assert not folder.exists()
    assert make("a", b"anew").state.read_bytes() == b"anew"


def test_of_two_that_save_the_same_one_wins() -> None:
    meanwhile: list[MachineState] = []

    def fill(folder: Path) -> dict[str, str]:
        meanwhile.append(make("a", b"first"))
        (folder / "machine").write_bytes(b"second")
        (folder / "initramfs").write_bytes(b"files")
        return {}

    late = keep("a", "k", fill)
    assert late.state.read_bytes() == meanwhile[0].state.read_bytes() == b"first"
    assert [path.name for path in machine_state.states().iterdir()] == ["a"]


def test_what_is_in_use_stays(tmp_path: Path) -> None:
    used, _ = make("a"), make("b")
    del _
    assert remove_unused() == (1, sum_of(tmp_path, b"state"))
    assert used.state.exists()
    # Its facts are in a session, too, and stay there.
    (tmp_path / "run").mkdir()
    used.give_facts(tmp_path / "run")
    del used
    assert remove_unused()[0] == 1
    assert (tmp_path / "run/version").read_bytes() == b"Linux"
    assert find("a") is None


def sum_of(tmp_path: Path, state: bytes) -> int:
    """The size of a saved machine of this test's."""
    folder = make("size", state).folder
    size = sum(path.stat().st_size for path in folder.iterdir())
    remove = [path.unlink() for path in folder.iterdir()]
    assert len(remove) == 4
    folder.rmdir()
    return size


def test_the_oldest_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    for age, key in ((30, "new"), (3000, "oldest"), (300, "old")):
        folder = make(key, bytes(1000)).folder
        stamp = folder.stat().st_mtime - age
        os.utime(folder, (stamp, stamp))
    monkeypatch.setattr(machine_state, "LIMIT", 3000)
    make("another", bytes(1000))
    left = {path.name for path in machine_state.states().iterdir()}
    assert left == {"new", "old", "another"} or left == {"new", "another"}
    assert "oldest" not in left
    assert remove_unused(days=1) == (0, 0)


def test_many_at_the_same_time() -> None:
    found: list[bytes] = []

    def work() -> None:
        for _ in range(20):
            state = find("a") or make("a", b"one")
            found.append(state.state.read_bytes())
            del state
            remove_unused()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert found == [b"one"] * 80


def test_a_link_or_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"x")
    link_or_copy(source, tmp_path / "linked")
    assert (tmp_path / "linked").samefile(source)

    def refuse(*_: object, **__: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)
    link_or_copy(source, tmp_path / "copied")
    assert (tmp_path / "copied").read_bytes() == b"x"
    assert not (tmp_path / "copied").samefile(source)


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_one_descriptor_however_many_use_it() -> None:
    before = descriptors()
    used = [make("a"), *(find("a") for _ in range(50))]
    assert None not in used
    assert descriptors() == before + 1
    del used[1:]
    assert remove_unused() == (0, 0)
    used.clear()
    assert descriptors() == before
    assert remove_unused()[0] == 1


def test_what_was_removed_and_saved_anew_is_another(tmp_path: Path) -> None:
    """Whoever deletes the cache by hand asks no lock."""
    old = make("a", b"old")
    old.folder.rename(tmp_path / "moved")
    assert find("a") is None
    new = make("a", b"new")
    assert remove_unused() == (0, 0)
    del old
    assert remove_unused() == (0, 0)
    assert find("a")
    assert new.state.read_bytes() == b"new"


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_too_many_open_files_is_not_none(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    make("a")

    def refuse(*_: object, **__: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(OSError, match="open files"):
        find("a")


def half(key: str) -> Path:
    """What is left of a machine where its removal was cut short."""
    folder = make(key).folder
    (folder / "about.json").unlink()
    return folder


def test_half_a_machine_is_none_and_another_is_saved() -> None:
    folder = half("a")
    assert find("a") is None
    assert not folder.exists()
    half("a")
    meanwhile = time.monotonic()
    assert make("a", b"anew").state.read_bytes() == b"anew"
    assert time.monotonic() - meanwhile < 2
    assert [path.name for path in machine_state.states().iterdir()] == ["a"]


KILLED = """
import os, shutil, sys
from profdiff.collectors.guest import machine_state
shutil.rmtree = lambda *_, **__: os.kill(os.getpid(), 9)
machine_state.remove_unused()
"""


def test_a_process_that_is_killed_while_it_removes_one() -> None:
    """Others see all of the machine or nothing of it, and what is left goes."""
    make("a")
    ended = subprocess.run(
        [sys.executable, "-c", KILLED], env={**os.environ, "PYTHONPATH": str(IMPORTED)}, check=False
    )
    assert ended.returncode == -9
    (left,) = machine_state.states().iterdir()
    assert left.name.startswith(".a.profdiff-")
    assert find("a") is None
    half("b")
    assert remove_unused() == (0, 0)
    assert list(machine_state.states().iterdir()) == []


def test_what_is_being_saved_is_not_left() -> None:
    def fill(folder: Path) -> dict[str, str]:
        (folder / "machine").write_bytes(b"state")
        assert remove_unused() == (0, 0)
        (folder / "initramfs").write_bytes(b"files")
        return {}

    assert keep("a", "k", fill).state.read_bytes() == b"state"
