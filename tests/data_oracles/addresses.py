"""What is said that a kernel's code accesses, against the addresses that it did access."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from data_oracles.guest import MEMORY, Logged
from data_oracles.kernel_types import KernelTypes
from data_oracles.memory import Memory, Slab, Symbols, UnmappedError
from data_oracles.rows import Answer, answers
from elftools.elf.elffile import ELFFile

from profdiff.symbolization import data_accesses as known
from profdiff.symbolization._native import DataIndex, Kallsyms
from profdiff.symbolization.data_accesses import DataAccesses

# What lies in the map of pages.
_PAGES = ("page", "folio", "slab", "ptdesc")
# Caches whose names are not those of what they are for.
_CACHES = {
    "filp": "file",
    "mnt_cache": "mount",
    "shmem_inode_cache": "shmem_inode_info",
    "proc_inode_cache": "proc_inode",
    "inode_cache": "inode",
    "cred_jar": "cred",
    "sighand_cache": "sighand_struct",
    "signal_cache": "signal_struct",
    "files_cache": "files_struct",
    "fs_cache": "fs_struct",
    "radix_tree_node": "xa_node",
    "kernfs_node_cache": "kernfs_node",
    "eventpoll_epi": "epitem",
    "eventpoll_pwq": "eppoll_entry",
    "bdev_cache": "bdev_inode",
    "sock_inode_cache": "socket_alloc",
}
_HEADS = ("list_head", "hlist_head", "hlist_node")
# Pointers to these may be cast ones to numbers, and may be to fewer bytes than the type has
# (cpumask_var_t).
_PUNNED = ("atomic_t", "atomic64_t", "cpumask")
# Where the processor itself keeps what an interrupt needs (cpu_entry_area), of which QEMU says that
# the instruction before accesses it.
_ENTRY = range(0xFFFF_FE00_0000_0000, 0xFFFF_FE80_0000_0000)
_USER, _ADDRESS = 1 << 47, (1 << 64) - 1
_STACK = 4 * 4096


class Kernel:
    """What is known of where things are in a guest. ``image``: sections of code."""

    def __init__(self, vmlinux: Path, logged: Logged) -> None:
        self.types, self.symbols = KernelTypes(vmlinux), Symbols(vmlinux)
        # At once: each reading goes through all types of the file.
        self.types.load({*_PAGES, *_HEADS, "kmem_cache", "task_struct"})
        self._states = [
            Memory(path, self.symbols, self.types) for path in (logged.before, logged.after)
        ]
        memory = self._states[1]
        self.per_cpu = memory.variable("__per_cpu_offset")
        self.pages, self._direct = memory.pages, memory.variable("page_offset_base")
        self._pages_end = self.pages + (MEMORY << 20) // 4096 * self.types.size("page")
        stacks = {stack for state in self._states for stack in state.stacks()}
        self._stacks = sorted({*stacks, self.symbols["init_stack"]})
        self._slabs: dict[int, Slab | None] = {}
        self._given = self._given_away(logged)
        self.types.load({_CACHES.get(name, name) for name in memory.caches.values()})
        self._own = {name: self._type_of(name) for name in memory.caches.values()}

    def _type_of(self, cache: str) -> str:
        name = _CACHES.get(cache, cache)
        return name if self.types.size(name) else ""

    def _given_away(self, logged: Logged) -> set[int]:
        """Pages that became another's, by number: whose each is, is written when that changes."""
        word = self.types.bits("slab", "slab_cache")[0] // 8
        address = logged.log["address"][logged.log["store"] > 0]
        inside = address[(address >= self.pages) & (address < self._pages_end)]
        number, at = np.divmod(inside - np.uint64(self.pages), np.uint64(self.types.size("page")))
        return set(number[at == word].tolist())

    def is_user(self, address: int) -> bool:
        return address < _USER

    def is_page(self, address: int) -> bool:
        """Whether an address is in the map of pages."""
        return self.pages <= address < self._pages_end

    def is_direct(self, address: int) -> bool:
        return self._direct <= address < self._direct + (MEMORY << 20)

    def stack(self, address: int) -> int | None:
        """Where the stack of a task begins that has an address."""
        row = int(np.searchsorted(self._stacks, address, "right")) - 1
        start = self._stacks[row] if row >= 0 else address + 1
        return start if start <= address < start + _STACK else None

    def slab(self, address: int) -> Slab | None:
        """The object that has an address all the time."""
        if address not in self._slabs:
            try:
                before, after = (state.slab(address) for state in self._states)
            except UnmappedError:
                before = after = None
            stays = after and before == after and self._stays(address) and self._stays(after.start)
            self._slabs[address] = after if stays else None
        return self._slabs[address]

    def _stays(self, address: int) -> bool:
        return self._states[1].physical(address) // 4096 not in self._given

    def symbol(self, address: int) -> tuple[int, int] | None:
        """The variable that has an address, on this processor: where it is, and its size."""
        for moved in (0, self.per_cpu):
            found = self.symbols.span(address - moved & _ADDRESS)
            if found and (moved == 0 or self._is_per_cpu(found[0])):
                return found[0] + moved & _ADDRESS, found[1]
        return None

    def _is_per_cpu(self, start: int) -> bool:
        return self.symbols["__per_cpu_start"] <= start < self.symbols["__per_cpu_end"]

    # None: nothing tells.

    def holds(self, address: int, record: str, offset: int | None) -> bool | None:
        """Whether something of a type can be so many bytes before an address, or somewhere before
        it."""
        size = self.types.size(record)
        if not size or record in _PUNNED:
            return None
        if self.is_page(address):
            return self._is_in_page(address - self.pages, record, offset)
        if record in _PAGES:
            return False
        if stack := self.stack(address):
            is_entry = record == "pt_regs" and offset is not None
            end = address - (offset or 0) + size
            return True if is_entry and end == stack + _STACK else None
        if self.is_direct(address) and (slab := self.slab(address)):
            own = self._own[slab.cache]
            within = address - slab.start
            if own and within >= self.types.size(own):
                return None  # what is behind it is not of its type
            if own:
                return self._is_within(own, within, record, offset)
            return self._fits(within, slab.size, size, offset)
        if symbol := self.symbol(address):
            return self._fits(address - symbol[0], symbol[1], size, offset)
        return None

    def _fits(self, within: int, whole: int, size: int, offset: int | None) -> bool:
        if offset is None:
            return size <= whole
        start = within - offset
        return start >= 0 and start + size <= whole

    def _is_within(self, outer: str, within: int, record: str, offset: int | None) -> bool:
        if offset is None:
            return self.types.around(outer, within, record)
        return within >= offset and self.types.embeds(outer, within - offset, record)

    def _is_in_page(self, at: int, record: str, offset: int | None) -> bool:
        size = self.types.size("page")
        if record in _PAGES:
            return offset is None or (at - offset) % size == 0
        # A folio has several of them.
        places = [(outer, at % size + size * n) for outer in _PAGES for n in range(4)]
        return any(self._is_within(outer, place, record, offset) for outer, place in places)

    def is_variable(self, address: int, row: Answer) -> bool:
        """Whether an address is that of a variable with a name, so far in it as is said."""
        moved = self.per_cpu if row.kind == "per-cpu" else 0
        exact = "[]" not in row.path and not row.flags & int(known.COMPUTED)
        for start in self.symbols.named(row.symbol):
            within = address - moved - start & _ADDRESS
            span = self.symbols.span(start)
            size = span[1] if span else row.type_size
            if within == row.offset or (not exact and 0 <= within < size):
                return True
        return False


@dataclass
class Found:
    """``right`` and ``wrong``: instructions' accesses by kind; of ``unknown`` nothing tells."""

    right: Counter[str] = field(default_factory=Counter)
    wrong: list[tuple[Answer, int]] = field(default_factory=list)
    unknown: Counter[str] = field(default_factory=Counter)
    tested: list[Answer] = field(default_factory=list)


class AddressJudge:
    """Knows where a kernel's instructions accessed memory."""

    def __init__(self, vmlinux: Path, logged: Logged) -> None:
        self.kernel = Kernel(vmlinux, logged)
        self._at: dict[tuple[int, int, int], set[int]] = defaultdict(set)
        log = logged.log
        for pc, address, size, store in zip(
            *(log[name].tolist() for name in ("pc", "address", "size", "store")), strict=True
        ):
            self._at[pc, size, store].add(address)

    def addresses(self, row: Answer) -> set[int]:
        """Those that an access went to."""
        stores = [flag for flag, bit in ((0, known.LOAD), (1, known.STORE)) if row.flags & int(bit)]
        return set[int]().union(*(self._at[row.address, row.size, store] for store in stores))

    def verdict(self, row: Answer, addresses: Iterable[int]) -> bool | None:
        """Whether an answer fits all addresses; None where nothing tells."""
        said = [self._one(row, address) for address in addresses]
        if False in said:
            return False
        return True if True in said else None

    def _one(self, row: Answer, address: int) -> bool | None:
        kernel = self.kernel
        if address in _ENTRY:
            return None
        if row.kind in ("global", "per-cpu"):
            return kernel.is_variable(address, row)
        if row.kind in ("spill", "stack-variable", "push", "call"):
            if kernel.stack(address):
                return True
            return False if kernel.is_direct(address) or kernel.is_page(address) else None
        if row.kind != "field" or row.record == "(anonymous)":
            return None
        if kernel.is_user(address):
            return bool(row.flags & int(known.USER))
        sure = "[]" not in row.path and not row.flags & int(known.COMPUTED)
        fits = kernel.holds(address, row.record, row.offset if sure else None)
        # A loop over a list comes to its head as if that were in an entry (list_for_each_entry).
        paths = [place.path for place in row.nested if place.record in _HEADS]
        paths += [path.rpartition(".")[2] for path in row.others]
        for path in paths if fits is False else ():
            for record in _HEADS:
                if kernel.types.has(record, path):
                    offset = kernel.types.bits(record, path)[0] // 8
                    fits = fits or kernel.holds(address, record, offset)
        return fits

    def judge(self, rows: Sequence[Answer]) -> Found:
        """Judge all that is said."""
        found = Found()
        self.kernel.types.load({row.record for row in rows if row.kind == "field"})
        for row in unambiguous(rows):
            addresses = self.addresses(row)
            if not addresses:
                continue
            verdict = self.verdict(row, addresses)
            if verdict is None:
                found.unknown[row.kind] += 1
            elif verdict:
                found.right[row.kind] += 1
                found.tested.append(row)
            else:
                found.wrong.append((row, min(addresses)))
        return found


def unexplained(
    judge: AddressJudge, rows: Sequence[Answer]
) -> tuple[int, list[tuple[Answer, int]]]:
    """Of accesses of which all calls are known: how many addresses are of one of the places that
    these gave, and those that are of none."""
    right, wrong = 0, []
    for row in rows:
        if not row.origins or "?" in row.origins:
            continue
        judge.kernel.types.load({one.partition(":")[0] for one in row.origins if ":" in one})
        for address in judge.addresses(row):
            if address in _ENTRY:
                continue
            said = [_holds(judge.kernel, address, one, row) for one in row.origins]
            if any(said):
                right += 1
            elif None not in said:
                wrong.append((row, address))
    return right, wrong


def _holds(kernel: Kernel, address: int, origin: str, row: Answer) -> bool | None:
    record, in_record, place = origin.partition(":")
    if in_record:
        return kernel.holds(address, record, int(place.rpartition("@")[2]))
    symbol, _, offset = origin.rpartition("+")
    there = row._replace(symbol=symbol, offset=int(offset), path="", flags=0)
    kinds = ("global", "per-cpu")
    return any(kernel.is_variable(address, there._replace(kind=kind)) for kind in kinds)


def unambiguous(rows: Sequence[Answer]) -> list[Answer]:
    """Those rows that no other of the same instruction may be taken for."""
    alike = Counter((row.address, flag) for row in rows for flag in (1, 2) if row.flags & flag)
    repeated = int(known.REPEATED)
    return [
        row
        for row in rows
        if not row.flags & repeated
        and all(alike[row.address, flag] == 1 for flag in (1, 2) if row.flags & flag)
    ]


def said_of(vmlinux: Path, logged: Logged) -> list[Answer]:
    """What profdiff says that the code accesses that ran."""
    with vmlinux.open("rb") as file:
        sections = [
            (one["sh_addr"], one["sh_size"], one["sh_addr"])
            for one in ELFFile(file).iter_sections()
            if one["sh_flags"] & 4 and one["sh_flags"] & 2
        ]
    index = DataIndex.open(str(vmlinux))
    assert index
    found = index.accesses("x86_64", sections, Kallsyms(b""), logged.pc, logged.code)
    assert found is not None
    return answers(DataAccesses(**found))
