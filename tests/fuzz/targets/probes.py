"""Where a function begins and what holds its variables there, by the DWARF of a file; and what the
plugin read of them."""

from pathlib import Path

from fuzz.target import Target
from fuzz.targets.elf import MUTATIONS, compiled
from profdiff.base.errors import ProfdiffError
from profdiff.collectors.exact import probes
from profdiff.symbolization._native import NativeError, probed

_SOURCE = """
struct pair { long one, two; };
static inline int twice(int n, struct pair by) { int m = n * 2 + (int)by.two; return m + 1; }
__attribute__((noinline)) int walk(struct pair *at, int n, unsigned char c, long a, long b, long d,
	long e) { return twice(n + c, *at) + (int)(a + b + d + e); }
int main(int argc, char **argv)
{
	struct pair own = { argc, 5 };
	return walk(&own, argc, 3, 4, 5, 6, 7) + twice(argc, own);
}
"""
_HOW = {"value", "memory", "frame", "constant", "return", "nothing"}
_PROBES = 3


def _files() -> list[bytes]:
    return [
        compiled(_SOURCE, "-no-pie", "-gdwarf-4"),
        compiled(_SOURCE, "-no-pie", "-O2", "-gdwarf-5"),
        compiled(_SOURCE, "-O1", "-gdwarf-5", "-c"),
    ]


def _look(data: bytes, folder: Path) -> str:
    path = folder / "vmlinux"
    path.write_bytes(data)
    told = []
    for function, variable in (
        ("walk", "n"),
        ("walk", "e"),
        ("twice", "m"),
        ("main", "none"),
        ("walk", "return"),
        ("twice", "return"),
    ):
        for architecture in ("x86_64", "aarch64", "other"):
            found = probed(str(path), architecture, function, variable)
            for begin in found[0] if found else ():
                assert begin[2] in _HOW
                assert begin[6] <= 8
                assert (begin[2] == "nothing") == bool(begin[5])
                told += [begin[1], begin[5]]
    return "\n".join(repr(one) for one in told)


def _written() -> list[bytes]:
    lines = ["place 0 ffffffff81000000 12 2", "place 2 0000000000000000 0 0"]
    lines += [f"value {n % 2} {1 - n} {n + 1}" for n in range(20)] + ["others 0 7"]
    return ["".join(f"{line}\n" for line in lines).encode(), b""]


def _read(data: bytes, folder: Path) -> None:
    path = folder / "counts.probes"
    path.write_bytes(data)
    found = probes.read(path, _PROBES)
    assert len(found) == _PROBES
    for one in found:
        assert 0 <= one.unread <= one.calls
        assert min(one.counts.values(), default=1) > 0
        assert list(one.counts) == sorted(one.counts)


TARGETS = (
    Target("probed", _files, _look, 800, (ProfdiffError, NativeError), MUTATIONS),
    Target("probes", _written, _read, 2000, words=[b"place 1 ", b"value 2 ", b"others 0 "]),
)
