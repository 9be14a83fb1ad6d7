"""Made-up comparisons whose places have code."""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray
from synthetic import Row, build, chains, manifest, profile

from profdiff.base.metric import INSTRUCTIONS
from profdiff.profile.addresses import Addresses
from profdiff.profile.comparison import Comparison
from profdiff.symbolization.places import Places

# What the manuals say of each (AMD64 Architecture Programmer's Manual, volume 3; SDM, volume 2).
CODE: dict[str, tuple[str, set[str]]] = {
    "nop": ("90", set()),
    "lea 8(%rdi),%rax": ("48 8d 47 08", set()),
    "mov (%rdi),%eax": ("8b 07", {"loads"}),
    "mov %eax,(%rdi)": ("89 07", {"stores"}),
    "incl (%rdi)": ("ff 07", {"loads", "stores"}),
    "lock cmpxchg %ecx,(%rsi)": ("f0 0f b1 0e", {"loads", "stores", "locked"}),
    "xchg %eax,(%rdi)": ("87 07", {"loads", "stores", "locked"}),
    "cpuid": ("0f a2", {"serialising", "cpuid"}),
    "mov %rax,%cr0": ("0f 22 c0", {"serialising", "privileged", "mov-cr0"}),
    "mov %rax,%cr3": ("0f 22 d8", {"serialising", "privileged", "mov-cr3"}),
    "mov %rax,%cr4": ("0f 22 e0", {"serialising", "privileged", "mov-cr4"}),
    "mov %rax,%cr8": ("44 0f 22 c0", {"privileged"}),
    "mov %cr3,%rax": ("0f 20 d8", {"privileged"}),
    "mov %rax,%db7": ("0f 23 f8", {"serialising", "privileged", "mov-dr"}),
    "invlpg (%rax)": ("0f 01 38", {"serialising", "privileged", "invlpg"}),
    "invpcid (%rdi),%rax": ("66 0f 38 82 07", {"loads", "privileged", "invpcid"}),
    "iretq": ("48 cf", {"loads", "serialising", "iret"}),
    "wrmsr": ("0f 30", {"serialising", "privileged", "wrmsr"}),
    "rdmsr": ("0f 32", {"privileged", "rdmsr"}),
    "serialize": ("0f 01 e8", {"serialising", "serialize"}),
    "lfence": ("0f ae e8", {"lfence"}),
    "mfence": ("0f ae f0", {"mfence"}),
    "sfence": ("0f ae f8", {"sfence"}),
    "pause": ("f3 90", {"pause"}),
    "verw %ax": ("0f 00 e8", {"verw"}),
    "swapgs": ("0f 01 f8", {"privileged", "swapgs"}),
    "syscall": ("0f 05", {"syscall"}),
    "sysretq": ("48 0f 07", {"privileged", "sysret"}),
    "rdtsc": ("0f 31", {"rdtsc"}),
    "popf": ("9d", {"loads", "popf"}),
    "stac": ("0f 01 cb", {"privileged", "clac-stac"}),
    "xsaves (%rdi)": ("0f c7 2f", {"privileged", "stores", "xsave-xrstor"}),
    "cli": ("fa", {"privileged", "cli-sti"}),
    "div %ecx": ("f7 f1", {"divisions"}),
    "rep movsb": ("f3 a4", {"loads", "stores", "repeated"}),
    "call": ("e8 00 00 00 00", {"stores", "direct-calls"}),
    "call *%rax": ("ff d0", {"stores", "indirect-calls"}),
    "jmp *%rax": ("ff e0", {"indirect-jumps"}),
    "je": ("74 02", {"conditional"}),
    "pxor %xmm0,%xmm0": ("66 0f ef c0", {"vector"}),
    "push %rax": ("50", {"stores"}),
    "ret": ("c3", {"loads", "returns"}),
    "repz ret": ("f3 c3", {"loads", "returns"}),
    "jmp": ("eb 00", {"jumps"}),
}


def executed(names: Sequence[str]) -> NDArray[np.uint8]:
    """uint8[N, 16] of instructions by their names; "" was not seen."""
    rows = np.zeros((len(names), 16), np.uint8)
    for row, name in zip(rows, names, strict=True):
        code = bytes.fromhex(CODE[name][0]) if name else b""
        row[0] = len(code)
        row[1 : 1 + len(code)] = np.frombuffer(code, np.uint8)
    return rows


def compare(
    kernels: Mapping[str, Sequence[tuple[Row, str]]],
    *,
    ops: int | None = None,
    taken: Mapping[str, Sequence[Sequence[int]]] | None = None,
    untold: Mapping[str, Sequence[Sequence[int]]] | None = None,
) -> Comparison:
    """The comparison of rows with the instruction of each. ``taken`` and ``untold``: by kernel and
    row, as those of ``Addresses``."""
    profiles = {}
    for label, described in kernels.items():
        rows = [row for row, _ in described]
        known = chains(rows)
        counts = np.array([row[3] for row in rows], np.int64)[:, :, None]
        addresses = Addresses(
            places=Places.of_code(known.address, np.zeros((len(rows), 16), np.uint8)),
            chains=known,
            executed=executed([name for _, name in described]),
            metrics=(INSTRUCTIONS,),
            count=lambda counts=counts: counts,  # type: ignore[misc]
        )
        if taken is not None:
            assert untold is not None
            jumped, unknown = (np.array(one, np.int64) for one in (taken[label], untold[label]))
            addresses = replace(addresses, taken=jumped, untold=unknown)
        profiles[label] = replace(profile(rows), addresses=(addresses,))
    runs = {len(row[3]) for described in kernels.values() for row, _ in described}
    (number,) = runs
    return build(manifest(list(kernels), runs=number, ops=ops), profiles)
