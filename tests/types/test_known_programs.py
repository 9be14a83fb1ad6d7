"""Which fields code accesses, of programs that were made so that it is known: by the lines that
compilers say instructions belong to."""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from data_oracles.answers import Judge, Verdict
from data_oracles.compiled import COMPILERS, Compiled, Compiler, compiled
from data_oracles.programs import Maker
from data_oracles.rows import Answer, answers
from extent import examples
from support import need_program

FUNCTIONS = 60
# In the usual run both compilers and both architectures, not each with each.
USUAL = ("gcc", "clang-arm64")
EACH = [
    pytest.param(one, id=one.name, marks=[] if one.name in USUAL else pytest.mark.nightly)
    for one in COMPILERS
]
FLAGS = [
    ("-O2", "-gdwarf-5"),
    ("-O1", "-gdwarf-4"),
    ("-Os", "-gdwarf-5", "-fno-omit-frame-pointer"),
    ("-O2", "-gdwarf-4", "-fstack-protector-strong"),
    ("-O1", "-gdwarf-5", "-ffunction-sections"),
]
# The least share of accesses that is resolved. gcc's callers know which registers a function of the
# same file leaves alone (-fipa-ra), which nothing says; on x86-64 kernels are built without (-pg).
# clang unrolls the loops, and accesses elements by their distance from another one.
FLOORS = {"gcc": 0.9, "clang": 0.78, "gcc-arm64": 0.7, "clang-arm64": 0.75}


def _needed(compiler: Compiler) -> None:
    for program in ("llvm-objdump-19", "llvm-dwarfdump-19", "llvm-objcopy-19"):
        need_program(program, "llvm-19")
    need_program(compiler.command[0])
    need_program(compiler.linker, "binutils-aarch64-linux-gnu")


def _checked(one: Compiled) -> tuple[Judge, list[Answer], Verdict]:
    judge, rows = Judge(one), answers(one.accesses())
    return judge, rows, judge.judge(rows)


def _shown(verdict: Verdict) -> str:
    return "\n".join(
        f"{one.address:#x} {one.text} (line {one.line}): {problem}: {row}"
        for row, one, problem in verdict.wrong[:20]
    )


@pytest.mark.build
@pytest.mark.slow
@pytest.mark.parametrize("compiler", EACH)
def test_no_access_gets_a_name_that_its_line_does_not_have(
    compiler: Compiler, tmp_path: Path
) -> None:
    _needed(compiler)
    total = Verdict()
    for seed in range(examples(24) // 2):
        flags = FLAGS[seed % len(FLAGS)]
        _, _, verdict = _checked(
            compiled(Maker(seed, FUNCTIONS).program, compiler, flags, tmp_path)
        )
        assert not verdict.wrong, f"seed {seed}, {flags}:\n{_shown(verdict)}"
        assert verdict.resolved > FLOORS[compiler.name], (seed, flags, verdict.reasons)
        total.add(verdict)
    named = total.exact + total.other
    assert named > 1000
    assert total.other < named / 3
    assert total.beside < named / 5
    print(f"{compiler.name}: {named} named, {total.resolved:.1%} resolved, {total.reasons}")


def _planted(rows: Sequence[Answer], chance: random.Random) -> list[Answer]:
    """Answers with a mistake: each says what another one does, which accesses something else."""
    found = []
    for row in rows:
        same = [
            other
            for other in rows
            if other.record == row.record and other.path not in (row.path, *row.others)
        ]
        other = chance.choice(same if same and chance.random() < 0.5 else rows)
        if (other.record, other.path) != (row.record, row.path):
            places = {"record": other.record, "path": other.path, "others": other.others}
            found.append(row._replace(**places, nested=other.nested, offset=other.offset))
    return found


@pytest.mark.build
@pytest.mark.slow
@pytest.mark.parametrize("compiler", COMPILERS[::2], ids=[one.name for one in COMPILERS[::2]])
def test_mistakes_are_found(compiler: Compiler, tmp_path: Path) -> None:
    """What `test_no_access_gets_a_name_that_its_line_does_not_have` can tell."""
    _needed(compiler)
    judge, rows, _ = _checked(compiled(Maker(3, FUNCTIONS).program, compiler, FLAGS[0], tmp_path))
    named = [row for row in rows if row.kind == "field" and row.path]
    wrong = _planted(named, random.Random(1))
    assert len(wrong) > 300
    found = sum(bool(judge.problem(row)) for row in wrong)
    print(f"{found} of {len(wrong)} found")
    assert found > 0.8 * len(wrong)
    # Another offset of the same field.
    moved = [row._replace(offset=row.offset + 8) for row in named if "[]" not in row.path]
    found = sum(bool(judge.problem(row)) for row in moved if not row.others)
    assert found > 0.9 * sum(not row.others for row in moved)
