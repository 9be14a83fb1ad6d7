"""The bytes of kernel places, against the kernel's file and its own lists of what it patches."""

import struct
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile
from support import EXAMPLE, need_program, run_guests

from profdiff.collectors.exact.counts import Counts
from profdiff.collectors.guest.qemu import Qemu

pytestmark = pytest.mark.guest


@pytest.fixture(scope="module")
def vmlinux(new_kernel: Path) -> Path:
    """The new kernel's unpacked file."""
    return new_kernel / "vmlinux"


def patched_ranges(vmlinux: Path) -> Iterator[tuple[int, int]]:
    """Start and end of each piece of text that a kernel may patch on x86-64: alternatives
    (``struct alt_instr``, arch/x86/include/asm/alternative.h), lock prefixes, sealed endbr64,
    runtime constants, ftrace's calls, static calls (``struct static_call_site``)."""
    with vmlinux.open("rb") as file:
        elf = ELFFile(file)
        table = {s.name: s["st_value"] for s in elf.get_section_by_name(".symtab").iter_symbols()}

        def between(start: str, stop: str) -> tuple[int, bytes]:
            low, high = table[start], table[stop]
            for part in elf.iter_segments("PT_LOAD"):
                if part["p_vaddr"] <= low < part["p_vaddr"] + part["p_filesz"]:
                    return low, part.data()[low - part["p_vaddr"] : high - part["p_vaddr"]]
            raise AssertionError(start)

        alternatives = elf.get_section_by_name(".altinstructions")
        for at, (site, _, _, length, _) in enumerate(
            struct.iter_unpack("<iiIBB", alternatives.data())
        ):
            start = alternatives["sh_addr"] + 14 * at + site
            yield start, start + length
        for section in elf.iter_sections():
            if section.name in (".ibt_endbr_seal", ".smp_locks") or "runtime_" in section.name:
                length = 8 if "runtime_ptr" in section.name else 4
                length = 1 if section.name == ".smp_locks" else length
                for at, (site,) in enumerate(struct.iter_unpack("<i", section.data())):
                    start = section["sh_addr"] + 4 * at + site
                    yield start, start + length
        for (start,) in struct.iter_unpack(
            "<Q", between("__start_mcount_loc", "__stop_mcount_loc")[1]
        ):
            yield start, start + 5
        base, sites = between("__start_static_call_sites", "__stop_static_call_sites")
        for at, (site, _) in enumerate(struct.iter_unpack("<ii", sites)):
            yield base + 8 * at + site, base + 8 * at + site + 5


def disassembled(vmlinux: Path, wanted: set[int]) -> dict[int, bytes]:
    """objdump's instructions at addresses."""
    command = ["objdump", "-d", "-w", vmlinux]
    found = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        for line in process.stdout:
            address, colon, rest = line.partition(":\t")
            if colon and (at := int(address, 16)) in wanted:
                found[at] = bytes.fromhex(rest.partition("\t")[0])
    assert process.returncode == 0
    return found


def executed(counts: Counts) -> dict[int, bytes]:
    """The kernel's instructions by address."""
    rows = np.flatnonzero(counts.in_kernel)
    return {
        int(counts.address[row]): bytes(counts.executed[row, 1 : 1 + counts.executed[row, 0]])
        for row in rows
    }


def test_they_are_what_the_kernel_has(
    qemu: Qemu, new_kernel: Path, vmlinux: Path, tmp_path: Path
) -> None:
    """But for what its own lists say that it patches at boot."""
    need_program("objdump", "binutils")
    command = [str(EXAMPLE), "400", "50"]
    (result,) = run_guests(qemu, new_kernel / "bzImage", command, tmp_path, count=1)
    assert result.counts
    assert not result.counts.patched.any()
    here = executed(result.counts)
    assert len(here) > 2000
    assert all(here.values())
    there = disassembled(vmlinux, set(here))
    differ = {at for at, code in here.items() if there.get(at) != code}
    assert 50 < len(differ) < 0.1 * len(here)
    patched = {byte for start, end in patched_ranges(vmlinux) for byte in range(start, end)}
    unexplained = {
        hex(at): (here[at].hex(), there.get(at, b"").hex())
        for at in differ
        if patched.isdisjoint(range(at, at + len(here[at])))
    }
    assert unexplained == {}


# The function tracer patches the entry of a system call while the window is open.
_TRACED = """
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "profdiff.h"
static int put(const char *file, const char *text)
{
    int fd = open(file, O_WRONLY), length = strlen(text);
    return fd < 0 || write(fd, text, length) != length || close(fd);
}
static void calls(int n) { while (n--) syscall(SYS_getppid); }
int main(void)
{
    if (put("/sys/kernel/tracing/set_ftrace_filter", "__x64_sys_getppid"))
        return 1;
    PROFDIFF_START();
    calls(100);
    int failed = put("/sys/kernel/tracing/current_tracer", "function");
    calls(250);
    PROFDIFF_STOP();
    return failed;
}
"""


def test_text_that_is_patched_meanwhile(
    qemu: Qemu,
    new_kernel: Path,
    vmlinux: Path,
    tmp_path: Path,
    compile_c: Callable[..., Path],
) -> None:
    """The place has the sum, and what executed most often; the file has both instructions."""
    program = compile_c("traced", _TRACED, "-static", "-no-pie")
    command = [str(program)]
    (result,) = run_guests(qemu, new_kernel / "bzImage", command, tmp_path, count=1)
    assert result.failure is None
    assert result.exit_status == 0
    counts = result.counts
    assert counts
    with vmlinux.open("rb") as file:
        (symbol,) = (
            ELFFile(file).get_section_by_name(".symtab").get_symbol_by_name("__x64_sys_getppid")
        )
    entry = symbol["st_value"]
    inside = (counts.address >= entry) & (counts.address < entry + symbol["st_size"])
    assert (counts.count[inside] == 350).sum() > 3
    (row,) = np.flatnonzero(inside & counts.patched)
    assert counts.count[row] == 350
    assert counts.executed[row, :2].tolist() == [5, 0xE8]  # a call
    assert not counts.code[row].any()

    data = (tmp_path / "0/counts.bin").read_bytes()
    # Behind the headers of the counts, the tree, the repeated instructions and the branches.
    records, (length,) = data[80:], struct.unpack_from("<Q", data, 40)
    found = [
        (count, code[:size].hex())
        for address, count, size, code in struct.iter_unpack("<QQB15s", records[: 32 * length])
        if address == counts.address[row]
    ]
    assert [count for count, _ in found] == [100, 250]
    assert [code[:2] for _, code in found] == ["0f", "e8"]
    assert len(np.unique(counts.address[counts.in_kernel])) == counts.in_kernel.sum()
    assert counts.calls
    assert counts.calls.unequal(counts.count) == 0
