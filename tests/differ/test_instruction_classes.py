"""Instruction classes are sums over executed instructions, and say what the manuals say."""

import re
import subprocess
from collections import Counter
from pathlib import Path

import classes as made
import numpy as np
import pytest
from extent import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from support import frames_of, need_program
from synthetic import Frame, Row, frame
from tars import unpack_session

from profdiff.profile.addresses import Addresses
from profdiff.profile.code.classes import CLASSES, ITEMS, class_names, instruction_classes
from profdiff.profile.function_identity import fold
from profdiff.profile.recordings import Recordings
from profdiff.session.session import Session

INNER, OUTER = frame("inner", inlined=True), frame("outer")
PLACES: list[tuple[Row, str]] = [(([OUTER], "outer", True, [3]), name) for name in made.CODE]
MAIN = frame("main", owner="work", file="work.c")
# Chains, and whether they are the kernel's.
CHAINS = st.sampled_from(
    [
        ([OUTER], True),
        ([OUTER, INNER], True),
        ([frame("inner")], True),
        ("no-symbol", True),
        ([MAIN], False),
        ("no-symbol", False),
    ]
)
ROWS = st.tuples(CHAINS, st.sampled_from(["", *made.CODE]))


def test_every_class_is_known() -> None:
    """Of each class there is an instruction, and nothing is of a class that it should not be."""
    for name, (_, expected) in made.CODE.items():
        row: Row = ([OUTER], "outer", True, [3])
        found = instruction_classes(made.compare({"base": [(row, name)]}))
        assert found is not None
        counted = zip(found.names, found.counts.sum(axis=(0, 2)).tolist(), strict=True)
        assert {one: count for one, count in counted if count} == dict.fromkeys(expected, 3), name
    told = set().union(*(expected for _, expected in made.CODE.values()))
    # What the instruction does not tell, and kinds of other architectures.
    assert told == {*found.names}
    assert {*CLASSES} - told == {
        *("taken", "not-taken", "taken-jumps", "rep-iterations", "rep-bytes"),
        *(name for name, item in ITEMS.items() if item.kind and name not in found.names),
    }


@settings(max_examples=examples(60))
@given(
    st.lists(st.lists(ROWS, min_size=1, max_size=12), min_size=1, max_size=3),
    st.integers(1, 3),
    st.data(),
)
def test_classes_are_sums_over_places(
    kernels: list[list[tuple[tuple[list[Frame] | str, bool], str]]], runs: int, data: st.DataObject
) -> None:
    counts = st.lists(st.integers(0, 1000), min_size=runs, max_size=runs)
    described: dict[str, list[tuple[Row, str]]] = {
        f"k{number}": [
            ((chain, "outer", in_kernel, data.draw(counts)), name)
            for (chain, in_kernel), name in rows
        ]
        for number, rows in enumerate(kernels)
    }
    comparison = made.compare(described)
    found = instruction_classes(comparison)
    assert found is not None
    for number, name in enumerate(found.names):
        column = 0
        for rows in described.values():
            for run in range(runs):
                expected = Counter[tuple[str, bool]]()
                for (chain, _, in_kernel, of_runs), code in rows:
                    if code and name in made.CODE[code][1]:
                        function = chain if isinstance(chain, str) else chain[-1][0]
                        expected[str(function), in_kernel] += of_runs[run]
                total = int(found.run_counts[:, number, column].sum())
                assert total == expected.total()
                kernel_rows = found.rows("kernel")
                in_kernel_ = sum(n for (_, kernel), n in expected.items() if kernel)
                assert found.run_counts[kernel_rows, number, column].sum() == in_kernel_
                for row, function in enumerate(comparison.functions):
                    mine = expected[function.name, function.in_kernel]
                    assert found.run_counts[row, number, column] == mine
                column += 1
    unseen = sum(
        row[3][comparison.picked[k]]
        for k, rows in enumerate(described.values())
        for row, code in rows
        if not code
    )
    assert found.unseen.sum() == unseen


@settings(max_examples=examples(40))
@given(st.lists(st.tuples(*[st.integers(0, 9)] * 3), min_size=1, max_size=9))
def test_taken_and_not_taken_are_all_branches(branches: list[tuple[int, int, int]]) -> None:
    """But for those of which it is not known."""
    rows: list[tuple[Row, str]] = [
        (([OUTER], "outer", True, [sum(executed)]), "je") for executed in branches
    ]
    # What is no conditional branch is never taken, whatever a file says.
    rows.append((([OUTER], "outer", True, [5]), "ret"))
    taken = {"base": [[one] for one, _, _ in branches] + [[0]]}
    untold = {"base": [[one] for _, _, one in branches] + [[0]]}
    found = instruction_classes(made.compare({"base": rows}, taken=taken, untold=untold))
    assert found is not None
    counts = dict(zip(found.names, found.counts.sum(axis=(0, 2)).tolist(), strict=True))
    assert counts["taken"] == sum(one for one, _, _ in branches)
    assert counts["not-taken"] == sum(other for _, other, _ in branches)
    unknown = sum(one for _, _, one in branches)
    assert counts["conditional"] == counts["taken"] + counts["not-taken"] + unknown


def test_branches_are_not_told_where_they_were_not_counted() -> None:
    comparison = made.compare({"base": PLACES})
    assert not {"taken", "not-taken"} & {*class_names(comparison)}
    assert instruction_classes(comparison).names == class_names(comparison)  # type: ignore[union-attr]


# Mnemonics and operands as objdump prints them, in AT&T syntax.
ORACLE = {
    "locked": re.compile(r"^lock |^xchg .*\("),
    "divisions": re.compile(r"^(i?div[bwlq]?|v?div[sp][sdh]|fi?div\w*) "),
    "repeated": re.compile(r"^(rep|repz|repnz) (movs|stos|cmps|scas|lods|ins|outs)"),
    "direct-calls": re.compile(r"^call +[^*]"),
    "indirect-calls": re.compile(r"^(notrack )?call +\*"),
    "indirect-jumps": re.compile(r"^(notrack )?jmp +\*"),
    "conditional": re.compile(r"^(j(?!mp)\w+|loop\w*)\b"),
    "vector": re.compile(r"%[xyz]mm"),
    "privileged": re.compile(
        r"^(cli|sti|hlt|wrmsr\w*|rdmsr|invlpg|invpcid|swapgs|sysret\w?|clac|stac|clts|wbinvd|lgdt|lidt"
        r"|ltr|lldt|x?setbv|xsaves\w*|xrstors\w*)\b|^mov .*%[cd]r\d|^(in|out)[bwl]?\s"
    ),
    # SDM, volume 3, "Serializing Instructions".
    "serialising": re.compile(
        r"^(iret\w?|cpuid|rsm|serialize|invd|wbinvd|invlpg|invept|invvpid|wrmsr|lgdt|lidt|lldt|ltr)\b"
        r"|^mov .*,%(cr[0-7]|[cd]b|db\d|dr\d)"
    ),
    "returns": re.compile(r"^(repz )?ret"),
    "jumps": re.compile(r"^jmp +[^*]"),
    "mov-cr3": re.compile(r"^mov .*,%cr3"),
    "iret": re.compile(r"^iret"),
    "swapgs": re.compile(r"^swapgs"),
    "syscall": re.compile(r"^syscall"),
    "sysret": re.compile(r"^sysret"),
    "invlpg": re.compile(r"^invlpg"),
    "wrmsr": re.compile(r"^wrmsr"),
    "pause": re.compile(r"^pause"),
    "lfence": re.compile(r"^lfence"),
    "cli-sti": re.compile(r"^(cli|sti)"),
}


def disassembled(addresses: Addresses, flat: Path) -> list[str]:
    """What objdump prints for each executed instruction, each in 16 bytes of its own."""
    need_program("objdump", "binutils")
    slots = np.full((len(addresses.chains), 16), 0x90, np.uint8)
    for slot, code in zip(slots, addresses.executed, strict=True):
        slot[: code[0]] = code[1 : 1 + code[0]]
    flat.write_bytes(slots.tobytes())
    command = ["objdump", "-D", "-z", "-w", "--no-show-raw-insn", "-b", "binary"]
    command += ["-m", "i386:x86-64", str(flat)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = re.findall(r"^ *([0-9a-f]+):\t(.*)$", result.stdout, re.M)
    text = {int(at, 16): " ".join(line.split()) for at, line in lines}
    return [text[16 * row] for row in range(len(slots))]


@pytest.mark.guest
def test_objdump_agrees(recorded: Path, tmp_path: Path) -> None:
    """Of every function of a real session, classes counted by objdump's mnemonics."""
    (comparison,) = Recordings(Session.open(recorded)).comparisons()
    found = instruction_classes(comparison)
    assert found is not None
    assert not found.unseen.any()
    executed_kinds = set()
    for kernel, (addresses,) in enumerate(comparison.addresses):
        texts = disassembled(addresses, tmp_path / "code")
        counts = addresses.counts[:, comparison.picked[kernel], 0].tolist()
        for name, pattern in ORACLE.items():
            expected = Counter[str]()
            for place, text in enumerate(texts):
                if pattern.search(text):
                    frames = frames_of(addresses.chains, place)
                    expected[fold(frames[-1][0])[0] if frames else ""] += counts[place]
            told = Counter[str]()
            column = found.counts[:, found.names.index(name), kernel].tolist()
            for row, count in enumerate(column):
                of = row < len(comparison.functions)
                told[comparison.functions[row].name if of else ""] += count
            assert +told == +expected, name
            executed_kinds |= {name} if told.total() else set()
    assert executed_kinds >= {"locked", "repeated", "privileged", "conditional"}


def test_recordings_say_what_they_do_not_know(tmp_path: Path) -> None:
    """That session has no bytes of the kernel's instructions."""
    unpack_session(tmp_path)
    exact, sampled = Recordings(Session.open(tmp_path)).comparisons()
    assert instruction_classes(sampled) is None
    found = instruction_classes(exact)
    assert found is not None
    user = exact.totals("user")
    assert (found.unseen > 0).all() and (found.unseen <= exact.totals() - user).all()
