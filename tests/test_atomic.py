"""Files that are written whole or not at all."""

import stat
from pathlib import Path

import pytest

from profdiff.base.atomic import open_atomic, write_atomic


def test_replaces_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomic(path, b"old")
    write_atomic(path, b"new")
    assert path.read_bytes() == b"new"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
    assert stat.S_IMODE(path.stat().st_mode) & 0o600 == 0o600
    path.chmod(0o640)
    write_atomic(path, b"newer")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    (tmp_path / "link").symlink_to("file")
    write_atomic(tmp_path / "link", b"a session's links lead nowhere")
    assert path.read_bytes() == b"newer"
    assert stat.S_IMODE((tmp_path / "link").lstat().st_mode) & 0o111 == 0


def test_a_full_disk_is_named(small_disk: Path) -> None:
    with pytest.raises(OSError, match="No space left on device") as raised:
        write_atomic(small_disk / "file", bytes(4 << 20))
    assert raised.value.filename == str(small_disk / "file")
    assert list(small_disk.iterdir()) == []


def test_a_failure_leaves_the_old_content_and_no_litter(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomic(path, b"old")
    with pytest.raises(RuntimeError), open_atomic(path) as file:
        file.write(b"half")
        raise RuntimeError
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
