"""Loops of executed code, by programs whose loops are derived by hand."""

from collections.abc import Sequence

import classes as made
import numpy as np
import pytest
from msgspec.structs import replace
from synthetic import frame

from profdiff.profile.comparison import Comparison
from profdiff.symbolization.places import Places
from profdiff.topics.inventory.loops import Loop, loops

START = 0xFFFF_FFFF_8100_0000
PTE, INLINED = frame("change_pte_range"), frame("ptep_get", inlined=True)
# Offset, bytes, how often it ran, how often it jumped.
Program = Sequence[tuple[int, str, int, int]]

ONE: Program = [
    (0, "90", 10, 0),
    (1, "90", 50, 0),  # begins the loop
    (2, "75 fd", 50, 40),
    (4, "c3", 10, 0),
]
NESTED: Program = [
    (0, "90", 10, 0),
    (1, "74 06", 30, 10),  # begins the outer loop, which it leaves to the return
    (3, "90", 100, 0),  # begins the inner one
    (4, "75 fd", 100, 80),
    (6, "90", 20, 0),
    (7, "eb f8", 20, 0),
    (9, "c3", 10, 0),
]
# A cold part comes back into the middle: no loop, for all that the jump leads backwards.
COLD: Program = [
    (0, "74 03", 10, 3),
    (2, "90", 10, 0),
    (3, "c3", 10, 0),
    (5, "eb fb", 3, 0),
]
SWITCH: Program = [
    (0, "90", 1, 0),
    (1, "ff e0", 10, 0),
    (3, "90", 6, 0),
    (4, "eb fb", 6, 0),
    (6, "90", 3, 0),
    (7, "eb f8", 3, 0),
    (9, "c3", 1, 0),
]
# Two ways into a cycle: no block dominates the other.
IRREDUCIBLE: Program = [
    (0, "74 02", 10, 5),
    (2, "90", 25, 0),
    (3, "90", 30, 0),
    (4, "75 fc", 30, 20),
    (6, "c3", 10, 0),
]


def compared(program: Program, known: bool = True) -> Comparison:
    """One function that executed a program, of which the second half of places is inlined."""
    stack = [PTE, INLINED]
    rows = [
        ((stack[: 1 + (number > len(program) // 2)], "f", True, [count]), "nop")
        for number, (_, _, count, _) in enumerate(program)
    ]
    taken = {"base": [[jumped] for *_, jumped in program]}
    untold = {"base": [[0] for _ in program]}
    comparison = made.compare(
        {"base": rows}, **({"taken": taken, "untold": untold} if known else {})
    )
    ((addresses,),) = comparison.addresses
    executed = np.zeros((len(program), 16), np.uint8)
    for row, (_, text, _, _) in zip(executed, program, strict=True):
        code = bytes.fromhex(text)
        row[0], row[1 : 1 + len(code)] = len(code), np.frombuffer(code, np.uint8)
    place = np.array([START + offset for offset, *_ in program], np.uint64)
    places = Places.of_code(place, executed)
    symbols = replace(addresses.chains, symbol=np.zeros(len(program), np.uint32))
    addresses = replace(addresses, places=places, executed=executed, chains=symbols)
    return replace(comparison, addresses=[[addresses]])


def figures(program: Program) -> list[tuple[int, int, int]]:
    found = loops(compared(program), 0)
    assert found is not None
    assert {key.function.name for key in found} <= {"change_pte_range"}
    return sorted((loop[:3] for loop in found.values()), reverse=True)


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (ONE, [(50, 100, 40)]),
        (NESTED, [(100, 200, 80), (30, 270, 110)]),
        (COLD, []),
        (SWITCH, [(10, 28, 19)]),
        (IRREDUCIBLE, []),
    ],
)
def test_loops(program: Program, expected: list[tuple[int, int, int]]) -> None:
    """Iterations, instructions, jumps taken."""
    assert figures(program) == expected


def test_one_iteration() -> None:
    """Thirteen instructions with two jumps, or with one, are what counts alone do not tell."""
    assert (Loop(10, 130, 20, 0).length, Loop(10, 130, 20, 0).jumps) == (13, 2)


def test_a_loop_is_of_the_function_that_has_all_of_it() -> None:
    found = loops(compared(NESTED), 0)
    assert found is not None
    assert {key.inner for key in found} == {"change_pte_range"}
    assert [key.number for key in found] == [1, 2]


def test_without_branches_nothing_is_known() -> None:
    assert loops(compared(ONE, known=False), 0) is None
