"""What a module's code accesses: its sections have addresses only where a kernel loaded it."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from profdiff.symbolization._native import DataIndex, Kallsyms, SymbolIndex
from profdiff.symbolization.data_accesses import KINDS, REASONS, DataAccesses

pytestmark = pytest.mark.build

TEXT, DATA, KERNEL = 0xFFFFFFFFC0001000, 0xFFFFFFFFC0008000, 0xFFFFFFFF81000000
SOURCE = """
struct node { long key; struct node *next; int uses; };
struct box { int a; struct node inner; };
extern struct node *find_node(long key);
static struct box boxes[4];
int counter;
struct node *head;
extern long elsewhere;
__attribute__((noinline)) void fill(struct box *from, long at) { boxes[at] = *from; }
__attribute__((noinline)) int first(struct node *node)
{
	node->uses++;
	counter += 1;
	return boxes[node->key & 3].inner.uses;
}
__attribute__((noinline)) long second(long key)
{
	struct node *found = find_node(key);
	return found->next->uses + head->key + elsewhere;
}
"""
# The lines that objdump prints of instructions: address and bytes.
_LINE = re.compile(r"^\s*([0-9a-f]+):\t((?:[0-9a-f]{2} )+)", re.M)


def run(*command: str | Path) -> str:
    """What a command prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> DataAccesses:
    """All of the module's code ran, where the linker put it for want of a kernel that loads it."""
    folder = tmp_path_factory.mktemp("module")
    source, file, loaded = folder / "made.c", folder / "made.ko", folder / "loaded"
    source.write_text(SOURCE)
    flags = ("-O2", "-g", "-mcmodel=kernel", "-fno-pic", "-fno-pie", "-ffreestanding")
    run("gcc", *flags, "-fno-stack-protector", "-c", source, "-o", file)
    symbols = (f"--defsym=find_node={KERNEL:#x}", f"--defsym=elsewhere={KERNEL + 0x1000:#x}")
    places = (f"-Ttext={TEXT:#x}", f"-Tdata={DATA:#x}")
    run("ld", *symbols, *places, "-e", "0", file, "-o", loaded)
    found = _LINE.findall(run("objdump", "-d", "-w", loaded))
    address = np.array([int(at, 16) for at, _ in found], np.uint64)
    code = np.zeros((len(found), 16), np.uint8)
    for row, (_, text) in enumerate(found):
        data = bytes.fromhex(text)
        code[row, : len(data) + 1] = [len(data), *data]
    named = [line.split() for line in run("nm", loaded).splitlines()]
    text = [
        f"{at} {kind} {name}" + ("" if name in ("find_node", "elsewhere") else "\t[made]")
        for at, kind, name in named
    ]
    # Absolute symbols are the kernel's here.
    kallsyms = Kallsyms("\n".join(text).replace(" A ", " T ").encode())
    (sections,) = [one for one in SymbolIndex.open(str(file)).sections() if one[0] == ".text"]
    index = DataIndex.open(str(file))
    assert index is not None
    columns = index.accesses("x86_64", [(sections[1], sections[2], TEXT)], kallsyms, address, code)
    assert columns is not None
    known = DataAccesses(**columns)
    known.check()
    return known


def told(module: DataAccesses) -> set[tuple[str, str, str, str]]:
    """Kind, type, variable and field of each access but those of the stack."""
    strings = module.strings
    rows = zip(module.kind, module.type, module.symbol, module.field, strict=True)
    every = {(KINDS[kind], *(strings[one] for one in texts)) for kind, *texts in rows}
    return {one for one in every if one[0] not in ("push", "call", "spill")}


def test_everything_has_its_name(module: DataAccesses) -> None:
    found = told(module)
    assert ("field", "node", "", "uses") in found
    assert ("field", "node", "", "key") in found
    assert ("global", "int", "counter", "") in found
    assert ("global", "struct node *", "head", "") in found
    # By the type that the module declares of the kernel's function.
    assert ("field", "node", "", "next") in found
    # Of the kernel's variables a module has no address, but a type if it declares them.
    assert any(one[0] == "global" and one[2] == "elsewhere" for one in found)
    boxes = {one[3] for one in found if one[2] == "boxes"}
    assert "[].inner.uses" in boxes
    unresolved = [REASONS[reason] for reason in module.reason[module.is_kind("unresolved")]]
    assert unresolved == []
