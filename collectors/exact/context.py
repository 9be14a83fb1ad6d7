"""The workload's own context, and what ran beside it: interrupts, the softirqs that they run,
threads of the kernel, and processors that idle.

Chance decides what of these falls into a window. The call tree tells them by where execution
entered: a node that begins at the entry of an interrupt or of such a thread is beside the workload,
with all that it calls. The addresses of these entries are in the guest's kallsyms.
"""

import re
from collections.abc import Iterable
from pathlib import Path

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from profdiff.base import bounded
from profdiff.base.errors import SessionError
from profdiff.collectors.architecture import ARCHITECTURES
from profdiff.collectors.exact.counts import Counts
from profdiff.collectors.recorded import Beside, CallTree
from profdiff.symbolization.places import KERNEL_HALF


def _any(patterns: Iterable[str]) -> str:
    return "|".join(filter(None, patterns))


_INTERRUPTS = _any(architecture.interrupts for architecture in ARCHITECTURES)
_VECTORS = tuple(architecture.vectors for architecture in ARCHITECTURES if architecture.vectors)
# kernel/kthread.c; kernel/sched/idle.c, and what calls it: init/main.c, arch/*/kernel/.
_IDLE = "do_idle|cpu_startup_entry"
_THREADS = (
    rf"kthread|call_usermodehelper_exec_async|{_IDLE}|rest_init|start_kernel|start_secondary|"
    r"secondary_start_kernel"
)
# Where a new task begins and leaves the kernel.
_BEGINNINGS = _any(architecture.beginnings for architecture in ARCHITECTURES)
_KINDS = _any((_INTERRUPTS, *(vector.names for vector in _VECTORS), _THREADS, _BEGINNINGS))
_WANTED = re.compile(rf"^([0-9a-f]{{16}}) [A-Za-z] ({_KINDS})$".encode(), re.MULTILINE)
_NEXT = re.compile(rb"^([0-9a-f]{16}) ", re.MULTILINE)
_LINE = re.compile(r"([0-9a-f]{16}) ([0-9a-f]{16}) (\w{1,128})")
# The limits of kallsyms, and of the file with entries.
_MAX_KALLSYMS, _MAX_BYTES = 256 << 20, 256 << 10
FILE = "entries"


class Entries(msgspec.Struct, frozen=True):
    """The symbols at which contexts begin: their names, and uint64[N] of where each starts and what
    is behind it."""

    names: tuple[str, ...]
    start: NDArray[np.uint64]
    end: NDArray[np.uint64]

    @staticmethod
    def of(found: Iterable[tuple[str, int, int]]) -> "Entries":
        """Entries from names, starts and ends."""
        some = sorted(set(found), key=lambda one: (one[1], one[0]))
        start, end = (np.array([one[i] for one in some], np.uint64) for i in (1, 2))
        return Entries(tuple(name for name, _, _ in some), start, end)

    @staticmethod
    def of_kallsyms(packed: bytes) -> "Entries":
        """Entries from a guest's kallsyms, gzip; none if it is damaged."""
        try:
            return Entries.of(_symbols(bounded.gunzip(packed, _MAX_KALLSYMS)))
        except ValueError:
            return Entries.of(())

    @staticmethod
    def load(path: Path) -> "Entries":
        """As ``save`` wrote them. Raises SessionError."""
        try:
            lines = bounded.read(path, _MAX_BYTES).decode(errors="replace").splitlines()
        except OSError as error:
            raise SessionError(f"cannot read {path}: {error.strerror}") from error
        found = [_LINE.fullmatch(line) for line in lines]
        if None in found:
            raise SessionError(f"{path} is damaged: record this run again")
        return Entries.of((one[3], int(one[1], 16), int(one[2], 16)) for one in found if one)

    def save(self, path: Path) -> None:
        """A line each: start, end, name. Raises OSError."""
        rows = zip(self.start.tolist(), self.end.tolist(), self.names, strict=True)
        path.write_text("".join(f"{start:016x} {end:016x} {name}\n" for start, end, name in rows))

    def __len__(self) -> int:
        return len(self.names)

    def of_boot(self) -> "Entries":
        """Those that do not boot a kernel: its threads do."""
        rows = zip(self.names, self.start.tolist(), self.end.tolist(), strict=True)
        boots = re.compile(rf"(?!(?:{_IDLE})$)(?:{_THREADS})")
        return Entries.of(row for row in rows if not boots.fullmatch(row[0]))

    def begins_beside(self, address: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """bool[A]: whether what is entered at each address runs beside the workload."""
        found: NDArray[np.bool_] = self._inside(_INTERRUPTS, address)
        return found | self._vectors(address) | self.begins_threads(address)

    def begins_threads(self, address: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """bool[A]: whether each is the first instruction of a thread of the kernel, or of one that
        idles."""
        threads = np.array([bool(re.fullmatch(_THREADS, name)) for name in self.names], np.bool_)
        return np.isin(address, self.start[threads])

    def interrupts(self, address: NDArray[np.uint64], count: NDArray[np.int64]) -> int:
        """How many interrupts came, by how often each address (uint64[A]) was executed (int64[A]):
        vectors, and what the stubs of a table lead to."""
        entered = [
            bool(re.fullmatch(_INTERRUPTS, name)) and not name.endswith("_entries_start")
            for name in self.names
        ]
        found = self._vectors(address)
        found |= np.isin(address, self.start[np.array(entered, np.bool_)])
        return int(count[found].sum())

    def begins_tasks(self, address: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """bool[A]: whether each address is of what a new task executes first."""
        return self._inside(_BEGINNINGS, address)

    def _vectors(self, address: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """bool[A]: whether each is a vector of interrupts."""
        found = np.zeros(len(address), np.bool_)
        for vector in _VECTORS:
            which = np.isin(
                address % np.uint64(vector.group), np.array(vector.interrupts, np.uint64)
            )
            found |= which & self._inside(vector.names, address)
        return found

    def _inside(self, names: str, address: NDArray[np.uint64]) -> NDArray[np.bool_]:
        found = np.zeros(len(address), np.bool_)
        for name, start, end in zip(self.names, self.start, self.end, strict=True):
            if re.fullmatch(names, name):
                found |= (address >= start) & (address < end)
        return found


def own_context(counts: Counts, entries: Entries) -> tuple[Counts, int] | None:
    """The same of the workload's own context, and how many instructions ran beside it; None where
    that cannot be told: without callers, or entries.

    In a boot, interrupts and idling run beside the workload, and the kernel's threads do not.
    An address where both ran has what is certain of its branches, the rest is not known; iterations
    are divided as the executions are.
    """
    tree = counts.calls
    if tree is None or not len(entries) or tree.unequal(counts.count):
        return None
    beside = nodes_beside(counts, tree, entries)
    ran_beside = beside[tree.node]
    if counts.kind != "boot":
        # A task whose calls were not seen, since it slept when its machine was saved, has no
        # callers.
        ran_beside |= (tree.node == 0) & _of_another(tree.place, counts.address, entries)
    apart = np.zeros_like(counts.count)
    np.add.at(apart, tree.place[ran_beside], tree.count[ran_beside])
    own = counts.count - apart
    return _kept(counts, _pruned(tree, beside, ran_beside), own, apart), int(apart.sum())


def beside(counts: Counts, own: Counts) -> Beside:
    """What the kernel executed beside the workload: all ``counts`` but the workload's ``own``."""
    apart = counts.count[counts.in_kernel].copy()
    address = counts.address[counts.in_kernel]
    apart[np.searchsorted(address, own.address[own.in_kernel])] -= own.count[own.in_kernel]
    return Beside(address[apart > 0], apart[apart > 0])


def nodes_beside(counts: Counts, tree: CallTree, entries: Entries) -> NDArray[np.bool_]:
    """bool[M]: which nodes of the call tree of ``counts`` are beside the workload."""
    boots, address = counts.kind == "boot", counts.address
    if boots:
        entries = entries.of_boot()
    where = np.append(address, np.uint64(0))  # Row -1: nowhere.
    begins = entries.begins_beside(where[tree.target])
    if not boots:
        begins |= (tree.parent == 0) & _of_another(tree.site, address, entries)
    # A return of a retpoline leads to a thread's function in the node that called the retpoline.
    led = tree.node[entries.begins_threads(where[tree.place])]
    begins[led[led > 0]] = True
    # Callers stand before their callees: from each to its caller's caller, and so on.
    above = np.maximum(tree.parent, 0)
    while above.any():
        begins |= begins[above]
        above = above[above]
    return begins


def _of_another(
    place: NDArray[np.int64], address: NDArray[np.uint64], entries: Entries
) -> NDArray[np.bool_]:
    """bool[P]: whether what has no callers, at these places, is of the kernel and no new task's."""
    where = np.append(address, np.uint64(0))[place]
    return (where >= KERNEL_HALF) & ~entries.begins_tasks(where)


def _pruned(tree: CallTree, beside: NDArray[np.bool_], ran_beside: NDArray[np.bool_]) -> CallTree:
    """The tree without what is beside."""
    nodes, rows = ~beside, ~ran_beside
    number = np.cumsum(nodes) - 1
    parent = tree.parent[nodes]
    return CallTree(
        parent=np.where(parent < 0, -1, number[parent]),
        site=tree.site[nodes],
        target=tree.target[nodes],
        calls=tree.calls[nodes],
        node=number[tree.node[rows]],
        place=tree.place[rows],
        count=tree.count[rows],
        refused=tree.refused,
        idle=tree.idle and tree.idle.pruned(nodes),
    )


def _kept(
    counts: Counts, tree: CallTree, own: NDArray[np.int64], apart: NDArray[np.int64]
) -> Counts:
    """``counts`` with these numbers, of the places that they or the tree have."""
    kept = own > 0
    for places in (tree.site, tree.target):
        kept[places[places >= 0]] = True
    part = own / np.maximum(counts.count, 1)
    each = own + ((counts.each_iteration - counts.count) * part).astype(np.int64)
    taken, untold = counts.taken, counts.untold
    if taken is not None and untold is not None:
        passed = counts.count - taken - untold
        taken, passed = (np.maximum(one - apart, 0) for one in (taken, passed))
        untold = own - taken - passed
    rows = np.cumsum(kept) - 1
    return replace(
        counts,
        address=counts.address[kept],
        code=counts.code[kept],
        count=own[kept],
        executed=counts.executed[kept],
        patched=counts.patched[kept],
        each_iteration=each[kept],
        calls=tree.placed(rows),
        taken=None if taken is None else taken[kept],
        untold=None if untold is None else untold[kept],
    )


def _symbols(text: bytes) -> Iterable[tuple[str, int, int]]:
    for found in _WANTED.finditer(text):
        start = int(found[1], 16)
        following = (int(one[1], 16) for one in _NEXT.finditer(text, found.end()))
        end = next((address for address in following if address != start), start)
        # The kernel lists its symbols in order; with its addresses hidden, all are 0.
        if KERNEL_HALF <= start < end:
            yield found[2].decode(), start, end
