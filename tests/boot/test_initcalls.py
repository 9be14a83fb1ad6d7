"""Instructions by initcall and phase, from call trees that know their numbers."""

import time
from collections.abc import Sequence

import numpy as np
import pytest
from synthetic import chains

from profdiff.collectors.recorded import CallTree
from profdiff.topics.initcalls import shapes
from profdiff.topics.initcalls.measure import OUTSIDE, Booted, Initcall, defined, of_tree, renamed

KALLSYMS = b"""\
ffffffff81800078 d str__initcall__trace_system_name
ffffffff81dba9e0 d __initcall__kmod_init__349_223_do_init_real_modeearly
ffffffff81dba9d8 d __initcall__kmod_core__497_2230_init_hw_perf_eventsearly
ffffffff81dba9d8 D __initcall_start
ffffffff81dba9f0 d __initcall__kmod_a__1_2_setup6
ffffffff81dba9f4 d __initcall__kmod_b__3_4_setup6s
ffffffff81dba9f8 d __initcall__kmod_initramfs__5_6_populate_rootfsrootfs
ffffffff81dba9fc d __initcall_of_linux_5_94s
ffffffff81dbae70 d __initcall__kmod_hvc_console__305_246_hvc_console_initcon
ffffffff81dbae70 D __initcall_end
"""

# A place for each function, and one more in do_one_initcall() for an inlined wait.
NAMES = ["do_one_initcall", "first", "setup", "third", "helper", "jumped", "thread", "kthread"]
NAMES += ["__x86_indirect_thunk_rax", "kernel_init"]
CALLER, FIRST, SETUP, THIRD, HELPER, JUMPED, WORK, KTHREAD, THUNK, INIT, WAIT, MAIN = range(12)
TABLE = [
    Initcall("first", "a", "early"),
    Initcall("setup", "b", "device"),
    Initcall("setup", "c", "device"),
    Initcall("third", "d", "late"),
]


def tree(nodes: Sequence[tuple[int, int, int]], rows: Sequence[tuple[int, int, int]]) -> CallTree:
    """Of nodes (caller, site, target) and rows (node, place, count)."""
    parent, site, target = np.array(nodes, np.int64).T
    node, place, count = np.array(rows, np.int64).T
    calls = np.ones(len(nodes), np.int64)
    return CallTree(parent, site, target, calls, node, place, count, 0)


def counted(nodes: Sequence[tuple[int, int, int]], rows: Sequence[tuple[int, int, int]]) -> Booted:
    places = [([(name, "vmlinux", "f.c", False)], name, True, [1]) for name in NAMES]
    inlined = [("first", "vmlinux", "f.c", False), ("calibrate_delay", "vmlinux", "f.c", True)]
    every = [
        *places,
        (inlined, "first", True, [1]),
        ([("main", "init", "m.c", False)], "main", False, [1]),
    ]
    of_programs = np.arange(len(every)) == MAIN
    return of_tree(tree(nodes, rows), chains(every), TABLE, 7, of_programs)


ROOT = [(-1, -1, -1), (0, INIT, CALLER)]


def test_the_kernels_own_table() -> None:
    found = defined(KALLSYMS)
    assert [(one.name, one.module, one.level) for one in found] == [
        ("init_hw_perf_events", "core", "early"),
        ("do_init_real_mode", "init", "early"),
        ("setup", "a", "device"),
        ("setup", "b", "device"),
        ("populate_rootfs", "initramfs", "rootfs"),
        ("of_linux_5_9", "", "subsys"),
    ]
    assert defined(b"") == []


def test_what_an_initcall_calls_is_its_own() -> None:
    """Two initcalls have one name, and are told apart by their order; what one jumps to as its last
    act runs in its node; an indirect call leads through a thunk, which is none."""
    nodes = [*ROOT, (1, CALLER, FIRST), (2, FIRST, HELPER), (1, CALLER, SETUP), (1, CALLER, HELPER)]
    nodes += [(1, CALLER, SETUP), (1, CALLER, THIRD), (1, CALLER, THUNK), (7, JUMPED, HELPER)]
    rows = [(1, CALLER, 10), (2, FIRST, 20), (2, WAIT, 3), (3, HELPER, 30), (4, SETUP, 40)]
    rows += [(5, HELPER, 50), (6, SETUP, 60), (7, THIRD, 70), (7, JUMPED, 80), (9, HELPER, 90)]
    rows += [(8, THUNK, 4)]
    found = counted(nodes, rows)
    assert list(found.initcalls) == TABLE
    assert list(found.initcalls.values()) == [53, 40, 60, 240]
    assert found.functions[TABLE[3]]["jumped"] == 80
    assert found.functions[TABLE[0]]["helper"] == 30
    phases = {name: count for name, count in found.phases.items() if count}
    assert phases == {
        "waits by the clock": 3,
        "initcalls: calling them": 64,
        "initcalls: early": 50,
        "initcalls: device": 100,
        "initcalls: late": 240,
        OUTSIDE: 7,
    }
    assert found.total == 4 + 10 + 20 + 3 + 30 + 40 + 50 + 60 + 70 + 80 + 90 + 7


@pytest.mark.parametrize(("target", "phase"), [(KTHREAD, "kernel threads"), (WORK, "others")])
def test_threads_stand_apart(target: int, phase: str) -> None:
    found = counted([(-1, -1, -1), (0, -1, target), (1, target, HELPER)], [(2, HELPER, 9)])
    assert found.phases[phase] == 9
    assert not found.initcalls


def made(**initcalls: str) -> Booted:
    """Initcalls as LEVEL MODULE FUNCTION..., each function of which executed something."""
    counts, functions = dict[Initcall, int](), dict[Initcall, dict[str, int]]()
    for name, words in initcalls.items():
        level, module, *called = words.split()
        one = Initcall(name.removesuffix("_2"), module, level)
        counts[one] = 100
        functions[one] = dict.fromkeys((one.name, *called), 10)
    return Booted(counts, functions, {})


def test_initcalls_that_were_renamed() -> None:
    """Initcalls of 6.12 and 7.1: one is known by its name, or by its level and what it executed."""
    base = made(
        iomap_buffered_init="fs iomap bioset_init kmalloc mempool_init",
        iomap_dio_init="fs iomap sysctl_init",
        init_mmap_min_addr="pure min_addr update_mmap_min_addr",
        bts_init="arch bts perf_pmu_register",
        kept_init="core kept a",
        gone_init="core gone b c d",
    )
    other = made(
        iomap_ioend_init="fs iomap bioset_init kmalloc mempool_init get_random",
        mmap_min_addr_init="pure min_addr register_sysctl kmalloc insert_header",
        bts_init="early bts perf_pmu_register",
        kept_init="core kept a",
        gone_init_late="late gone b c d",
    )
    found = {new.name: old.name for new, old in renamed(base, other).items()}
    assert found == {"iomap_ioend_init": "iomap_buffered_init", "bts_init": "bts_init"}
    # Two that could be it.
    both = made(
        iomap_ioend_init="fs iomap bioset_init kmalloc mempool_init",
        iomap_bioend_init="fs iomap bioset_init kmalloc mempool_init",
    )
    assert renamed(base, both) == {}


def test_many_initcalls_take_no_time() -> None:
    """Of each, only its own functions are looked at: a kernel has some 700."""
    called = " ".join(f"function_{n}" for n in range(50))
    boot = made(**{f"unlike_{n}_init": f"device m{n} {called}" for n in range(1000)})
    more = {one: counts | {"function_9": 30} for one, counts in boot.functions.items()}
    boots = {
        label: shapes._Boots.of([one], None)
        for label, one in {"old": boot, "new": boot._replace(functions=more)}.items()
    }
    begin = time.process_time()
    rows = shapes._initcalls(boots)
    assert time.process_time() - begin < 2
    assert [row.mostly["new"] for row in rows] == ["function_9 +20"] * 1000


def test_programs_are_a_phase_wherever_they_run() -> None:
    """Init goes on in the node of the thread that executed it."""
    nodes = [*ROOT, (1, CALLER, FIRST), (0, KTHREAD, INIT)]
    found = counted(nodes, [(2, FIRST, 20), (3, MAIN, 5), (0, MAIN, 6)])
    assert found.phases["programs"] == 11
    assert list(found.initcalls.values()) == [20]
