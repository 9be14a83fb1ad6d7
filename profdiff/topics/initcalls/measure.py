"""Instructions of a recorded boot by initcall and by phase.

The call tree tells both: what ran below the call of an initcall in do_one_initcall(), and below the
functions that stand for a phase, the innermost of them, inlined or not. The kernel's own table of
initcalls, whose symbols are in kallsyms, tells their levels.
"""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from profdiff.base.errors import InputError
from profdiff.collectors.recorded import CallTree
from profdiff.evidence.blame.renamed import Names, alike, unambiguous
from profdiff.profile.kept_chains import chains_of
from profdiff.profile.runs import recorded
from profdiff.session.manifest import Run
from profdiff.session.session import Session
from profdiff.symbolization.chains import Chains

# include/linux/init.h: what initcalls of a level are defined by.
LEVELS = {
    "early": "early",
    "0": "pure",
    "1": "core",
    "2": "postcore",
    "3": "arch",
    "4": "subsys",
    "5": "fs",
    "rootfs": "rootfs",
    "6": "device",
    "7": "late",
}
_AROUND, THREADS, OTHERS, OUTSIDE = (
    "initcalls: calling them",
    "kernel threads",
    "others",
    "interrupts, idle",
)
_PROGRAMS = "programs"
# By phase, the functions whose instructions it has, with all that they call, in mainline's init/,
# mm/ and arch/x86/ from 6.1 to 7.3.
PHASES = {
    "start_kernel": ("start_kernel", "rest_init"),
    "setup_arch": ("setup_arch",),
    "memory": (
        *("mm_core_init_early", "mm_core_init", "mm_init", "mem_init", "memblock_free_all"),
        *("free_area_init", "init_mem_mapping", "setup_per_cpu_areas", "build_all_zonelists"),
        *("kmem_cache_init", "kmem_cache_init_late", "vmalloc_init", "page_alloc_init_late"),
    ),
    "waits by the clock": (
        *("calibrate_APIC_clock", "timer_irq_works", "calibrate_delay", "quick_pit_calibrate"),
        *("pit_calibrate_tsc", "pit_hpet_ptimer_calibrate_cpu", "__const_udelay", "__udelay"),
        *("__delay", "__ndelay"),
    ),
    "console": (
        *("univ8250_console_write", "univ8250_console_write_atomic", "serial8250_console_write"),
        *("univ8250_console_write_thread", "early_serial_write", "early_serial8250_write"),
    ),
    "kernel_init": ("kernel_init",),
    "tracing": (
        *("ftrace_init", "trace_init", "early_trace_init", "trace_event_update_all"),
        *("ftrace_check_work_func", "event_trace_enable", "trace_event_eval_update"),
    ),
    _AROUND: ("do_one_initcall",),
    **{f"initcalls: {level}": () for level in LEVELS.values()},
    "devices: devtmpfs": ("devtmpfsd", "devtmpfs_work_loop"),
    "rootfs: unpacking": ("unpack_to_rootfs", "do_populate_rootfs"),
    "rootfs: mounting": ("prepare_namespace", "init_rootfs", "init_mount_tree"),
    "init memory is freed": (
        *("free_initmem", "ftrace_free_init_mem", "kprobe_free_init_mem", "mark_readonly"),
        *("mark_rodata_ro", "exit_boot_config"),
    ),
    "init is executed": ("run_init_process", "kernel_execve"),
    THREADS: ("kthread",),
    # Where the window goes on behind init's first instruction.
    _PROGRAMS: (),
    "programs: system calls": ("do_syscall_64",),
    OTHERS: (),
    OUTSIDE: (),
}
_NAMES = list(PHASES)
_DEFINED = re.compile(
    rb"^([0-9a-f]{16}) [dD] __initcall_(?:_kmod_(\w+)__\d+_\d+_)?(\w+?)(early|rootfs|[0-7])s?$",
    re.MULTILINE,
)
_CALLER = "do_one_initcall"


class Initcall(NamedTuple):
    """Its function, the module or file that defines it, and its level."""

    name: str
    module: str
    level: str


class Booted(NamedTuple):
    """Instructions of one boot: by initcall, with all that it calls, in the order in which they
    were called; for each of these by function that executed itself; and by phase."""

    initcalls: dict[Initcall, int]
    functions: dict[Initcall, dict[str, int]]
    phases: dict[str, int]

    @property
    def total(self) -> int:
        """All, also outside the boot's own."""
        return sum(self.phases.values())


def defined(kallsyms: bytes) -> list[Initcall]:
    """The table of a kernel's initcalls, in the order in which it calls them; empty where kallsyms
    lacks data (CONFIG_KALLSYMS_ALL)."""
    found = [
        (int(address, 16), name.decode(), module.decode(), LEVELS[level.decode()])
        for address, module, name, level in _DEFINED.findall(kallsyms)
    ]
    return [Initcall(*one[1:]) for one in sorted(found)]


def booted(session: Session, run: Run) -> Booted:
    """What a run booted. Raises InputError where that cannot be told, SessionError."""
    found = recorded(session, run)
    if found is None or found.calls is None or found.beside is None:
        raise InputError(
            f"{run.kernel}: initcalls are known by who called them: record with --call-tree"
        )
    table = defined(session.read(run, "kallsyms") or b"")
    if not table:
        raise InputError(f"{run.kernel}: its kallsyms lists no initcalls (CONFIG_KALLSYMS_ALL)")
    chains = chains_of(session, run, found.places)
    outside = int(found.beside.count.sum())
    result = of_tree(found.calls, chains, table, outside, ~found.places.in_kernel)
    if not result.initcalls:
        raise InputError(f"{run.kernel}: {_CALLER}() was not seen to call initcalls of its table")
    return result


def renamed(base: Booted, other: Booted) -> dict[Initcall, Initcall]:
    """The base's initcall that each of another kernel's own is, by the latter: one of its name, in
    another file or on another level; or one of its level with a near name that executed the same
    functions. What could be one of two is none."""
    found = dict[Initcall, Initcall]()
    for is_same in (_moved, partial(_alike, base, other)):
        gone = base.initcalls.keys() - other.initcalls.keys() - {*found.values()}
        came = other.initcalls.keys() - base.initcalls.keys() - found.keys()
        found |= unambiguous((old, new) for old in gone for new in came if is_same(old, new))
    return found


def _moved(old: Initcall, new: Initcall) -> bool:
    """Names are static: another file's initcall on another level may have the same by chance."""
    is_near = old.level == new.level or old.module == new.module
    return old.name == new.name and is_near


def _alike(base: Booted, other: Booted, old: Initcall, new: Initcall) -> bool:
    if old.level != new.level or not Names.of(old.name, new.name).near:
        return False
    before, after = (
        {"" if name == own.name else name for name in boot.functions.get(own, ())}
        for boot, own in ((base, old), (other, new))
    )
    return alike(before, after)


def as_base(booted: Booted, names: Mapping[Initcall, Initcall]) -> Booted:
    """What a kernel booted, with initcalls as ``names`` has them."""
    return Booted(
        {names.get(one, one): count for one, count in booted.initcalls.items()},
        {names.get(one, one): counts for one, counts in booted.functions.items()},
        booted.phases,
    )


def of_tree(
    calls: CallTree,
    chains: Chains,
    table: Sequence[Initcall],
    outside: int,
    of_programs: NDArray[np.bool_],
) -> Booted:
    """``calls``: the boot's own, at the places of ``chains``; ``table``: the kernel's initcalls;
    ``outside``: what interrupts and idling executed; ``of_programs``: bool[N], which places are
    user space's."""
    tree = _Tree(calls, chains)
    of_node = _called(tree, table)
    of_row = tree.nearest(of_node)[calls.node]
    initcalls, functions = dict[Initcall, int](), dict[Initcall, dict[str, int]]()
    leaf = _innermost(chains)[calls.place]
    inside = of_row >= 0
    keys, at = np.unique(of_row[inside] * len(chains.strings) + leaf[inside], return_inverse=True)
    counts = np.zeros(len(keys), np.int64)
    np.add.at(counts, at, calls.count[inside])
    for number in dict.fromkeys(of_node[of_node >= 0].tolist()):
        initcalls[table[number]] = 0
    for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
        initcall = table[key // len(chains.strings)]
        name = chains.strings[key % len(chains.strings)]
        initcalls[initcall] = initcalls.get(initcall, 0) + count
        own = functions.setdefault(initcall, {})
        own[name] = own.get(name, 0) + count
    phases = dict(zip(_NAMES, _by_phase(tree, table, of_node, of_programs).tolist(), strict=True))
    phases[OUTSIDE] = outside
    return Booted(initcalls, functions, phases)


class _Tree(NamedTuple):
    """A call tree, and the chains of its places."""

    calls: CallTree
    chains: Chains

    def symbols(self, places: NDArray[np.int64]) -> list[str]:
        """The names of the functions at places, without what the compiler added; "" of none."""
        numbers = np.where(places >= 0, self.chains.symbol[places], 0).tolist()
        return [self.chains.strings[number].partition(".")[0] for number in numbers]

    def nearest(self, known: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64[M]: for each node what is ``known`` (-1: nothing) of itself, or of the nearest
        caller of which something is."""
        above = np.where(known >= 0, np.arange(len(known)), self.calls.parent)
        above[0] = 0
        while not np.array_equal(further := above[above], above):
            above = further
        return known[above]


def _called(tree: _Tree, table: Sequence[Initcall]) -> NDArray[np.int64]:
    """int64[M]: the row of the table that each node is the call of; -1: none. Two of one name are
    called in the order of the table."""
    parent = tree.calls.parent
    left: dict[str, list[int]] = {}
    for number, initcall in enumerate(table):
        left.setdefault(initcall.name, []).append(number)
    callers = np.array([name == _CALLER for name in tree.symbols(tree.calls.target)])
    nodes = np.flatnonzero(callers[parent] & (parent >= 0))
    sites, targets = (tree.symbols(one[nodes]) for one in (tree.calls.site, tree.calls.target))
    found = np.full(len(parent), -1, np.int64)
    for node, site, target in zip(nodes.tolist(), sites, targets, strict=True):
        if site == _CALLER and left.get(target):
            found[node] = left[target].pop(0)
    return found


def _by_phase(
    tree: _Tree,
    table: Sequence[Initcall],
    of_node: NDArray[np.int64],
    of_programs: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """int64[P]: the instructions of each phase."""
    calls, of_place = tree.calls, np.append(_phases_of(tree.chains), -1)
    levels = [_NAMES.index(f"initcalls: {one.level}") for one in table]
    level = np.array([*levels, -1], np.int64)
    known = np.where(of_place[calls.target] >= 0, of_place[calls.target], of_place[calls.site])
    known = np.where(of_node >= 0, level[of_node], known)
    known[0] = _NAMES.index(OTHERS)
    found = tree.nearest(known)[calls.node]
    found = np.where(of_place[calls.place] >= 0, of_place[calls.place], found)
    found[of_programs[calls.place]] = _NAMES.index(_PROGRAMS)
    total = np.zeros(len(_NAMES), np.int64)
    np.add.at(total, found, calls.count)
    return total


def _phases_of(chains: Chains) -> NDArray[np.int64]:
    """int64[N]: the phase of the innermost function at each place that stands for one, or -1."""
    phase = {name: number for number, names in enumerate(PHASES.values()) for name in names}
    by_string = np.array([phase.get(text.partition(".")[0], -1) for text in chains.strings])
    by_frame = by_string[chains.function_name[chains.frame_function]][chains.frames]
    some = np.flatnonzero(by_frame >= 0)
    found = np.full(len(chains), -1, np.int64)
    # The innermost frame of an address stands last.
    found[np.searchsorted(chains.offsets.astype(np.int64), some, "right") - 1] = by_frame[some]
    return found


def _innermost(chains: Chains) -> NDArray[np.int64]:
    """int64[N]: the string that names the innermost function at each place."""
    names = chains.symbol.astype(np.int64)
    has = chains.offsets[1:] > chains.offsets[:-1]
    frames = chains.frames[chains.offsets[1:][has].astype(np.int64) - 1]
    names[has] = chains.function_name[chains.frame_function[frames]]
    return names
