"""Writes small perf.data files of either byte order, in file or in pipe mode."""

import struct
from dataclasses import dataclass, field

IP, TID, TIME, READ, CALLCHAIN, ID, CPU, PERIOD = 1, 2, 4, 16, 32, 64, 128, 256
IDENTIFIER = 1 << 16
KERNEL, USER, HYPERVISOR, GUEST_KERNEL = 1, 2, 3, 4
CONTEXT_KERNEL, CONTEXT_USER = 2**64 - 128, 2**64 - 512
COMM_EXEC, MMAP_BUILD_ID = 1 << 13, 1 << 14


@dataclass
class Writer:
    """Collects records. ``order``: < or >. Each event has the id 10 + its number."""

    order: str = "<"
    events: int = 1
    sample_type: int = IDENTIFIER | IP | TID | TIME | PERIOD | CALLCHAIN
    read_format: int = 0
    records: list[bytes] = field(default_factory=list)

    def pack(self, layout: str, *values: int | bytes) -> bytes:
        """struct.pack in this file's byte order."""
        return struct.pack(self.order + layout, *values)

    def record(self, kind: int, misc: int, body: bytes) -> None:
        """Any record."""
        body += b"\0" * (-len(body) % 8)
        self.records.append(self.pack("IHH", kind, misc, 8 + len(body)) + body)

    def _told(self, kind: int, misc: int, body: bytes, time: int) -> None:
        # The trailer: TID, TIME, IDENTIFIER.
        body += b"\0" * (-len(body) % 8)
        self.record(kind, misc, body + self.pack("IIQQ", 0, 0, time, 10))

    def comm(self, pid: int, name: bytes, time: int, *, exec_: bool = False) -> None:
        """PERF_RECORD_COMM."""
        body = self.pack("II", pid, pid) + name + b"\0"
        self._told(3, COMM_EXEC if exec_ else 0, body, time)

    def fork(self, pid: int, parent: int, time: int) -> None:
        """PERF_RECORD_FORK of a process."""
        self._told(7, 0, self.pack("IIIIQ", pid, parent, pid, parent, time), time)

    def mmap2(
        self,
        pid: int,
        start: int,
        length: int,
        offset: int,
        path: bytes,
        time: int,
        *,
        build_id: bytes = b"",
        mode: int = USER,
    ) -> None:
        """PERF_RECORD_MMAP2, with a build id if given."""
        body = self.pack("IIQQQ", pid, pid, start, length, offset)
        if build_id:
            body += bytes([len(build_id), 0, 0, 0]) + build_id.ljust(20, b"\0")
        else:
            body += self.pack("IIQQ", 8, 1, 99, 0)
        body += self.pack("II", 5, 2) + path + b"\0"
        self._told(10, mode | (MMAP_BUILD_ID if build_id else 0), body, time)

    def sample(
        self,
        ip: int,
        chain: list[int],
        *,
        pid: int = 7,
        tid: int | None = None,
        time: int = 0,
        period: int = 1,
        event: int = 0,
        mode: int = USER,
        read: list[tuple[int, int]] | None = None,
    ) -> None:
        """PERF_RECORD_SAMPLE; ``read``: (id, value) of each member of a group."""
        body = self.pack("QQIIQ", 10 + event, ip, pid, tid or pid, time)
        body += self.pack("Q", period)
        if read is not None:
            body += self.pack("Q", len(read))
            for number, value in read:
                body += self.pack("QQ", value, number)
        body += self.pack(f"Q{len(chain)}Q", len(chain), *chain)
        self.record(9, mode, body)

    def _attribute(self, number: int) -> bytes:
        flags = 1 << 18  # sample_id_all
        if self.order == ">":
            flags = int(f"{flags:064b}"[::-1], 2)
        head = self.pack("IIQQQQQ", 1, 112, number, 1000, self.sample_type, self.read_format, flags)
        return head.ljust(112, b"\0")

    def file(self, *, data_size: int | None = None) -> bytes:
        """The file, as perf record -o writes it."""
        ids_at = 104
        ids = b"".join(self.pack("Q", 10 + n) for n in range(self.events))
        attributes_at = ids_at + len(ids)
        attributes = b"".join(
            self._attribute(n) + self.pack("QQ", ids_at + 8 * n, 8) for n in range(self.events)
        )
        data = b"".join(self.records)
        data_at = attributes_at + len(attributes)
        magic = b"PERFILE2" if self.order == "<" else b"2ELIFREP"
        size = len(data) if data_size is None else data_size
        sections = (attributes_at, len(attributes), data_at, size, 0, 0)
        header = magic + self.pack("QQ6Q4Q", 104, 128, *sections, 0, 0, 0, 0)
        return header + ids + attributes + data

    def pipe(self) -> bytes:
        """The stream, as perf record -o - writes it."""
        magic = b"PERFILE2" if self.order == "<" else b"2ELIFREP"
        out = magic + self.pack("Q", 16)
        for number in range(self.events):
            body = self._attribute(number) + self.pack("Q", 10 + number)
            out += self.pack("IHH", 64, 0, 8 + len(body)) + body
        return out + b"".join(self.records)
