"""The union of sources: kernel with KASLR, modules, kallsyms alone, programs and libraries."""

import subprocess
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import frames_of, need_program

from profdiff.base.errors import InputError
from profdiff.symbolization._native import Kallsyms, SymbolIndex, place_module, place_user
from profdiff.symbolization.binaries import Binaries
from profdiff.symbolization.chains import Chains
from profdiff.symbolization.kernel_chains import KernelSymbols
from profdiff.symbolization.places import Places
from profdiff.symbolization.symbolizer import symbolize

KERNEL = """
static inline __attribute__((always_inline)) int inner(int x) { return x * 3 + 1; }
__attribute__((noinline)) int schedule(int x) { return inner(x) ^ x; }
__attribute__((noinline)) int other(int x) { return inner(x) + 2; }
int _start(int x) { return schedule(x) + other(x); }
"""
MODULE = """
static inline __attribute__((always_inline)) int twist(int x) { return x * 5 + 7; }
__attribute__((noinline)) int mod_run(int x) { return twist(x) ^ x; }
__attribute__((noinline)) int mod_stop(int x) { return twist(x) + 2; }
__attribute__((section(".init.text"))) int mod_init(int x) { return twist(x) - 9; }
"""
LINK = 0xFFFFFFFF81000000
SLIDE = 0x1C000000


def build(folder: Path, name: str, source: str, *flags: str) -> Path:
    need_program("gcc")
    (folder / f"{name}.c").write_text(source)
    target = folder / name
    command = ["gcc", "-g", "-O2", "-Wl,--build-id", *flags, "-o", str(target), f"{name}.c"]
    subprocess.run(command, cwd=folder, check=True)
    return target


_OF_KERNEL = KernelSymbols.__struct_fields__


def run(addresses: list[int], **options: object) -> Chains:
    of_kernel = {name: options.pop(name) for name in _OF_KERNEL if name in options}
    code = options.pop("code", np.zeros((len(addresses), 16), dtype=np.uint8))
    user_files = options.pop("user_files", {})
    result = symbolize(
        Places.of_code(np.array(addresses, dtype=np.uint64), code),  # type: ignore[arg-type]
        KernelSymbols(**of_kernel),  # type: ignore[arg-type]
        Binaries(user_files),  # type: ignore[arg-type]
        options.pop("cache", None),  # type: ignore[arg-type]
    )
    assert not options
    result.check()
    return result


def names(result: Chains, index: int) -> list[str]:
    return [f"{owner}:{name}" for name, owner, *_ in frames_of(result, index)]


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kernel")
    flags = ["-nostdlib", "-static", "-no-pie", "-mcmodel=kernel", "-fno-pie"]
    return build(folder, "vmlinux", KERNEL, *flags, f"-Wl,-Ttext-segment={LINK:#x}")


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(
        tmp_path_factory.mktemp("module"), "mod.ko", MODULE, "-c", "-mcmodel=kernel", "-fno-pie"
    )


@pytest.mark.build
def test_kaslr_is_undone(kernel: Path) -> None:
    address = SymbolIndex.open(str(kernel)).symbol_address("schedule")
    assert address is not None
    moved = address + SLIDE
    kallsyms = f"{moved:x} T schedule\n".encode()
    result = run([moved], debug_elf=kernel, kallsyms=kallsyms)
    assert names(result, 0)[0] == "vmlinux:schedule"
    assert result.inlines_visible


@pytest.mark.build
def test_without_debug_elf_kallsyms_is_all(kernel: Path) -> None:
    kallsyms = b"ffffffff81000000 T _text\nffffffff81000100 t helper.isra.0\n"
    result = run([LINK + 0x108, LINK - 1], kallsyms=kallsyms)
    assert names(result, 0) == ["vmlinux:helper.isra.0"]
    assert result.reasons[result.reason[1]] == "outside-text"
    assert not result.inlines_visible


@pytest.mark.build
def test_code_that_the_kernel_made_is_named_after_its_maker(kernel: Path) -> None:
    kallsyms = b"ffffffffc0001000 t bpf_prog_ab12\t[bpf]\nffffffffc0002000 t x\t[unknown_mod]\n"
    result = run([0xFFFFFFFFC0001004, 0xFFFFFFFFC0002001], debug_elf=kernel, kallsyms=kallsyms)
    assert names(result, 0) == ["bpf:bpf_prog_ab12"]
    assert names(result, 1) == ["unknown_mod:x"]


@pytest.mark.build
@pytest.mark.parametrize("stated", [False, True])
def test_module_sections_are_found(kernel: Path, module: Path, stated: bool) -> None:
    index = SymbolIndex.open(str(module))
    layout = {name: (start, size) for name, start, size in index.sections()}
    where = {".text": 0xFFFFFFFFC0100000, ".init.text": 0xFFFFFFFFC0300000}
    lines, expected, lookup = [], {}, []
    for symbol, section in [
        ("mod_run", ".text"),
        ("mod_stop", ".text"),
        ("mod_init", ".init.text"),
    ]:
        address = index.symbol_address(symbol)
        assert address is not None
        avma = address - layout[section][0] + where[section]
        lines.append(f"{avma:x} t {symbol}\t[mod]")
        expected[symbol] = avma
        lookup.append(avma)
    kallsyms = "\n".join(lines).encode()
    sections = "\n".join(f"mod {name} {at:#x}" for name, at in where.items()).encode()
    result = run(
        lookup,
        debug_elf=kernel,
        kallsyms=kallsyms,
        module_files={"mod": module},
        sections=sections if stated else b"",
    )
    for i, symbol in enumerate(expected):
        assert names(result, i)[0] == f"mod:{symbol}"
    assert any("mod:twist" in names(result, i) for i in range(3))
    placed = place_module(index, "mod", Kallsyms(kallsyms), b"")
    assert {avma for _, _, avma in placed} == set(where.values())


def instructions(elf: Path, base: int, symbol: str, count: int) -> tuple[list[int], np.ndarray]:
    """The first instructions of a function as a collector records them, by objdump."""
    need_program("objdump", "binutils")
    done = subprocess.run(
        ["objdump", "-d", "-w", "--no-show-raw-insn", f"--disassemble={symbol}", str(elf)],
        capture_output=True,
        text=True,
        check=True,
    )
    starts = [
        int(line.split(":")[0], 16) for line in done.stdout.splitlines() if line.startswith("  ")
    ][: count + 1]
    data = SymbolIndex.open(str(elf))
    assert data.symbol_address(symbol) == starts[0]
    raw = elf.read_bytes()
    shift = _file_offset(elf)
    rows = np.zeros((len(starts) - 1, 16), dtype=np.uint8)
    for row, (start, end) in enumerate(pairwise(starts)):
        code = raw[start - shift : end - shift]
        rows[row, 0] = len(code)
        rows[row, 1 : 1 + len(code)] = list(code)
    return [start + base for start in starts[:-1]], rows


def _file_offset(elf: Path) -> int:
    from elftools.elf.elffile import ELFFile

    with elf.open("rb") as file:
        for segment in ELFFile(file).iter_segments("PT_LOAD"):
            if segment["p_flags"] & 1:
                return int(segment["p_vaddr"] - segment["p_offset"])
    raise AssertionError


PROGRAM = """
#include <stdio.h>
volatile int sink;
__attribute__((noinline)) int work(int x)
{
    for (int i = 0; i < x; i++) { sink += i * x; sink ^= 0x12345; if (sink & 64) sink /= 3; }
    return sink;
}
int main(int argc, char **argv) { printf("%d\\\\n", work(argc)); return 0; }
"""


@pytest.mark.build
def test_bases_are_found_by_instruction_bytes(tmp_path: Path) -> None:
    pie = build(tmp_path, "pie", PROGRAM, "-pie", "-fPIE")
    fixed = build(tmp_path, "fixed", PROGRAM.replace("0x12345", "0x54321"), "-static", "-no-pie")
    one, one_code = instructions(pie, 0x555555554000, "work", 12)
    two, two_code = instructions(pie, 0x5641DEAD7000, "work", 12)
    three, three_code = instructions(fixed, 0, "work", 12)
    stray = np.zeros((1, 16), dtype=np.uint8)
    stray[0, :9] = [8, 0xFE, 0xED, 0xFA, 0xCE, 0xFE, 0xED, 0xFA, 0xCE]
    result = run(
        [*one, *two, *three, 0x7FFF12345678],
        code=np.concatenate([one_code, two_code, three_code, stray]),
        user_files={"/bin/pie": pie, "/bin/fixed": fixed, "/etc/script": tmp_path / "pie.c"},
    )
    for i in range(len(one) + len(two)):
        assert names(result, i)[0] == "pie:work"
    for i in range(len(one) + len(two), len(result) - 1):
        assert names(result, i)[0] == "fixed:work"
    assert result.reasons[result.reason[-1]] == "no-object"


@pytest.mark.build
def test_what_two_objects_have_is_ambiguous(tmp_path: Path) -> None:
    one = build(tmp_path, "one", PROGRAM, "-static", "-no-pie")
    two = build(tmp_path, "two", PROGRAM.replace("0x12345", "0x12346"), "-static", "-no-pie")
    addresses, code = instructions(one, 0, "work", 12)
    again, other_code = instructions(two, 0, "work", 12)
    assert addresses == again
    both = run(
        addresses * 2,
        code=np.concatenate([code, other_code]),
        user_files={"/one": one, "/two": two},
    )
    reasons = [both.reasons[reason] for reason in both.reason]
    own = [i for i in range(12) if (code[i] != other_code[i]).any()]
    assert own, "the constants are not within the first instructions"
    for i in range(12):
        assert reasons[i] == reasons[12 + i] == ("resolved" if i in own else "ambiguous")
    alone = run(addresses, code=code, user_files={"/one": one, "/two": two})
    assert all(names(alone, i) == ["one:work"] for i in range(12)), "two did not run"
    same = run(addresses[:1], code=code[:1], user_files={"/one": one, "/copy": one})
    assert names(same, 0) == ["one:work"]


@given(st.lists(st.tuples(st.integers(0, 2**64 - 1), st.binary(min_size=16, max_size=16))))
def test_any_instructions_are_safe(rows: list[tuple[int, bytes]]) -> None:
    code = np.frombuffer(b"".join(data for _, data in rows), dtype=np.uint8).reshape(-1, 16)
    avma = np.array([address for address, _ in rows], dtype=np.uint64)
    _, _, reason = place_user([], avma, code)
    assert reason.tolist() == [3] * len(rows)


@given(st.binary())
def test_any_kallsyms_is_safe(text: bytes) -> None:
    symbols = Kallsyms(text)
    assert len(symbols.owners(np.array([0, 1, 2**64 - 1], dtype=np.uint64))) == 3


@given(
    st.dictionaries(
        st.integers(1, 2**40), st.text("abcdefgh_.0", min_size=1, max_size=8), min_size=1
    ),
    st.integers(0, 2**41),
)
def test_kallsyms_finds_the_nearest_symbol(symbols: dict[int, str], address: int) -> None:
    text = "".join(f"{at:016x} t {name}\n" for at, name in symbols.items()).encode()
    resolution = Kallsyms(text).resolve(np.array([address], dtype=np.uint64))
    before = [at for at in symbols if at <= address < at + (1 << 20)]
    expected = symbols[max(before)] if before else ""
    assert resolution.strings[resolution.symbol[0]] == expected


@pytest.mark.build
def test_a_damaged_debug_elf_is_an_input_error(tmp_path: Path, kernel: Path) -> None:
    cut = tmp_path / "vmlinux"
    cut.write_bytes(kernel.read_bytes()[:3000])
    with pytest.raises(InputError, match="vmlinux is damaged"):
        run([LINK], debug_elf=cut)


@pytest.mark.build
def test_a_damaged_debug_elf_is_an_error_also_if_only_its_dwarf_is(
    tmp_path: Path, kernel: Path
) -> None:
    damaged = tmp_path / "vmlinux"
    _without_abbreviations(kernel, damaged)
    with pytest.raises(InputError, match=r"vmlinux is damaged \(unit at 0x0 of \.debug_info: "):
        run([LINK], debug_elf=damaged)


@pytest.mark.build
@pytest.mark.parametrize("whole", [True, False])
def test_a_damaged_module_does_not_cost_the_kernel(
    whole: bool, tmp_path: Path, kernel: Path, module: Path
) -> None:
    """Its symbols serve, or else kallsyms; a remark tells it."""
    damaged = tmp_path / "mod.ko"
    _without_abbreviations(module, damaged)
    if not whole:
        damaged.write_bytes(damaged.read_bytes()[:3000])
    start = 0xFFFFFFFFC0000000
    schedule = SymbolIndex.open(str(kernel)).symbol_address("schedule")
    assert schedule is not None
    kallsyms = f"{schedule:x} T schedule\n{start:x} t mod_run\t[mod]\n".encode()
    result = run(
        [schedule, start + 4],
        debug_elf=kernel,
        kallsyms=kallsyms,
        module_files={"mod": damaged},
        sections=f"mod .text {start:x}\n".encode(),
    )
    assert names(result, 0)[0] == "vmlinux:schedule"
    assert names(result, 1) == ["mod:mod_run"]
    assert [line.partition(": ")[0] for line in result.unread] == ["mod"]
    (remark,) = result.remarks
    assert remark.startswith("not all of these files could be read: mod: ")
    result.save(tmp_path / "chains.npz")
    assert Chains.load(tmp_path / "chains.npz").remarks == [remark]


def _without_abbreviations(source: Path, target: Path) -> None:
    target.write_bytes(source.read_bytes())
    empty = target.with_suffix(".abbreviations")
    empty.write_bytes(bytes(64))
    command = ["objcopy", f"--update-section=.debug_abbrev={empty}", target]
    subprocess.run(command, check=True)


@pytest.mark.build
def test_a_program_of_another_kind_does_not_cost_the_others(tmp_path: Path) -> None:
    """A guest may run one of 32 bits; its code is of no object."""
    flags = ["-shared", "-nostdlib"]
    good = build(tmp_path, "good.so", "int f(int x) { return x * 3 + 1; }", *flags)
    other = tmp_path / "other"
    other.write_bytes(b"\x7fELF\x01" + good.read_bytes()[5:])
    code = np.zeros((1, 16), np.uint8)
    result = run([0x401000], code=code, user_files={"/bin/a": other, "/bin/b": good})
    assert result.reasons[result.reason[0]] == "no-object"
