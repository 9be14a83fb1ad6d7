"""What a run of trace leaves: ftrace's text, what it says of its buffers, and the histogram."""

from pathlib import Path

from fuzz.structured import in_lines
from fuzz.target import Target
from profdiff.base.errors import InputError
from profdiff.collectors.trace.calls import Calls, Histogram
from profdiff.recording.replay import written

_NAMES = ["outer", "inner"]
_TRACE = b"""# tracer: function_graph
#
#     DURATION                  FUNCTION CALLS
#      |   |                     |   |   |   |
               |  outer() {
   0.123 us    |    inner();
 + 12.5 us     |    inner.isra.0 [made]();
 ! 10234.5 us  |  } /* outer */
"""
_BUFFERS = b"entries: 6\noverrun: 0\ncommit overrun: 0\ndropped events: 0\n"
_END = b"\0"


def _seeds() -> list[bytes]:
    return [_BUFFERS + _END + _TRACE, _END + _TRACE * 50, _END]


def _read(data: bytes, folder: Path) -> None:
    buffers, _, text = data.partition(_END)
    calls = Calls(text, buffers, _NAMES)
    measured = calls.measured()
    assert all(0 <= one.counted_part <= 1 and one.values for one in measured)
    file = folder / "histogram.json"
    file.write_bytes(calls.histogram())
    kept = sum(sum(one.calls) for one in Histogram.load(file).functions)
    assert kept == calls.kept


def _read_histogram(data: bytes, folder: Path) -> None:
    file = folder / "histogram.json"
    file.write_bytes(data)
    Histogram.load(file)


_STRACE = b"""\
7 openat(AT_FDCWD</w>, "a/\\303\\244", O_RDWR|O_CREAT, 0644) = 3</w/a/b>
7 mmap(0x7f10, 8192, PROT_READ, MAP_PRIVATE|MAP_FIXED, 3</w/a/b>, 0x1000) = 0x7f10
7 clone3({flags=CLONE_VM|CLONE_FILES, exit_signal=0} <unfinished ...>
8 pipe2([4<pipe:[1]>, 5<pipe:[1]>], O_CLOEXEC) = 0
7 <... clone3 resumed>) = 8
8 write(5, "ab", 2) = 2
8 read(4, "ab", 9) = 2
8 dup2(4, 9) = 9
7 getdents64(3, 0x55 /* 12 entries */, 32768) = 100
7 readlink("/l", "../x", 99) = 4
7 newfstatat(3, "", {st_mode=S_IFREG|0644, st_size=70, ...}, AT_EMPTY_PATH) = 0
7 renameat2(AT_FDCWD, "a", AT_FDCWD, "/none/b", 0) = -1 ENOENT (No such file or directory)
7 brk(NULL) = 0x5500
7 brk(0x7500) = 0x7500
7 exit_group(0) = ?
"""


def _read_strace(data: bytes, folder: Path) -> None:
    (folder / "a.strace").write_bytes(data)
    file, told = written(folder / "a.strace", folder)
    text = file.read_text("ascii")
    lines = text.splitlines()
    assert told.calls == told.replayed + sum(told.left_out.values())
    assert sum(line.startswith("C ") for line in lines) == told.replayed
    numbers = list(map(int, lines[0].split()[2:]))
    assert len(lines) - 2 == numbers[0] + numbers[1] + numbers[4]


TARGETS = (
    Target(
        "strace",
        lambda: [_STRACE],
        _read_strace,
        cases=1000,
        refusals=(InputError,),
        mutations=[in_lines],
        words=[
            b" <unfinished ...>",
            b" resumed>",
            b" = -1 EINVAL",
            b"O_DIRECTORY|",
            b'"/proc/self/x"',
        ],
    ),
    Target("function-graph", _seeds, _read, cases=2000, words=[b" us", b"|", b"} /*", b"();"]),
    Target(
        "histogram",
        lambda: [Calls(_TRACE, _BUFFERS, _NAMES).histogram()],
        _read_histogram,
        cases=2000,
        words=[b'"calls":[', b'"part":1.0', b"profdiff.trace/1"],
    ),
)
