"""The places that a collector saw, as symbolization is given them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.symbolization._native import KernelMapping, PerfData

#: Addresses from here on are the kernel's, on x86-64 and arm64.
KERNEL_HALF = np.uint64(1 << 63)
#: An instruction: its length, and up to 15 bytes.
CODE: np.dtype[np.void] = np.dtype("V16")
_KEY = np.dtype([("address", "<u8"), ("code", CODE)])


class Object(NamedTuple):
    """What an address lies in. ``kind`` says what addresses there are: *kernel*: avmas; *file* and
    *vdso*: offsets in the file; *code*: avmas of user space, of which the instructions' bytes tell
    the file; *anonymous*, *unmapped*, *guest*, *hypervisor*: avmas."""

    kind: str
    path: str = ""
    build_id: str | None = None
    pid: int = 0


class Places(msgspec.Struct, frozen=True):
    """N places. ``address``: uint64[N]. ``object``: uint32[N], rows of ``objects``, of which the
    first is the kernel. ``code``: uint8[N, 16], the length of the instruction and its bytes, or
    None where no object is *code*. ``kernel_mappings``: where perf says that
    the kernel and its modules were, None for a kernel that lies where it was linked.
    ``kernel_symbols``: (start, length, name) of code that the kernel made."""

    address: NDArray[np.uint64]
    object: NDArray[np.uint32]
    objects: Sequence[Object]
    code: NDArray[np.uint8] | None = None
    kernel_mappings: Sequence[KernelMapping] | None = None
    kernel_symbols: Sequence[tuple[int, int, str]] = ()

    @staticmethod
    def of_code(address: NDArray[np.uint64], code: NDArray[np.uint8]) -> "Places":
        """The places in a guest whose instructions were seen: the kernel's half, and user space."""
        address = np.ascontiguousarray(address, np.uint64)
        user = (address < KERNEL_HALF).astype(np.uint32)
        return Places(address, user, [Object("kernel"), Object("code")], code)

    @staticmethod
    def of_samples(data: PerfData) -> "Places":
        """The places in a perf.data file, in its order."""
        objects = [Object(*known) for known in data.objects]
        mappings, made = data.kernel_mappings, data.kernel_symbols
        return Places(data.place_address, data.place_object, objects, None, mappings, made)

    @property
    def in_kernel(self) -> NDArray[np.bool_]:
        """bool[N]: whether each place is in the kernel or a module of it."""
        result: NDArray[np.bool_] = self.object == 0
        return result

    def keys(self) -> NDArray[np.void]:
        """What tells the places apart: addresses and, where it is known, the code there."""
        code = np.zeros(len(self.address), CODE)
        if self.code is not None:
            code[:] = np.ascontiguousarray(self.code).view(CODE).reshape(-1)
        return place_keys(self.address, code)


def place_keys(address: NDArray[np.uint64], code: NDArray[np.void]) -> NDArray[np.void]:
    """One value for each place, by which places sort and compare; ``code``: V16[N]."""
    keys = np.empty(len(address), _KEY)
    keys["address"], keys["code"] = address, code
    return keys


def distinct(values: NDArray[Any]) -> NDArray[Any]:
    """Sorted, each once. np.unique loads numpy.ma: a tenth of the start of a small report."""
    values = values[_order(values)] if values.dtype == _KEY else np.sort(values)
    first = np.ones(len(values), np.bool_)
    first[1:] = values[1:] != values[:-1]
    return values[first]


def among(values: NDArray[Any], known: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each value is a known one. np.isin loads numpy.ma, as np.unique does."""
    if not len(known):
        return np.zeros(len(values), np.bool_)
    known = np.sort(known)
    found: NDArray[np.bool_] = (
        known[np.minimum(np.searchsorted(known, values), len(known) - 1)] == values
    )
    return found


def rows_of(known: NDArray[np.void], keys: NDArray[np.void]) -> NDArray[np.intp]:
    """Where each of ``keys`` stands among sorted ones, or would; at once where they are the same,
    as in runs that reproduce."""
    if np.array_equal(known, keys):
        return np.arange(len(keys))
    if known.dtype != _KEY or not len(known):
        return np.searchsorted(known, keys)
    rows = np.searchsorted(np.ascontiguousarray(known["address"]), keys["address"])
    # An address has few instructions, mostly one: step over those that come before.
    (high, low), (own_high, own_low) = _words(known["code"]), _words(keys["code"])
    left = np.arange(len(keys))
    while len(left):
        left = left[rows[left] < len(known)]
        at = rows[left]
        before = (high[at] < own_high[left]) | (
            (high[at] == own_high[left]) & (low[at] < own_low[left])
        )
        left = left[before & (known["address"][at] == keys["address"][left])]
        rows[left] += 1
    return rows


def _order(keys: NDArray[np.void]) -> NDArray[np.intp]:
    """What sorts the keys of places. NumPy sorts columns ten times as fast as their records."""
    high, low = _words(keys["code"])
    return np.lexsort((low, high, keys["address"]))


def _words(code: NDArray[np.void]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """V16[N] as two numbers each, which compare as its bytes do."""
    words = np.ascontiguousarray(code).view(">u8").reshape(-1, 2).astype(np.uint64)
    return words[:, 0], words[:, 1]


def of_keys(keys: NDArray[np.void]) -> Places:
    """The places that have these keys."""
    code = np.ascontiguousarray(keys["code"]).view(np.uint8).reshape(-1, 16)
    return Places.of_code(keys["address"], code)
