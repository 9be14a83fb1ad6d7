"""Archives from guests and from other machines: what is taken of them, and how much it may cost."""

import gzip
import io
import os
import subprocess
import tarfile
import tempfile
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from extent import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from support import need_program
from tars import tar

from profdiff.collectors.guest.archive import ArchiveError, Gunzip, receive
from profdiff.collectors.guest.delivery import MEMBERS, GuestChannel
from profdiff.collectors.guest.result import Left, exit_status, take_files
from profdiff.collectors.guest.run import GuestRun
from profdiff.collectors.kernels.address import Address
from profdiff.collectors.machine.run import MachineRun
from profdiff.collectors.records import Failure

FORMATS = (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)
# What a bomb holds, and what may be allocated while it is read.
LARGE, ALLOWED = 64 << 20, 16 << 20
TOTAL = 1 << 30


def header(name: str, size: int, kind: bytes, form: int = tarfile.GNU_FORMAT) -> bytes:
    member = tarfile.TarInfo(name)
    member.size, member.type = size, kind
    return member.tobuf(form)


def from_guest(folder: Path, archive: bytes) -> set[str] | str:
    """The names of what a guest's channel gives, or the complaint."""
    (folder / "channel").write_bytes(
        b"profdiff: phase collect\nprofdiff: archive\n" + gzip.compress(archive, 1)
    )
    try:
        return GuestChannel(folder / "channel").archive(folder) or "nothing came"
    except ArchiveError as error:
        return str(error)


def from_machine(folder: Path, archive: bytes, errors: str = "") -> set[str] | str:
    """The same over an ssh that sends just that, and says ``errors`` (a shell command)."""
    (folder / "sent").write_bytes(archive)
    ssh = folder / "bin/ssh"
    ssh.parent.mkdir()
    ssh.write_text(f"#!/bin/sh\n{errors}\ncat {folder}/sent\n")
    ssh.chmod(0o755)
    path = os.environ["PATH"]
    os.environ["PATH"] = f"{ssh.parent}:{path}"
    try:
        files = {"x.sh": b"true\n"}
        run = MachineRun(
            Address("h"), script="x.sh", files=files, programs={}, folder=folder, timeout=60
        )
        while not run.poll():
            time.sleep(0.01)
        names = run.result(MEMBERS)
    finally:
        os.environ["PATH"] = path
    return names.message if isinstance(names, Failure) else names


BOTH = pytest.mark.parametrize("receiver", [from_guest, from_machine])
Receiver = Callable[[Path, bytes], set[str] | str]


@contextmanager
def little_memory() -> Iterator[None]:
    """Within it no more than ALLOWED is allocated at a time."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < ALLOWED
    finally:
        tracemalloc.stop()


@BOTH
def test_the_files_arrive(tmp_path: Path, receiver: Receiver) -> None:
    members = {"./stdout": b"x" * 3000, "status": b"exit 0\n", "../escape": b"", "x/state": b"no"}
    assert receiver(tmp_path, tar(members)) == {"stdout", "status"}
    assert (tmp_path / "stdout").read_bytes() == b"x" * 3000
    assert not (tmp_path.parent / "escape").exists()
    assert not list(tmp_path.glob(".archive.*"))


@BOTH
@pytest.mark.parametrize("kind", [b"x", b"g", b"L", b"K"])
def test_a_header_that_is_a_bomb(tmp_path: Path, receiver: Receiver, kind: bytes) -> None:
    """Of pax or GNU's long names: its length is its own to say."""
    archive = header("h", LARGE, kind) + bytes(LARGE) + tar({"status": b""})
    with little_memory():
        assert "a header in it is too large" in str(receiver(tmp_path, archive))
    assert not (tmp_path / "status").exists()


@BOTH
def test_a_bomb_behind_the_archive(tmp_path: Path, receiver: Receiver) -> None:
    archive = tar({"status": b"exit 0\n"}) + bytes(LARGE)
    assert "there is data after its end" in str(receiver(tmp_path, archive))
    assert not (tmp_path / "status").exists()


@BOTH
def test_more_members_than_a_run_leaves(tmp_path: Path, receiver: Receiver) -> None:
    """Each cost a kilobyte of memory, and gzip makes one of some bytes."""
    archive = header("other", 0, b"0") * 50_000
    assert "too many files" in str(receiver(tmp_path, archive))


@BOTH
def test_a_file_larger_than_it_can_be(tmp_path: Path, receiver: Receiver) -> None:
    archive = tar({"status": bytes(MEMBERS["status"] + 1)})
    assert "its status is larger than 1,048,576 bytes" in str(receiver(tmp_path, archive))
    assert not (tmp_path / "status").exists()


@BOTH
@pytest.mark.parametrize("cut", [1, 512, 1024, 1500])
def test_an_archive_that_is_cut_short(tmp_path: Path, receiver: Receiver, cut: int) -> None:
    archive = header("status", 100, b"0") + bytes(512) + bytes(512)
    assert "it is cut short" in str(receiver(tmp_path, archive[:-cut]))
    assert not (tmp_path / "status").exists()


class Counting(io.BytesIO):
    taken = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self.taken += len(data)
        return data


@pytest.mark.parametrize("behind", [bytes(LARGE), gzip.compress(b"") * 100_000])
def test_what_follows_gzip_is_not_read(tmp_path: Path, behind: bytes) -> None:
    """gzip(1) passes over zeros and reads one stream after the other."""
    stream = Counting(gzip.compress(tar({"status": b"exit 0\n"})) + behind)
    assert receive(Gunzip(stream, TOTAL), tmp_path, MEMBERS, TOTAL) == {"status"}
    assert stream.taken < 1 << 17


def test_gzip_that_holds_nothing_for_long(tmp_path: Path) -> None:
    """Empty blocks of deflate (RFC 1951, 3.2.4), and a name without an end in the header."""
    for head, filling in ((b"\0", b"\0\0\0\xff\xff"), (b"\x08", b"name!")):
        stream = Counting(b"\x1f\x8b\x08" + head + bytes(6) + filling * 2_000_000)
        with pytest.raises(ArchiveError, match="too large"):
            receive(Gunzip(stream, 1 << 20), tmp_path, MEMBERS, TOTAL)
        assert stream.taken < 1 << 21


def test_a_checksum_that_is_wrong(tmp_path: Path) -> None:
    data = bytearray(gzip.compress(tar({"status": b"exit 0\n"})))
    data[-6] ^= 1
    with pytest.raises(ArchiveError, match="damaged"):
        receive(Gunzip(io.BytesIO(data), TOTAL), tmp_path, MEMBERS, TOTAL)
    assert list(tmp_path.iterdir()) == []


def test_the_whole_is_limited(tmp_path: Path) -> None:
    """Also what is not wanted."""
    archive = tar({"other": bytes(100_000), "status": b""})
    assert receive(io.BytesIO(archive), tmp_path, MEMBERS, len(archive)) == {"status"}
    with pytest.raises(ArchiveError, match="too large"):
        receive(io.BytesIO(archive), tmp_path, MEMBERS, len(archive) - 1)


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("size", [(8 << 30) - 1, 8 << 30, 65 << 30])
def test_sizes_beyond_eight_gibibytes(tmp_path: Path, form: int, size: int) -> None:
    """In octal digits, in GNU's binary, and in pax's own words."""
    archive = header("perf.data", size, b"0", form)
    with pytest.raises(ArchiveError, match=r"perf\.data is larger than"):
        receive(io.BytesIO(archive), tmp_path, {"perf.data": size - 1}, TOTAL)
    with pytest.raises(ArchiveError, match="cut short"):
        receive(io.BytesIO(archive), tmp_path, {"perf.data": size}, TOTAL)


@pytest.mark.parametrize("options", [["tar"], ["tar", "--format=posix"], ["busybox", "tar"]])
def test_what_real_programs_pack(tmp_path: Path, options: list[str]) -> None:
    need_program(options[0], "busybox-static" if options[0] == "busybox" else None)
    out, folder = tmp_path / "out", tmp_path / "here"
    (out / "sub").mkdir(parents=True)
    folder.mkdir()
    (out / "stdout").write_bytes(bytes(range(256)) * 30)
    (out / "sub/stdout").write_text("not this one")
    (out / ("n" * 150)).write_text("a long name")
    (out / "stderr").symlink_to("/etc/passwd")
    os.mkfifo(out / "usage")
    os.link(out / "stdout", out / "x-hard")
    data = subprocess.run([*options, "-cf", "-", "."], cwd=out, check=True, capture_output=True)
    assert receive(io.BytesIO(data.stdout), folder, MEMBERS, TOTAL) <= {"stdout", "x-hard"}
    left = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert left == {"stdout": (out / "stdout").read_bytes()}


@settings(max_examples=examples(40))
@given(
    st.dictionaries(st.sampled_from(sorted(MEMBERS)), st.binary(max_size=1500), max_size=4),
    st.sampled_from(FORMATS),
)
def test_what_tarfile_packs_arrives(members: dict[str, bytes], form: int) -> None:
    packed = zlib.compressobj(wbits=31)
    data = packed.compress(tar(members, form)) + packed.flush()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        assert receive(Gunzip(io.BytesIO(data), TOTAL), folder, MEMBERS, TOTAL) == members.keys()
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == members


@settings(max_examples=examples(60))
@given(st.data())
def test_any_bytes_are_an_archive_or_refused(data: st.DataObject) -> None:
    form = data.draw(st.sampled_from(FORMATS))
    archive = bytearray(tar({"status": b"exit 0\n", "other": bytes(600), "stdout": b"hi"}, form))
    for _ in range(data.draw(st.integers(1, 4))):
        archive[data.draw(st.integers(0, len(archive) - 1))] = data.draw(st.integers(0, 255))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            names = receive(io.BytesIO(archive), folder, MEMBERS, TOTAL)
        except ArchiveError as error:
            assert str(error)
            names = set()
        assert {path.name for path in folder.iterdir()} == names <= MEMBERS.keys()


def test_a_line_that_never_ends(tmp_path: Path) -> None:
    """On the guest's channel."""
    (tmp_path / "channel").write_bytes(b"x" * LARGE + b"\nprofdiff: phase measure\n")
    channel = GuestChannel(tmp_path / "channel")
    with little_memory():
        for _ in range(LARGE // 65536 + 1):
            channel.poll()
    assert channel.phase == "measure"


def test_a_complaint_that_never_ends(tmp_path: Path) -> None:
    """On ssh's standard error."""
    errors = (
        f"head -c {LARGE} /dev/zero | tr '\\0' x >&2; printf '\\nprofdiff: phase measure\\n' >&2"
    )
    with little_memory():
        assert from_machine(tmp_path, tar({"status": b""}), errors) == {"status"}


def test_a_phase_is_one_of_ours(tmp_path: Path) -> None:
    (tmp_path / "channel").write_bytes(b"profdiff: phase settle\nprofdiff: phase \x1b[2J\n")
    channel = GuestChannel(tmp_path / "channel")
    channel.poll()
    assert channel.phase == "settle"


def test_this_machine_is_read_as_others_are(tmp_path: Path) -> None:
    """A workload can put a link or a pipe where its results go."""
    script = (
        'mkdir "$1/out"; cd "$1/out"; ln -s /etc/passwd stdout; mkfifo usage; mkdir stderr\n'
        "echo exit 0 > status\n"
    )
    run = MachineRun(
        Address(),
        script="x.sh",
        files={"x.sh": script.encode()},
        programs={},
        folder=tmp_path,
        timeout=60,
    )
    while not run.poll():
        time.sleep(0.01)
    assert run.result(MEMBERS) == {"status"}
    assert (tmp_path / "status").read_text() == "exit 0\n"


def test_large_text_is_compressed(tmp_path: Path) -> None:
    with (tmp_path / "kallsyms").open("wb") as file:
        file.truncate(LARGE)
    (tmp_path / "perf.data").write_bytes(b"PERFILE2")
    with little_memory():
        files = take_files(tmp_path, {"kallsyms", "perf.data"}, {"perf.data": "perf-data"})
    assert files == {"kallsyms": "kallsyms.gz", "perf-data": "perf.data"}
    with gzip.open(tmp_path / "kallsyms.gz") as packed:
        assert sum(len(part) for part in iter(lambda: packed.read(1 << 20), b"")) == LARGE
    assert not (tmp_path / "kallsyms").exists()


def test_the_end_of_what_was_said(tmp_path: Path) -> None:
    def left(files: dict[str, str]) -> Left:
        return Left(tmp_path, files, None, {}, emulated=True, has_marks=False)

    with (tmp_path / "stderr").open("wb") as file:
        file.truncate(LARGE)
        file.seek(0, 2)
        file.write(b"\nlast words\n")
    with little_memory():
        assert left({"stderr": "stderr"}).end("stderr").endswith(b"\nlast words\n")
    assert left({}).end("stderr") == b""


@pytest.mark.parametrize(
    "text", ["exit ²", "exit " + "9" * 5000, "signal ٣", "exit -1", "exec \x1b]0;x\x07", "\xff"]
)
def test_a_status_that_is_none(text: str) -> None:
    status, failure = exit_status(text.encode())
    assert status is None
    assert failure
    assert failure.message.isprintable()


@pytest.mark.parametrize(("name", "most"), [("channel", 512), ("console.log", 256)])
def test_a_guest_that_floods_a_port_is_ended(tmp_path: Path, name: str, most: int) -> None:
    """QEMU writes to the disk what a guest sends."""
    program = f"truncate -s {most + 1}M {tmp_path / name}; exec sleep 100"
    guest = GuestRun(["sh", "-c", program], tmp_path, timeout=60)
    while not guest.poll():
        time.sleep(0.01)
    with little_memory():
        failure = guest.result(MEMBERS)
    assert isinstance(failure, Failure)
    assert failure.message == f"the guest wrote more than {most} MiB to its {name}"


def test_a_machine_that_floods_the_disk_is_ended(tmp_path: Path) -> None:
    endless = "truncate -s 66G /proc/self/fd/1; exec sleep 100"
    assert from_machine(tmp_path, b"", endless) == "ssh://h sends more than 65 GiB"
