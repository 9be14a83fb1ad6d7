"""What a restored machine gets and gives back, and what its QEMU says: nothing of it is trusted."""

import contextlib
import io
import json
import socket
import struct
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profdiff.base.errors import InputError
from profdiff.base.temporary import temporary_folder
from profdiff.collectors.guest import qmp
from profdiff.collectors.guest.archive import ArchiveError
from profdiff.collectors.guest.boot import NO_VARIATION, Variation
from profdiff.collectors.guest.delivery import Delivery, handed_over, make_shared, room_for
from profdiff.collectors.guest.qmp import Migration, Qmp, QmpError
from profdiff.collectors.workload.files import GuestFile

LIMITS = {"stdout": 1000, "status": 10}
ANSWER = 0x31534E41464450


def unpacked(content: bytes) -> dict[str, tuple[int, bytes]]:
    """The files of a delivery, read as hold.c does."""
    magic, length = struct.unpack_from("<QQ", content)
    assert magic == 0x31515252464450
    assert 4096 + length == len(content)
    files, at = {}, 4096
    while at < len(content):
        mode, path_length, size = struct.unpack_from("<IIQ", content, at)
        path = content[at + 16 :][:path_length].decode()
        at += 16 + path_length
        files[path] = mode, content[at : at + size]
        at += size
    return files


def wake_and_seed(content: bytes) -> tuple[int, int, bytes]:
    return struct.unpack_from("<QQ32s", content, 16)


@given(st.dictionaries(st.from_regex(r"[a-z]{1,9}", fullmatch=True), st.binary(max_size=5000)))
def test_every_byte_is_delivered(own: dict[str, bytes]) -> None:
    with temporary_folder() as folder:
        (folder / "program").write_bytes(b"\x7fELF")
        file = GuestFile(folder / "program", "/work/program", executable=True, is_code=True)
        made = Delivery([file], own).content(NO_VARIATION, 5)
        expected = {f"/profdiff/{name}": (0o644, data) for name, data in own.items()}
        assert unpacked(made) == {**expected, "/work/program": (0o755, b"\x7fELF")}
        assert len(made) <= room_for([file], own) // 2


def test_when_a_run_begins_hardly_depends_on_what_is_delivered() -> None:
    def wake(size: int) -> int:
        return wake_and_seed(Delivery([], {"x": bytes(size)}).content(NO_VARIATION, 5))[0]

    assert wake(0) == wake(70 << 20) == 1_000_000_000
    assert wake(100 << 20) == 2_000_000_000


def test_what_varies() -> None:
    delivery = Delivery([], {"x": b"x"})
    plain = wake_and_seed(delivery.content(NO_VARIATION, 5))
    one, two = (wake_and_seed(delivery.content(Variation(n, 5.0625), 5)) for n in (1, 2))
    assert (plain[1], one[1]) == (0, 1)
    assert one[0] == plain[0] + 62_500_000
    assert one[2] != two[2]
    assert "/profdiff/varied" in unpacked(delivery.content(Variation(1, 5.0625), 5))


def test_room() -> None:
    assert room_for([], {}) == 16 << 20
    assert room_for([], {"x": bytes(6 << 20)}) == 32 << 20
    large = type("Large", (bytes,), {"__len__": lambda _: 4 << 30})()
    with pytest.raises(InputError, match="4099 MiB, too many"):
        room_for([], {"x": large})


def shared(folder: Path, length: int, data: bytes, magic: int = ANSWER) -> Path:
    path = folder / "shared"
    make_shared(path, 1 << 20)
    with path.open("r+b") as file:
        file.seek(2048)
        file.write(struct.pack("<QQ", magic, length))
        file.seek(1 << 19)
        file.write(data)
    return path


def test_shared_memory_has_room_on_the_disk(tmp_path: Path, small_disk: Path) -> None:
    make_shared(tmp_path / "shared", 1 << 20)
    found = (tmp_path / "shared").stat()
    assert found.st_size == 1 << 20
    assert found.st_blocks * 512 >= 1 << 20
    with pytest.raises(OSError, match="No space left on device") as raised:
        make_shared(small_disk / "shared", 1 << 30)
    assert raised.value.filename == str(small_disk / "shared")


def archive(**files: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return packed.getvalue()


def test_what_is_handed_over(tmp_path: Path) -> None:
    data = archive(stdout=b"hello", other=b"x")
    assert handed_over(shared(tmp_path, len(data), data), tmp_path, LIMITS) == {"stdout"}
    assert (tmp_path / "stdout").read_bytes() == b"hello"
    assert not (tmp_path / "other").exists()
    assert handed_over(shared(tmp_path, len(data), data, magic=0), tmp_path, LIMITS) is None


@given(st.integers(0, 2**64 - 1), st.binary(max_size=3000), st.booleans())
def test_garbage(length: int, noise: bytes, honest: bool) -> None:
    """It is refused, or what it holds is within its limits."""
    with temporary_folder() as folder:
        data = archive(stdout=b"hello") + noise if honest else noise
        try:
            names = handed_over(shared(folder, length, data), folder, LIMITS)
        except ArchiveError:
            assert not (folder / "stdout").exists()
        else:
            assert names is not None
            assert names <= set(LIMITS)
            assert all((folder / name).stat().st_size <= LIMITS[name] for name in names)


class Peer:
    """QEMU's end of a monitor."""

    def __init__(self) -> None:
        self.qmp = Qmp()
        self._socket = socket.socket(fileno=socket.dup(self.qmp.descriptor))
        self.qmp.connected()

    def heard(self, *said: bytes, ends: bool = False) -> list[dict[str, object]]:
        """What is made of what QEMU says."""
        self._socket.sendall(b"".join(said))
        if ends:
            self._socket.close()
        return self.qmp.heard()

    def asked(self) -> list[str]:
        """The commands that it was given since then."""
        lines = self._socket.recv(1 << 16).splitlines()
        return [json.loads(line)["execute"] for line in lines]

    def close(self) -> None:
        self.qmp.close()
        self._socket.close()


@pytest.fixture
def peer() -> Iterator[Peer]:
    one = Peer()
    yield one
    one.close()


def line(**said: object) -> bytes:
    return json.dumps(said).encode() + b"\r\n"


FAILED = line(event="MIGRATION", data={"status": "failed"})


def test_that_a_refused_way_failed_is_no_failure_of_the_next(peer: Peer) -> None:
    migration = Migration(peer.qmp)
    assert not migration.ended(peer.heard(FAILED))
    assert not migration.ended(peer.heard(line(**{"return": {"status": "active"}})))
    assert migration.ended(peer.heard(line(event="MIGRATION", data={"status": "completed"})))


def test_what_qemu_says(peer: Peer) -> None:
    done = line(event="MIGRATION", data={"status": "completed"})
    said = peer.heard(line(QMP={}), line(**{"return": {}}), done)
    assert Migration(peer.qmp).ended(said)
    assert not Migration(peer.qmp).ended(said[:-1])
    with pytest.raises(QmpError, match="no such thing"):
        peer.heard(b'{"error": {"class": "X", "desc": "no such thing"}}\n')


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ({"status": "failed", "error-desc": "No space left"}, "cannot be moved: No space left$"),
        ({"status": "failed"}, "cannot be moved$"),
        ({"status": "failed", "error-desc": 5}, "cannot be moved$"),
    ],
)
def test_why_a_migration_failed(peer: Peer, told: object, reason: str) -> None:
    """QEMU is asked once, and its reason is told."""
    migration = Migration(peer.qmp)
    assert peer.asked() == ["qmp_capabilities"]
    assert not migration.ended(peer.heard(FAILED))
    assert not migration.ended(peer.heard(FAILED, line(**{"return": {}})))
    assert peer.asked() == ["query-migrate"]
    with pytest.raises(QmpError, match=reason):
        migration.ended(peer.heard(line(**{"return": told})))


def test_a_qemu_that_does_not_say_why(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    late = Migration(peer.qmp)
    assert not late.ended(peer.heard(FAILED))
    monkeypatch.setattr(qmp, "_ANSWER_SECONDS", -1)
    with pytest.raises(QmpError, match=r"cannot be moved$"):
        late.ended(peer.heard())
    monkeypatch.undo()
    with pytest.raises(QmpError, match=r"cannot be moved$"):
        Migration(peer.qmp).ended(peer.heard(FAILED, ends=True))


@given(st.binary(max_size=400))
def test_a_qemu_that_talks_nonsense(noise: bytes) -> None:
    with contextlib.closing(Peer()) as peer:
        migration = Migration(peer.qmp)
        try:
            said = peer.heard(noise, b"\n")
            migration.ended(said)
            migration.ended(peer.heard(FAILED, noise, b"\n"))
        except QmpError:
            return
        assert all(isinstance(one, dict) for one in said)
