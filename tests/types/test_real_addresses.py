"""Which data a kernel's code accesses, against the addresses that it did access: those of
variables, of pages, of stacks, and of objects of the slab allocator, whose caches say what they
are."""

import random
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from data_oracles.addresses import AddressJudge, said_of, unexplained
from data_oracles.guest import logged
from data_oracles.mistakes import replaced, shifted
from data_oracles.rows import Answer
from extent import examples
from qemus import NIGHTLY
from support import need_kernel, need_program

from profdiff.collectors.architecture import X86_64
from profdiff.collectors.exact.entry import Exact
from profdiff.symbolization import data_accesses as known

pytestmark = [pytest.mark.guest, pytest.mark.kernel, pytest.mark.slow]


@pytest.mark.parametrize("kernel", [pytest.param("v6.12.107", marks=NIGHTLY), "v7.1.8"])
def test_every_name_fits_the_addresses_and_mistakes_do_not(
    kernel: str, fixture_vmlinux: Callable[[str], Path], tmp_path: Path
) -> None:
    qemu = Exact().emulator(X86_64, None)
    log = logged(qemu, need_kernel(kernel) / "bzImage", tmp_path)
    vmlinux = fixture_vmlinux(kernel)
    judge, rows = AddressJudge(vmlinux, log), said_of(vmlinux, log)
    found = judge.judge(rows)
    assert [(hex(row.address), row.record, row.path, hex(at)) for row, at in found.wrong] == []
    assert found.right["field"] > 3000
    assert found.right["global"] + found.right["per-cpu"] > 1500
    # Of mistakes it would find most: what it does not say is right only as far as this goes.
    named = [row for row in found.tested if row.kind in ("field", "global", "per-cpu")]
    fixed = [row for row in named if "[]" not in row.path and not row.flags & int(known.COMPUTED)]
    chance = random.Random(5)
    moved = [shifted(row, chance) for row in fixed]
    others = [other for row in named if (other := replaced(row, named, chance))]
    for mistakes in (moved, others):
        caught = sum(judge.verdict(row, judge.addresses(row)) is False for row in mistakes)
        assert caught > 0.85 * len(mistakes)
    assert offsets_of_gdb(vmlinux, fixed, tmp_path) == []
    # Where all calls are known, one of them gave what was accessed.
    given = [row for row in rows if row.origins and "?" not in row.origins]
    right, amiss = unexplained(judge, given)
    assert [(hex(row.address), row.origins, hex(at)) for row, at in amiss] == []
    assert right > 1000
    moved = [row._replace(origins=tuple(map(behind, row.origins))) for row in given]
    assert len(unexplained(judge, moved)[1]) > 0.8 * right


def behind(origin: str) -> str:
    """A place where nothing is that a call gave."""
    place, sign, offset = re.fullmatch(r"(.*)([@+])(-?\d+)", origin).groups()
    return f"{place}{sign}{int(offset) + 24}"


def offsets_of_gdb(vmlinux: Path, rows: Sequence[Answer], folder: Path) -> list[str]:
    """The fields of structs, of 400 in a nightly run, that gdb does not have where they are
    accessed. gdb takes most of its time to read the units of the structs, of each for itself."""
    named = {
        (row.record, row.path): row.offset
        for row in rows
        if row.kind == "field" and row.path and "(" not in row.path
        if not row.flags & int(known.BIT_FIELD)
    }
    count = examples(400)
    some = random.Random(7).sample(sorted(named), min(count, len(named)))
    script = folder / "offsets.gdb"
    # What gdb does not know as a struct is a union or a typedef. It looks for each struct once.
    lines = ["python", "from functools import cache", "@cache", "def null(record):"]
    lines.append("    return gdb.parse_and_eval(f'(struct {record} *) 0')")
    lines += ["def tell(record, path):", "    try:", "        field = null(record)"]
    lines.append("        for part in path.split('.'): field = field[part]")
    lines.append("        print('told', int(field.address), field.type.sizeof)")
    lines.append("    except gdb.error: print('told', -1, 0)")
    lines += [f"tell({record!r}, {path!r})" for record, path in some]
    script.write_text("\n".join([*lines, "end", ""]))
    command = [need_program("gdb"), "-nx", "-batch", "-x", script, vmlinux]
    said = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    told = [[int(one) for one in line.split()[1:]] for line in said if line.startswith("told")]
    assert len(told) == len(some)
    assert sum(start >= 0 for start, _ in told) > 0.9 * len(some) > 0.75 * count
    return [
        f"{record}.{path}: {named[record, path]}, gdb {start} to {start + size}"
        for (record, path), (start, size) in zip(some, told, strict=True)
        # Parts of fields are accessed, too.
        if start >= 0 and not start <= named[record, path] < start + max(size, 1)
    ]
