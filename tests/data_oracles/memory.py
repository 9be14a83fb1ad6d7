"""A guest's memory: by virtual address, and whose each object of the slab allocator is."""

import mmap
import subprocess
from bisect import bisect_right
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from data_oracles.kernel_types import KernelTypes

_IMAGE, _PRESENT, _LARGE, _FRAME = 0xFFFF_FFFF_8000_0000, 1, 1 << 7, 0x000F_FFFF_FFFF_F000
_PAGE = 4096
# Pages that a slab has at most: 2 to the power of this.
_ORDER = 5


class UnmappedError(Exception):
    """What has no memory."""


class Symbols:
    """A kernel's, as nm lists them."""

    def __init__(self, vmlinux: Path) -> None:
        said = subprocess.run(["nm", "-S", vmlinux], capture_output=True, text=True, check=True)
        rows = [line.split() for line in said.stdout.splitlines()]
        self.starts: dict[str, list[int]] = {}
        self._locals: dict[str, list[int]] = {}
        spans = []
        for row in rows:
            self.starts.setdefault(row[-1], []).append(int(row[0], 16))
            own, _, number = row[-1].rpartition(".")
            if number.isdigit():
                self._locals.setdefault(own, []).append(int(row[0], 16))
            if len(row) == 4:
                spans.append((int(row[0], 16), int(row[1], 16), row[3]))
        self._spans = sorted(spans)

    def __getitem__(self, name: str) -> int:
        return self.starts[name][0]

    def named(self, name: str) -> list[int]:
        """Where the variables of a name are, also those of functions."""
        return self.starts.get(name, []) + self._locals.get(name, [])

    def span(self, address: int) -> tuple[int, int] | None:
        """Start and size of the symbol that has an address."""
        row = bisect_right(self._spans, (address, 1 << 64, "")) - 1
        if row < 0:
            return None
        start, size, _ = self._spans[row]
        return (start, size) if address < start + size else None


class Slab(NamedTuple):
    """An object of the slab allocator: where it is, and the name and the size of its cache."""

    start: int
    size: int
    cache: str


class Memory:
    """One state of a guest."""

    def __init__(self, path: Path, symbols: Symbols, types: KernelTypes) -> None:
        with path.open("rb") as file:
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.symbols, self.types = symbols, types
        self._pages: dict[int, int] = {}
        self._table = symbols["init_top_pgt"] - _IMAGE

    def physical(self, address: int) -> int:
        """Raises UnmappedError."""
        page = address & ~(_PAGE - 1)
        if page not in self._pages:
            self._pages[page] = self._walk(page)
        return self._pages[page] + (address - page)

    def _walk(self, address: int) -> int:
        """Four levels of page tables ("Intel 64 SDM", 3, 4.5)."""
        table = self._table
        for shift in (39, 30, 21, 12):
            entry = self._number(table + (address >> shift & 511) * 8)
            if not entry & _PRESENT:
                raise UnmappedError(hex(address))
            frame = entry & _FRAME
            if shift == 12 or (entry & _LARGE and shift < 39):
                rest = (1 << shift) - 1
                return (frame & ~rest) | (address & rest)
            table = frame
        raise UnmappedError(hex(address))

    def _number(self, physical: int, size: int = 8) -> int:
        data = self._bytes[physical : physical + size]
        if len(data) != size:
            raise UnmappedError(hex(physical))
        return int.from_bytes(data, "little")

    def number(self, address: int, size: int = 8) -> int:
        """What so many bytes hold. Raises UnmappedError."""
        return self._number(self.physical(address), size)

    def text(self, address: int) -> str:
        start = self.physical(address)
        return self._bytes[start : self._bytes.find(b"\0", start)].decode()

    def field(self, start: int, record: str, name: str) -> int:
        """A number that a field of a record holds, which may be one of some bits."""
        bits, size = self.types.bits(record, name)
        value = self.number(start + bits // 8, (bits % 8 + size + 7) // 8)
        return value >> bits % 8 & ((1 << size) - 1)

    def variable(self, name: str) -> int:
        """What a variable of eight bytes holds."""
        return self.number(self.symbols[name])

    @cached_property
    def caches(self) -> dict[int, str]:
        """The slab allocator's caches: address and name."""
        inside = self.types.bits("kmem_cache", "list")[0] // 8
        head, found = self.symbols["slab_caches"], {}
        at = self.number(head)
        while at != head:
            cache = at - inside
            found[cache] = self.text(self.field(cache, "kmem_cache", "name"))
            at = self.number(at)
        return found

    @cached_property
    def pages(self) -> int:
        """Where the page of address 0 is in the map of pages."""
        return self.variable("vmemmap_base")

    def slab(self, address: int) -> Slab | None:
        """The object that has an address of the kernel's direct map."""
        frame = self.physical(address) // _PAGE
        size = self.types.size("page")
        for order in range(_ORDER + 1):
            head = frame & ~((1 << order) - 1)
            page = self.pages + head * size
            cache = self.field(page, "slab", "slab_cache")
            if cache not in self.caches:
                continue
            whole = self.field(cache, "kmem_cache", "size")
            count = self.field(page, "slab", "objects")
            within = address - (address // _PAGE - (frame - head)) * _PAGE
            if within < whole * count:
                pad = 0
                if self.types.has("kmem_cache", "red_left_pad"):
                    pad = self.field(cache, "kmem_cache", "red_left_pad")
                start = address - within % whole + pad
                own = self.field(cache, "kmem_cache", "object_size")
                return Slab(start, own, self.caches[cache])
        return None

    def stacks(self) -> list[int]:
        """Where the stacks of all tasks begin."""
        first, inside = self.symbols["init_task"], self.types.bits("task_struct", "tasks")[0] // 8
        found, task = [], first
        while True:
            found.append(self.field(task, "task_struct", "stack"))
            task = self.number(task + inside) - inside
            if task == first:
                return found
