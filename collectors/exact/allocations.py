"""What a kernel's allocators give out and take back: objects of slab caches, and blocks of pages.
The plugin sees the allocators' functions begin and return; debug information says where."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from profdiff.base import bounded
from profdiff.base.cache import symbol_cache
from profdiff.base.errors import InputError, SessionError
from profdiff.collectors.exact.probes import register
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.lines.entry import told_variables, variable_addresses
from profdiff.symbolization._native import NativeError, SymbolIndex, probed, type_layouts

# By the functions that do it, what they do, as the plugin's ``Role`` has it, and the registers that
# hold what it needs (System V ABI for x86-64, 3.2.3). They stand in no other function's code but
# where caches are made. One that leaves its work to another one counts once.
_FUNCTIONS = {
    **dict.fromkeys(
        (
            *("kmem_cache_alloc_noprof", "kmem_cache_alloc_lru_noprof"),
            *("kmem_cache_alloc_node_noprof", "kmem_cache_alloc_from_sheaf_noprof"),
            *("__kmalloc_noprof", "__kmalloc_node_noprof", "__kmalloc_node_track_caller_noprof"),
            *("__kmalloc_cache_noprof", "__kmalloc_cache_node_noprof", "__kmalloc_flags_noprof"),
            *("kmalloc_nolock_noprof", "__kmalloc_nolock_noprof", "__kvmalloc_node_noprof"),
        ),
        ("object", "", ""),
    ),
    "kmem_cache_alloc_bulk_noprof": ("objects", "rcx", ""),
    "kmem_cache_free": ("frees-object", "rsi", ""),
    "kfree": ("frees-object", "rdi", ""),
    "kfree_nolock": ("frees-object", "rdi", ""),
    "kvfree_rcu_cb": ("frees-around", "rdi", ""),
    "kmem_cache_free_bulk": ("frees-objects", "rsi", "rdx"),
    "rcu_free_sheaf": ("frees-sheaf", "rdi", ""),
    "__alloc_pages_noprof": ("pages", "rsi", ""),
    "__alloc_frozen_pages_noprof": ("pages", "rsi", ""),
    "alloc_pages_bulk_noprof": ("page-array", "rcx", "page_array"),
    **dict.fromkeys(
        ("free_unref_page", "free_frozen_pages", "__free_frozen_pages", "__free_pages_ok"),
        ("frees-pages", "rdi", "rsi"),
    ),
    "free_unref_folios": ("frees-folios", "rdi", ""),
}
# Those that all kernels since Linux 6.10 have.
_NEEDED = ("kmem_cache_alloc_noprof", "kmem_cache_free", "kfree", "free_unref_folios")
# What the plugin is told the places of; kernels before 6.18 have no sheaves.
_MEMBERS = (
    ("slab", "slab_cache"),
    ("kmem_cache", "name"),
    ("kmem_cache", "size"),
    ("slab_sheaf", "size"),
    ("slab_sheaf", "objects"),
    ("folio_batch", "nr"),
    ("folio_batch", "folios"),
)
_OPTIONAL = "slab_sheaf"
_ORDERS = 32
_MAX_BYTES = 1 << 20
_COUNTS = r"(\d{1,18}) (\d{1,18}) (\d{1,18})"
_CACHE = re.compile(rf"cache (\d{{1,10}}) {_COUNTS} ([!-~]{{0,64}})", re.ASCII)
_PAGES = re.compile(rf"pages (\d{{1,2}}) {_COUNTS}", re.ASCII)
# A kernel with CONFIG_RANDOM_KMALLOC_CACHES has several of each size, and takes one by the caller.
_RANDOM = re.compile(r"kmalloc-rnd-\d\d-")


@cache  # each run asks
def _arguments(elf: Path, label: str) -> str:
    try:
        cached = symbol_cache()
        index = SymbolIndex.open(str(elf), str(cached) if cached else None)
        types = list(dict.fromkeys(name for name, _ in _MEMBERS))
        layouts = dict(zip(types, type_layouts(str(elf), types)[1], strict=True))
        bulk = probed(str(elf), "x86_64", "alloc_pages_bulk_noprof", "page_array")
    except NativeError as error:
        raise InputError(f"--allocations: {error}") from error
    addresses = {name: index.symbol_address(name) for name in _FUNCTIONS}
    for name in _NEEDED:
        if addresses[name] is None:
            raise InputError(
                f"--allocations: {label} has no function {name}: kernels since Linux 6.12 have it"
            )
    if addresses["__alloc_frozen_pages_noprof"] is not None:
        addresses["__alloc_pages_noprof"] = None
    offsets = []
    for name, member in _MEMBERS:
        layout = layouts[name]
        offset = None if layout is None else {row[0]: row[2] for row in layout[4]}.get(member)
        if offset is None and name != _OPTIONAL:
            raise InputError(f"--allocations: {label} has no {name}.{member}")
        offsets.append(f"{(offset or 0) // 8:x}")
    held = [register(row[3], "x86_64") for row in bulk[0] if row[2] == "value"] if bulk else []
    found = [f",layout={told_variables(variable_addresses(elf))};{':'.join(offsets)}"]
    for name, (role, first, second) in _FUNCTIONS.items():
        if second == "page_array":
            second = held[0] if held else ""
        if (address := addresses[name]) is not None:
            found.append(f",allocator={role}:{address:x}:{first}:{second}")
    return "".join(found)


def arguments(kernel: KernelFiles) -> str:
    """The plugin's, each with a comma before it. Raises InputError."""
    if kernel.debug_elf is None:
        raise InputError(f"--allocations: {kernel.label} has no debug ELF: name IMAGE,vmlinux=ELF")
    return _arguments(kernel.debug_elf, kernel.label)


def refuse(kernels: Sequence[KernelFiles], architecture: str) -> None:
    """Raise InputError where what some kernel allocates cannot be seen."""
    if architecture != "x86_64":
        raise InputError(
            f"--allocations: only guests of x86-64 can be recorded, not {architecture}"
        )
    for kernel in kernels:
        arguments(kernel)


class Tally(NamedTuple):
    """How often something was given out, and taken back, whenever it was given out; and how much of
    what was given out in the window was not taken back in it."""

    allocated: int = 0
    freed: int = 0
    kept: int = 0

    def plus(self, other: "Tally", times: int = 1) -> "Tally":
        """With the other one, so many times."""
        return Tally(*(mine + times * more for mine, more in zip(self, other, strict=True)))


class Allocations(msgspec.Struct, frozen=True):
    """What was given out and taken back in a window: objects by their cache's name and how many
    bytes each has, and blocks of pages by order."""

    objects: Mapping[tuple[str, int], Tally]
    pages: Mapping[int, Tally]

    @staticmethod
    def load(path: Path) -> "Allocations":
        """What the plugin wrote (``collectors/tcg-plugin/core/src/allocations.rs``). Safe for a
        file from a stranger. Raises SessionError."""
        damaged = SessionError(f"{path} is damaged: record this run again")
        try:
            lines = bounded.read(path, _MAX_BYTES).decode("ascii", "replace").splitlines()
        except OSError as error:
            raise SessionError(f"cannot read {path}: {error.strerror}") from error
        if not lines or lines.pop() != "end":
            raise damaged
        objects = dict[tuple[str, int], Tally]()
        pages = dict[int, Tally]()
        for line in lines:
            if row := _CACHE.fullmatch(line):
                size, *counts = map(int, row.groups()[:4])
                key = (_RANDOM.sub("kmalloc-", row[5]) or "?", size)
                objects[key] = objects.get(key, Tally()).plus(Tally(*counts))
            elif (row := _PAGES.fullmatch(line)) and int(row[1]) < _ORDERS:
                order, *counts = map(int, row.groups())
                pages[order] = pages.get(order, Tally()).plus(Tally(*counts))
            else:
                raise damaged
        return Allocations(objects, pages)

    def less(self, other: "Allocations") -> "Allocations":
        """What was given out and taken back beyond that of a shorter run."""
        return Allocations(_less(self.objects, other.objects), _less(self.pages, other.pages))


_Key = TypeVar("_Key")


def _less(mine: Mapping[_Key, Tally], theirs: Mapping[_Key, Tally]) -> dict[_Key, Tally]:
    nothing = Tally()
    return {
        key: mine.get(key, nothing).plus(theirs.get(key, nothing), -1) for key in {**mine, **theirs}
    }
