"""Files on nodes, by their content, and what travels back."""

import hashlib
import os
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profdiff.base.errors import InputError
from profdiff.collectors.architecture import ARCHITECTURES
from profdiff.collectors.guest.qemu import Qemu
from profdiff.collectors.records import Failure
from profdiff.recording.cluster import errand, node
from profdiff.recording.cluster.errand import Emulator, Errand, packed, unpack
from profdiff.recording.cluster.node import Store


def name(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_a_file_is_kept_once_and_linked(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    assert store.lacking([name(b"kernel")]) == [name(b"kernel")]
    store.keep(name(b"kernel"), b"kernel")
    assert store.lacking([name(b"kernel")]) == []
    store.link(name(b"kernel"), tmp_path / "there")
    assert (tmp_path / "there").read_bytes() == b"kernel"
    assert (tmp_path / "there").stat().st_ino == (store.root / name(b"kernel")).stat().st_ino


def test_other_contents_are_refused(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with pytest.raises(InputError, match="not what was sent"):
        store.keep(name(b"kernel"), b"kernel with more")
    assert list(tmp_path.iterdir()) == []
    for hostile in ("../../x", "", "A" * 64, name(b"") + "\n"):
        with pytest.raises(InputError, match="is not a sha256"):
            store.lacking([hostile])


def test_a_damaged_file_goes(tmp_path: Path) -> None:
    Store(tmp_path).keep(name(b"kernel"), b"kernel")
    (tmp_path / name(b"kernel")).write_bytes(b"kernal")
    with pytest.raises(FileNotFoundError, match="damaged"):
        Store(tmp_path).link(name(b"kernel"), tmp_path / "there")
    assert Store(tmp_path).lacking([name(b"kernel")]) == [name(b"kernel")]
    assert not (tmp_path / "there").exists()


def test_what_was_not_used_goes_first(tmp_path: Path) -> None:
    store = Store(tmp_path / "store", most=25)
    files = [bytes([number]) * 10 for number in range(4)]
    for age, data in enumerate(files[:2]):
        store.keep(name(data), data)
        old = time.time() - 100 + age
        os.utime(store.root / name(data), (old, old))
    store.link(name(files[0]), tmp_path / "used")
    store.keep(name(files[2]), files[2])
    assert store.lacking([name(data) for data in files[:3]]) == [name(files[1])]
    # Who uses a file that goes keeps it.
    big = bytes(30)
    store.keep(name(big), big)
    assert store.lacking([name(files[0]), name(big)]) == [name(files[0])]
    assert (tmp_path / "used").read_bytes() == files[0]


NAMES = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,20}", fullmatch=True)


@given(files=st.dictionaries(NAMES, st.binary(max_size=300), max_size=5))
def test_files_come_back_as_they_were(
    files: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    there, here = tmp_path_factory.mktemp("there"), tmp_path_factory.mktemp("here")
    for one, data in files.items():
        (there / one).write_bytes(data)
    (there / "in").mkdir(exist_ok=True) if "in" not in files else None
    unpack(packed(there, without=set()), here)
    assert {path.name: path.read_bytes() for path in here.iterdir()} == files


@pytest.mark.parametrize("hostile", ["../x", "/etc/x", ".hidden", "a/b", "", "a\0", "x" * 65])
def test_names_that_no_run_has(hostile: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="with the name"):
        unpack({hostile: zlib.compress(b"")}, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_links_do_not_travel(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "stdout").symlink_to(tmp_path / "secret")
    assert packed(folder, without=set()) == {}


def test_a_file_that_is_cut_short(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="damaged"):
        unpack({"stdout": zlib.compress(b"much of it" * 99)[:-5]}, tmp_path)
    with pytest.raises(InputError, match="damaged"):
        unpack({"stdout": b"no zlib"}, tmp_path)


@dataclass
class Ended:
    """A guest that has left a file."""

    folder: Path
    wall_seconds: float = 2.0
    listening: tuple[int, ...] = ()

    def poll(self) -> bool:
        (self.folder / "stdout").write_bytes(bytes(3 << 20))
        return True

    def result(self, members: Mapping[str, int]) -> set[str]:
        return set(members)


@pytest.mark.parametrize("most", [1 << 20, 4 << 20])
def test_a_run_that_leaves_too_much_is_a_failed_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """It is the run's fault, not its node's."""
    found = Emulator("x86_64", None, "QEMU 7.2", "a" * 64, "b" * 64)
    qemu = Qemu(Path("qemu"), "QEMU 7.2", ARCHITECTURES[0])
    monkeypatch.setattr(errand, "_MAX_BYTES", most)
    monkeypatch.setattr(node, "_store", lambda: Store(tmp_path))
    monkeypatch.setattr(node, "found_here", lambda _: (qemu, found))
    monkeypatch.setattr(node, "_started", lambda _, __, folder, ___: Ended(folder))
    monkeypatch.setattr(node, "_is_unwanted", lambda: False)
    left = node.make(Errand("k-1", found, (), (), {"stdout": 9 << 20}, 60))
    assert left.wall_seconds == 2.0
    if most > 3 << 20:
        assert left.outcome == {"stdout"}
        assert left.files.keys() == {"stdout"}
    else:
        assert left.outcome == Failure("protocol", "the run left more than 1 MiB")
        assert left.files == {}
