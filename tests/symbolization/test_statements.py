"""Statements of a few functions are those that a reader of the whole file finds there."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from support import need_program

from profdiff.symbolization import _native

# One unit lies in one place, one in two sections, one is assembly.
UNITS = {
    "one.c": "int one(int n) { for (int i = 0; i < n; i++) n ^= i; return n; }\n",
    "two.c": "int one(int);\nint two(int n) { return one(n) + one(n + 1); }\n"
    '__attribute__((section(".early"))) int early(int n) { return two(n) * 3; }\n',
    "four.S": ".globl four\n.type four, @function\nfour:\n\tnop\n\tret\n.size four, .-four\n"
    '.section .note.GNU-stack,"",@progbits\n',
    "main.c": "int early(int); int four(void);\n"
    "int main(int c, char **v) { return early(c) + four(); }\n",
}
Row = tuple[int, str, int]


def found(program: Path, ranges: list[tuple[int, int]]) -> list[Row]:
    start, end = (np.array(column, np.uint64) for column in zip(*sorted(ranges), strict=True))
    svma, file, line, files = _native.statements(str(program), start, end)
    names = [files[number] for number in file.tolist()]
    return list(zip(svma.tolist(), names, line.tolist(), strict=True))


@pytest.mark.build
@pytest.mark.parametrize("dwarf", ["-gdwarf-5", "-gdwarf-4"])
def test_units_that_lie_elsewhere_have_none(tmp_path: Path, dwarf: str) -> None:
    need_program("cc", "gcc")
    for name, text in UNITS.items():
        (tmp_path / name).write_text(text)
    program = tmp_path / "program"
    subprocess.run(["cc", "-O2", dwarf, "-o", program, *UNITS], cwd=tmp_path, check=True)
    nm = subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in nm.splitlines()]
    functions = {
        row[3]: (int(row[0], 16), int(row[0], 16) + int(row[1], 16))
        for row in rows
        if len(row) == 4 and row[3] in ("one", "two", "early", "four", "main")
    }
    assert len(functions) == 5
    every = found(program, [(0, 1 << 40)])
    files = set()
    for start, end in functions.values():
        own = found(program, [(start, end)])
        assert own == [row for row in every if start <= row[0] < end]
        files.update(Path(name).name for _, name, _ in own)
    assert files == set(UNITS)
    assert found(program, [*functions.values()]) == [
        row for row in every if any(start <= row[0] < end for start, end in functions.values())
    ]
