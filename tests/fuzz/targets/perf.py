"""Recordings as ``profdiff diff`` reads them: perf.data, perf script's text, folded stacks."""

import gzip
import struct
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random

from perf_data.writer import CONTEXT_KERNEL, CONTEXT_USER, KERNEL, Writer
from support import SHARED

from fuzz.commands import REFUSALS, reported
from fuzz.mutation import integer
from fuzz.structured import in_gzip, in_lines
from fuzz.target import Target

_K = 0xFFFF_FFFF_8100_0000
_HEADER = struct.Struct("<8sQQ6Q4Q")
_RECORDS = 4096


def written(order: str) -> Writer:
    """Processes, programs, the kernel and a symbol that it made."""
    w = Writer(order, events=2)
    w.mmap2(2**32 - 1, _K, 2**24, _K, b"[kernel.kallsyms]_text", 0, mode=KERNEL)
    w.comm(7, b"first", 0, exec_=True)
    w.mmap2(7, 0x40_0000, 0x1000, 0x2000, b"/bin/first", 1, build_id=b"\xaa" * 20)
    w.mmap2(7, 0x7F00_0000, 0x1000, 0, b"//anon", 1)
    w.mmap2(7, 0x7FFF_0000, 0x1000, 0, b"[vdso]", 1)
    w.sample(0x40_0010, [CONTEXT_USER, 0x40_0010, 0x40_0021], time=50, period=3)
    w.fork(8, 7, 20)
    w.sample(0x7F00_0010, [CONTEXT_USER, 0x7F00_0010, 0x7FFF_0010], pid=8, time=25, event=1)
    w.comm(8, b"second", 30, exec_=True)
    w.mmap2(8, 0x40_0000, 0x1000, 0, b"/bin/second", 31)
    chain = [CONTEXT_KERNEL, _K + 4, _K + 0x101, CONTEXT_USER, 0x40_0030, 0x40_0041]
    w.sample(_K + 4, chain, time=10, period=11, mode=KERNEL)
    # PERF_RECORD_KSYMBOL of a BPF program.
    w.record(17, 0, w.pack("QIHH", _K + 2**25, 64, 1, 0) + b"bpf_prog_1\0" + bytes(21))
    w.sample(_K + 2**25, [CONTEXT_KERNEL, _K + 2**25], time=60, mode=KERNEL)
    return w


def _shortened(file: Path) -> bytes:
    """The first records of a recording, with its header's features as they are."""
    data = file.read_bytes()
    magic, size, attribute, *numbers = _HEADER.unpack_from(data)
    start, length = numbers[2], numbers[3]
    end = start
    while end < start + min(length, _RECORDS):
        end += struct.unpack_from("<H", data, end + 6)[0]
    gone = start + length - end
    features = sum(bits.bit_count() for bits in numbers[6:])
    table = b""
    for row in range(features):
        offset, width = struct.unpack_from("<QQ", data, start + length + 16 * row)
        table += struct.pack("<QQ", offset - gone, width)
    numbers[3] = end - start
    header = _HEADER.pack(magic, size, attribute, *numbers)
    rest = data[start + length + len(table) :]
    return header + data[len(header) : end] + table + rest


@cache
def _perf_seeds() -> list[bytes]:
    made = [written("<").file(), written(">").file(), written("<").pipe()]
    real = sorted((SHARED / "perf-data").glob("*.perf.data"))
    return [*made, *(_shortened(file) for file in real), gzip.compress(made[0], mtime=0)]


def in_record(random: Random, data: bytes) -> bytes:
    """A number in a record, or a record's size: found by walking as readers do."""
    if len(data) < 104 or data[:8] != b"PERFILE2":
        return data
    start, length = struct.unpack_from("<QQ", data, 40)
    at, found = start, []
    while at + 8 <= min(len(data), start + length) and len(found) < 2000:
        found.append(at)
        at += max(struct.unpack_from("<H", data, at + 6)[0], 8)
    if not found:
        return data
    at = random.choice(found)
    kind, misc, size = struct.unpack_from("<IHH", data, at)
    action = random.randrange(4)
    if action == 0:
        head = struct.pack("<IHH", random.choice((*range(20), *range(64, 84))), misc, size)
    elif action == 1:
        head = struct.pack("<IHH", kind, misc, integer(random, 2))
    elif action == 2:
        head = struct.pack("<IHH", kind, integer(random, 2), size)
    else:
        head = data[at : at + 8]
        place = at + 8 + 8 * random.randrange(max(size // 8 - 1, 1))
        changed = integer(random, 8).to_bytes(8, "little")
        data = data[:place] + changed + data[place + 8 :]
    return data[:at] + head + data[at + 8 :]


def _read(base: bytes, data: bytes, folder: Path) -> str:
    (folder / "base").write_bytes(base)
    (folder / "new").write_bytes(data)
    # One is also shown alone: without a base there are other paths.
    names: Sequence[str] = ["base=base", "new=new"] if len(data) % 2 else ["new=new"]
    return reported(data, "diff", *names, folder=folder)


def _read_perf(data: bytes, folder: Path) -> str:
    return _read(_perf_seeds()[0], data, folder)


_SCRIPT = b"""\
work  7/7   1000.000001:       5000 cpu-clock:
\tffffffff81000010 change_pte_range+0x10 ([kernel.kallsyms])
\tffffffff81000100 do_mprotect_pkey+0x20 ([kernel.kallsyms])
\t          401136 main+0x6 (/home/user/work)

my work  8/9 [003]  1000.000006:       7000 cycles:u:
\t          401140 f(int, char const*)+0x6 (/home/user/a program)
\t    7f0000001000 [unknown] (/usr/lib/libc.so.6)
\t          401136 main (inlined)

work  7   1000.000011: 1 instructions:  ffffffff81000010 change_pte_range ([kernel.kallsyms])
work  7 [001]   1000.000012: sched:sched_switch: prev_comm=work prev_pid=7 ==> next_comm=dd
work  7   1000.000013: PERF_RECORD_LOST lost 7
dd  1000003 cycles:
\t          401136 main
"""
_SIMPLEPERF = b"""\
sample:
  event_type: cpu-cycles
  event_count: 70
  file: /system/lib64/libc.so
  symbol: f(int)
  callchain:
    file: /work
    symbol: work[+12]
lost_situation:
  lost_count: 4
"""
FOLDED = [
    b"work;main;do_syscall_64_[k];change_pte_range_[k] 1200\nwork;main 3\n",
    b"main;a;b;c 1\nmain;a;b 2\nmain;f(int, char const*);[unknown] 7\n",
    b"work;main;[unresolved: no-symbol];x.isra.0_[k] 12\nwork;main_[i];y_[j] 4\n",
]


def _read_script(data: bytes, folder: Path) -> str:
    return _read(_SCRIPT, data, folder)


def _read_folded(data: bytes, folder: Path) -> str:
    return _read(FOLDED[0], data, folder)


def _words() -> list[bytes]:
    events = [
        b"cpu-clock\0",
        b"\x1b]0;x\x07",
        b"[kernel.kallsyms]_stext",
        b"/dev/zero",
        b"/etc/passwd",
    ]
    return [*events, b"../../../x", b"\xff" * 16, b"[heap]", b"memfd:x (deleted)"]


TARGETS = (
    Target(
        "perf-data",
        _perf_seeds,
        _read_perf,
        cases=150,
        refusals=REFUSALS,
        mutations=[in_record, in_record, in_gzip],
        words=_words(),
    ),
    Target(
        "script-text",
        lambda: [_SCRIPT, _SIMPLEPERF, gzip.compress(_SCRIPT, mtime=0), _SCRIPT * 20],
        _read_script,
        cases=150,
        refusals=REFUSALS,
        mutations=[in_lines, in_gzip],
        words=[
            b"(inlined)",
            b"+0x",
            b": ",
            b"([kernel.kallsyms])",
            b"cycles:u:",
            b"\t",
            b"ffffffff",
        ],
    ),
    Target(
        "folded",
        lambda: [*FOLDED, gzip.compress(FOLDED[0], mtime=0)],
        _read_folded,
        cases=150,
        refusals=REFUSALS,
        mutations=[in_lines, in_gzip],
        words=[
            b";",
            b"_[k]",
            b"_[i]",
            b"[unresolved: ",
            b"]",
            b" 18446744073709551616\n",
            b" 1e9\n",
        ],
    ),
)
