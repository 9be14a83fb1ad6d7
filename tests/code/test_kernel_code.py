"""The code that a session keeps: objdump's instructions, the index's chains, safe to read."""

import random
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from extent import is_nightly
from msgspec.structs import replace
from support import frames_of, need_program

from profdiff.base.errors import SessionError
from profdiff.session.session import Session
from profdiff.symbolization.chains import Chains
from profdiff.symbolization.kernel_chains import open_index
from profdiff.symbolization.kernel_code import KernelCode
from profdiff.symbolization.statements import joined_statements

_LINE = re.compile(r"^([0-9a-f]{16}):\t((?:[0-9a-f]{2} )+)\s*(?:\t|$)")


def example() -> KernelCode:
    """Two ranges: push; mov; ret, and nop; jmp to the first."""
    text = b"\x55\x48\x89\xe5\xc3" + b"\x90\xeb\xf8"
    start = np.array([0xFFFF_FFFF_8100_0000, 0xFFFF_FFFF_8100_0005], np.uint64)
    chains = Chains(
        strings=["", "first", "vmlinux", "mm/a.c", "second"],
        function_name=np.array([1, 4], np.uint32),
        function_object=np.array([2, 2], np.uint32),
        function_file=np.array([3, 3], np.uint32),
        function_line=np.array([10, 20], np.uint32),
        frame_function=np.array([0, 0, 1], np.uint32),
        frame_inlined=np.array([False, False, False]),
        frame_file=np.array([3, 3, 3], np.uint32),
        frame_line=np.array([11, 12, 21], np.uint32),
        offsets=np.array([0, 1, 2, 3], np.uint32),
        frames=np.array([0, 1, 2], np.uint32),
        symbol=np.array([1, 1, 4], np.uint32),
        reason=np.zeros(3, np.uint8),
        address=np.array([start[0], start[0] + 4, start[1]], np.uint64),
        reasons=["resolved"],
    )
    return KernelCode(
        architecture="x86_64",
        start=start,
        size=np.array([5, 3], np.uint32),
        text=np.frombuffer(text, np.uint8),
        chains=chains,
        names=["", "first"],
        reference=start[:1],
        reference_name=np.array([1], np.uint32),
        reference_offset=np.array([0], np.uint64),
        statements=joined_statements([]),
    )


def test_instructions_have_their_bytes_and_the_chain_of_their_stretch(tmp_path: Path) -> None:
    example().save(tmp_path / "code.npz")
    code = KernelCode.load(tmp_path / "code.npz")
    found = code.instructions(np.array([1, 0]))
    first = 0xFFFF_FFFF_8100_0000
    assert [a - first for a in found.address.tolist()] == [5, 6, 0, 1, 4]
    lengths = found.code[:, 0].tolist()
    assert lengths == [1, 2, 1, 3, 1]
    bytes_ = [row[1 : 1 + n].tobytes() for row, n in zip(found.code, lengths, strict=True)]
    assert bytes_ == [b"\x90", b"\xeb\xf8", b"\x55", b"\x48\x89\xe5", b"\xc3"]
    assert found.stretch.tolist() == [2, 2, 0, 0, 1]
    inside = code.ranges_of(np.array([first - 1, first, first + 4, first + 5, first + 8]))
    assert inside.tolist() == [-1, 0, 0, 1, -1]
    assert code.instructions(np.empty(0, np.int64)).code.shape == (0, 16)


@pytest.mark.slow
def test_damage_is_a_session_error(tmp_path: Path) -> None:
    path = tmp_path / "code.npz"
    example().save(path)
    good = path.read_bytes()
    rng = random.Random(7)
    errors = 0
    for turn in range(1500):
        bad = bytearray(good)
        if turn % 3:
            for _ in range(rng.randint(1, 4)):
                bad[rng.randrange(len(bad))] = rng.randrange(256)
        else:
            del bad[rng.randrange(len(bad)) :]
        path.write_bytes(bad)
        try:
            code = KernelCode.load(path)
            code.instructions(np.arange(len(code.start)))
        except SessionError as error:
            errors += 1
            assert "\n" not in str(error)
    assert errors > 500


@pytest.mark.parametrize(
    "broken",
    [
        {"size": np.array([6, 3], np.uint32)},
        {"size": np.array([6, 2], np.uint32)},
        {"start": np.array([2**64 - 2, 5], np.uint64)},
        {"reference_name": np.array([2], np.uint32)},
        {"reference_offset": np.empty(0, np.uint64)},
        {"architecture": "mips"},
    ],
)
def test_columns_that_disagree_are_refused(tmp_path: Path, broken: dict[str, object]) -> None:
    replace(example(), **broken).save(tmp_path / "code.npz")  # type: ignore[arg-type]
    with pytest.raises(SessionError, match=r"code\.npz is damaged"):
        KernelCode.load(tmp_path / "code.npz")


@pytest.mark.guest
def test_kept_code_is_what_objdump_sees_with_the_chains_of_the_debug_elf(
    whole_command: Path,
) -> None:
    objdump = need_program("objdump", "binutils")
    session = Session.open(whole_command)
    kernel = session.manifest.kernels[1]
    assert kernel.code and kernel.debug_elf
    code = KernelCode.load(whole_command / kernel.code)
    elf = Path(kernel.debug_elf)
    index = open_index(elf, None)
    assert len(code.start) > 100
    # objdump reads the whole file for each.
    for row in range(0, len(code.start), 8 if is_nightly() else 32):
        start, size = int(code.start[row]), int(code.size[row])
        found = code.instructions(np.array([row]))
        wanted = _objdump(objdump, elf, start, start + size)
        lengths = found.code[:, 0].tolist()
        own = [
            (address, bytes_[1 : 1 + length].tobytes())
            for address, bytes_, length in zip(
                found.address.tolist(), found.code, lengths, strict=True
            )
        ]
        assert own == wanted
        resolved = index.resolve(found.address)
        for at, stretch in enumerate(found.stretch.tolist()):
            frames = frames_of(code.chains, stretch)
            first, end = resolved.chain_offsets[at : at + 2].tolist()
            assert len(frames) == end - first
            last = resolved.chain_frames[end - 1]
            assert frames[-1][4] == resolved.frame_line[last]
            name = resolved.strings[resolved.function_name[resolved.frame_function[last]]]
            assert frames[-1][0] == name


def _objdump(objdump: str, elf: Path, start: int, end: int) -> list[tuple[int, bytes]]:
    bounds = [f"--start-address={start:#x}", f"--stop-address={end:#x}"]
    run = subprocess.run([objdump, "-dw", *bounds, elf], capture_output=True, check=True, text=True)
    found = (_LINE.match(line) for line in run.stdout.splitlines())
    return [(int(one[1], 16), bytes.fromhex(one[2])) for one in found if one]
