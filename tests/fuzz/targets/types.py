"""Types as DWARF and BTF have them."""

from pathlib import Path

from fuzz.target import Target
from fuzz.targets.elf import MUTATIONS, compiled, sections_of
from profdiff.reports.layout import render_text
from profdiff.symbolization.type_layout import layouts
from profdiff.views.layout import build

_SOURCE = """
typedef struct { int counter; } atomic_t;
struct inner { char a; long b; };
struct outer {
	const volatile struct inner *first;
	struct { union { atomic_t count; unsigned long flags:5, :3, more:8; }; };
	struct inner second, third[3][2];
	void (*call)(int);
	struct outer *next;
	char text[];
};
union both { struct outer whole; long words[2]; };
struct outer one; union both other; atomic_t number;
int main(void) { return one.third[0][1].a + number.counter + other.words[0]; }
"""
_NAMES = ["outer", "both", "atomic_t", "outer.second", "inner", "outer.count", "nobody"]


def _seeds() -> list[bytes]:
    btf = compiled(_SOURCE, "-g0", "-gbtf", "-c")
    # It begins with its magic number; .bss, which has no bytes, is said to begin there, too.
    places = [(size, at) for _, at, size in sections_of(btf) if btf[at:][:2] == b"\x9f\xeb"]
    size, start = max(places)
    return [
        compiled(_SOURCE, "-gdwarf-4"),
        compiled(_SOURCE, "-gdwarf-5", "-fdebug-types-section"),
        compiled(_SOURCE, "-gdwarf-5", "-c"),
        compiled(_SOURCE, "-gz=zlib"),
        compiled(_SOURCE, "-g0", "-gbtf"),
        btf[start : start + size],
    ]


def _read(data: bytes, folder: Path) -> str:
    path = folder / "types"
    path.write_bytes(data)
    found = layouts(path, _NAMES)
    return render_text(build(_NAMES, {"a": "a", "b": "b"}, {"a": found, "b": found}), width=100)


TARGETS = (Target("types", _seeds, _read, 1500, mutations=MUTATIONS),)
