"""What a guest or a machine sends back: the serial port's archive, and ssh's."""

import gzip
import io
import tarfile
from pathlib import Path
from random import Random

from tars import tar

from fuzz.mutation import integer, mutate
from fuzz.structured import gzipped, in_gzip
from fuzz.target import Mutation, Target
from profdiff.collectors.guest.archive import ArchiveError, receive
from profdiff.collectors.guest.delivery import MEMBERS, GuestChannel
from profdiff.collectors.guest.result import Left, take_files
from profdiff.collectors.perf.entry import Perf
from profdiff.collectors.timed import Timed
from profdiff.collectors.workload.usage import parse_usage

_MEMBERS = {**MEMBERS, **Perf().leaves}
_PERF_OPTIONS = {
    "events": None,
    "count": None,
    "frequency": None,
    "call_graph": "fp",
    "perf_args": [],
}
_MARK = b"profdiff: archive\n"
_TEXT = b"[    0.00] Linux\nprofdiff: phase settle\nprofdiff: phase measure\n"


def _archives() -> list[bytes]:
    files = {"stdout": b"hello\n", "status": b"exit 0\n", "dmesg": b"[0.1] x\n" * 100}
    files["usage"] = b"wall_ns 5 minor_faults 7 stdout_end 3\nwall_ns 6 stdout_end 6\n"
    long = {"stderr": b"x\n", "a" * 300: b"y", "perf.data": bytes(3000), "attempt": b"2\n"}
    return [
        tar(files),
        tar(long, tarfile.GNU_FORMAT),
        tar({**long, "ä": b"z"}, tarfile.PAX_FORMAT),
    ]


def in_tar(random: Random, data: bytes) -> bytes:
    """A field of a header, with the checksum right: type, size, name, link, or any byte."""
    data = data.ljust(512, b"\0")
    headers = [at for at in range(0, len(data) - 511, 512) if data[at + 257 : at + 262] == b"ustar"]
    if not headers:
        return mutate(random, data)
    at = random.choice(headers)
    head = bytearray(data[at : at + 512])
    action = random.randrange(7)
    if action == 0:
        head[156] = random.choice(b"01234567LKxgXSVMDN\0A")
    elif action == 1:
        size = random.choice((0, 1, 511, 513, 2**33 - 1, len(data), random.getrandbits(20)))
        head[124:136] = f"{size:011o}\0".encode()
    elif action == 2:
        # Base 256, for what octal digits do not hold; negative too.
        head[124] = random.choice((0x80, 0xFF))
        head[125:136] = (integer(random, 8) & (2**63 - 1)).to_bytes(11, "big")
    elif action == 3:
        names = [
            *sorted(_MEMBERS),
            "../stdout",
            "/stdout",
            "./stdout",
            ".",
            "",
            "\x1b[2J",
            "stdout/x",
        ]
        head[:100] = random.choice(names).encode().ljust(100, b"\0")
    elif action == 4:
        head[157:257] = random.choice((b"/etc/passwd", b"../..", b"stdout")).ljust(100, b"\0")
    elif action == 5:
        head[:] = mutate(random, bytes(head)).ljust(512, b"\0")[:512]
    else:
        end = at + 512 * random.randrange(1, 4)
        data = data[:at] + data[at:end] * int(2 ** random.uniform(1, 10)) + data[end:]
    head[148:156] = b" " * 8
    head[148:156] = f"{sum(head):06o}\0 ".encode()
    return data[:at] + bytes(head) + data[at + 512 :]


def _behind_mark(change: Mutation) -> Mutation:
    def changed(random: Random, data: bytes) -> bytes:
        head, mark, packed = data.partition(_MARK)
        return head + mark + change(random, packed)

    return changed


_packed_tar = gzipped(in_tar)


def _judged(folder: Path, names: set[str]) -> str:
    """What is said of a run that left these files."""
    assert names <= _MEMBERS.keys()
    assert {path.name for path in folder.iterdir()} - {"channel"} == names
    files = take_files(folder, names, Perf().called)
    results = [
        one.judge(Left(folder, files, None, options, emulated=True, has_marks=False))
        for one, options in ((Perf(), _PERF_OPTIONS), (Timed(), {"metrics": []}))
    ]
    if "usage" in files:
        for usage in parse_usage((folder / "usage").read_bytes(), b"1.5 s\n"):
            assert all(value >= 0 for value in usage.values.values())
    return "\n".join(result.failure.message for result in results if result.failure)


def _read_channel(data: bytes, folder: Path) -> str:
    (folder / "channel").write_bytes(data)
    channel = GuestChannel(folder / "channel")
    for _ in range(3):
        channel.poll()
    assert len(channel.phase) < 100
    return _judged(folder, channel.archive(folder, _MEMBERS) or set())


def _read_archive(data: bytes, folder: Path) -> str:
    return _judged(folder, receive(io.BytesIO(data), folder, _MEMBERS, 1 << 26))


# What callers make a failed run of.
_REFUSALS = (ArchiveError,)
TARGETS = (
    Target(
        "channel",
        lambda: [_TEXT + _MARK + gzip.compress(data, mtime=0) for data in _archives()],
        _read_channel,
        cases=300,
        refusals=_REFUSALS,
        mutations=[_behind_mark(in_gzip), _behind_mark(_packed_tar), _behind_mark(_packed_tar)],
        words=[b"profdiff: phase ", _MARK, b"\n"],
    ),
    Target(
        "machine-archive",
        _archives,
        _read_archive,
        cases=300,
        refusals=_REFUSALS,
        mutations=[in_tar, in_tar],
        words=[b"ustar\x0000", b"path=../../x\n", b"30 size=99999999999999\n"],
    ),
)
