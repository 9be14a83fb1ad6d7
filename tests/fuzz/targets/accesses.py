"""What code accesses, by the DWARF of a file; and what a session keeps of that."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fuzz.target import Target
from fuzz.targets.elf import MUTATIONS, compiled
from profdiff.base.errors import ProfdiffError
from profdiff.symbolization._native import (
    DataIndex,
    Kallsyms,
    NativeError,
    SymbolIndex,
    elf_code,
    split_code,
)
from profdiff.symbolization.data_accesses import DataAccesses

_SOURCE = """
struct node { struct node *next; int uses; unsigned bit:3, rest:5; long words[4]; };
union both { struct node node; char text[64]; };
struct node *head; static union both table[4]; int count;
__attribute__((noinline)) int walk(struct node *at, int n)
{
	int sum = 0;
	for (; at; at = at->next) { sum += at->uses + at->words[n & 3]; at->bit = n; count++; }
	return sum;
}
int main(int argc, char **argv)
{
	union both own = table[argc & 3];
	switch (argc) {
	case 1: own.node.uses = 1; break; case 2: table[1] = own; break;
	case 3: head = &own.node; break;
	case 4: own.text[3] = 1; break; case 5: count = 5; break;
	}
	return walk(head, argc) + walk(&own.node, own.node.uses);
}
"""
# Where a kernel has the code, and how much of it runs.
_START, _MOST = 0xFFFF_FFFF_8100_0000, 4096
_KALLSYMS = b"ffffffff81100000 d head\t[made]\nffffffff81100100 d table\t[made]\n"


def _seeds() -> list[bytes]:
    return [
        compiled(_SOURCE, "-no-pie", "-gdwarf-4"),
        compiled(_SOURCE, "-no-pie", "-gdwarf-5"),
        compiled(_SOURCE, "-O1", "-gdwarf-5", "-c"),
        compiled(_SOURCE, "-gz=zlib", "-no-pie"),
    ]


def _instructions(text: bytes, architecture: str) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
    """Address and code of each."""
    length = split_code(architecture, text).astype(np.int64)
    start = np.cumsum(length) - length
    code = np.zeros((len(length), 16), np.uint8)
    code[:, 0] = length
    for row, (at, size) in enumerate(zip(start.tolist(), length.tolist(), strict=True)):
        code[row, 1 : 1 + size] = list(text[at : at + size])
    return start.astype(np.uint64) + np.uint64(_START), code


def _read(data: bytes, folder: Path) -> str:
    """All of its code ran."""
    path = str(folder / "vmlinux")
    Path(path).write_bytes(data)
    sections = [one for one in SymbolIndex.open(path).sections() if one[0] == ".text"]
    index = DataIndex.open(path)
    told = []
    for _, svma, size in sections[:1] if index else ():
        size = min(size, _MOST)
        where = np.array([svma], np.uint64), np.array([size], np.uint64)
        (text,) = elf_code(path, *where)
        for architecture in ("x86_64", "arm64"):
            address, code = _instructions(text, architecture)
            placed = [(svma, size, _START)]
            assert index
            found = index.accesses(architecture, placed, Kallsyms(_KALLSYMS), address, code)
            assert found is not None
            known = DataAccesses(**found)
            known.check()
            known.save(folder / "kept")
            assert DataAccesses.load(folder / "kept").strings == known.strings
            told += known.strings
    return "\n".join(repr(one) for one in told)


REFUSALS = (ProfdiffError, NativeError)
TARGETS = (Target("accesses", _seeds, _read, 800, REFUSALS, MUTATIONS),)
