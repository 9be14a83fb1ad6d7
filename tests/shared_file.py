"""Kernels that are made up, in the manner of two threads that read the same file, for the tests of
what changes hands."""

from made_accesses import LOAD, STORE, Layout, Site
from made_sharing import OPS, MadeLine, On

BOTH = frozenset({LOAD, STORE})
HEAP = 0xFFFF_8880_0100_0000
LAYOUTS: dict[str, Layout] = {
    "file": (
        184,
        {
            "f_count.counter": (0, 8),
            "f_ref.refcnt.counter": (0, 8),
            "f_mode": (12, 4),
            "f_op": (16, 8),
        },
    ),
    "signalfd_ctx": (8, {"sigmask": (0, 8)}),
}
COUNT = Site(
    *("f_count.counter", 1, "atomic_long_inc_not_zero", "__fget_files_rcu", BOTH),
    type="file",
    file="include/linux/atomic.h",
    nested=["atomic64_t:counter"],
)
REF = Site(
    *("f_ref.refcnt.counter", 1, "file_ref_get", "__fget_files_rcu", BOTH),
    type="file",
    file="include/linux/file_ref.h",
    nested=["file_ref_t:refcnt.counter", "atomic64_t:counter"],
)
MODE = Site("f_mode", 1, "vfs_read", type="file", offset=12)
OPERATIONS = Site("f_op", 1, "vfs_read", type="file", offset=16)
MASK = Site("sigmask", 1, "signalfd_poll", does=BOTH, type="signalfd_ctx")
FREED = Site("", 1, "kmem_cache_free", does=BOTH).hidden()


def counted(site: Site, *, reads: bool) -> MadeLine:
    """A file's counter, that both vCPUs add to; ``reads``: to compare and exchange it."""
    on = [
        On(site, vcpu, 0, store=store, misses=OPS // 2, locked=store)
        for vcpu in (0, 1)
        for store in ([False, True] if reads else [True])
    ]
    beside = [
        On(one, vcpu, at, size=size, count=times * OPS // 2)
        for vcpu in (0, 1)
        for one, at, size, times in ((MODE, 12, 4, 5), (OPERATIONS, 16, 8, 4))
        if reads
    ]
    fetches = (OPS, 0, OPS) if reads else (0, OPS, 0)
    return MadeLine(HEAP, [*on, *beside], OPS, *fetches)


def kernels() -> dict[str, list[list[MadeLine]]]:
    """In the manner of two threads that read the same file."""
    masks = [On(MASK, vcpu, 8 * vcpu, store=True, misses=OPS // 2) for vcpu in (0, 1)]
    freed = [On(FREED, vcpu, 0, store=True, misses=7) for vcpu in (0, 1)]
    side_by_side = MadeLine(HEAP + 64, masks, OPS, 0, OPS, 0)
    recycled = MadeLine(0, freed, 15, 0, 15, 0, lines=400)
    programs = MadeLine(
        *(0x7F00_0000_1000, [On(FREED, vcpu, 0, store=True) for vcpu in (0, 1)], OPS),
        user=True,
    )
    base = [counted(COUNT, reads=True), side_by_side, recycled]
    return {"base": [base], "new": [[counted(REF, reads=False), recycled, programs]]}
