"""Rows of shared lines, where what they hold is known."""

from pathlib import Path

import made_sharing as made
import pytest
from extent import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from made_accesses import LOAD, STORE, Layout, Site
from made_sharing import OPS, Hold, MadeLine, On
from synthetic import KERNEL_BASE, manifest

from profdiff.collectors.sharing.lines import SharedLines
from profdiff.evidence.difference import Difference
from profdiff.evidence.results import Results
from profdiff.evidence.sharing import SharingTable
from profdiff.evidence.statistics import Verdict
from profdiff.profile.sharing.sums import shares
from profdiff.session import manifest as m

HEAP = 0xFFFF_8880_0100_0000
BOTH, LOADS, STORES = frozenset({LOAD, STORE}), frozenset({LOAD}), frozenset({STORE})
LAYOUTS: dict[str, Layout] = {
    "file": (
        184,
        {
            "f_count.counter": (0, 8),
            "f_lock.rlock.raw_lock.val.counter": (8, 4),
            "f_mode": (12, 4),
            "f_op": (16, 8),
        },
    ),
    "mm_struct": (
        256,
        {
            "mm_count.counter": (0, 4),
            "mmap_lock.count.counter": (64, 8),
            "mmap_lock.owner.counter": (72, 8),
            "total_vm": (120, 8),
        },
    ),
    "rw_semaphore": (40, {"count.counter": (0, 8), "owner.counter": (8, 8)}),
    "signalfd_ctx": (8, {"sigmask": (0, 8)}),
    "llist_head": (8, {"first": (0, 8)}),
}
COUNT = Site("f_count.counter", 1, "fget", does=BOTH, type="file", nested=["atomic64_t:counter"])
MODE = Site("f_mode", 1, "vfs_read", type="file", offset=12)

OTHER = Site("f_op", 1, "vfs_open", type="file", offset=16, does=BOTH)


def both(site: Site, offset: int, *, store: bool = True, misses: int = OPS // 2) -> list[On]:
    """Each of two vCPUs accesses the same bytes once an operation."""
    return [On(site, vcpu, offset, store=store, misses=misses) for vcpu in (0, 1)]


def unknown(function: str, does: frozenset[str] = STORES) -> Site:
    """An instruction of which nothing is known."""
    return Site("", 1, function, does=does).hidden()


def ends(found: Difference) -> tuple[float, float, float]:
    """A difference, and what it can be."""
    return found.delta, found.low, found.high


def one(made_lines: list[MadeLine], tmp_path: Path, **more: object) -> SharingTable:
    """The table of a kernel."""
    return made.table({"base": made_lines}, tmp_path, LAYOUTS, **more)  # type: ignore[arg-type]


def test_one_counter_is_shared_truly_and_two_falsely(tmp_path: Path) -> None:
    first, second = (
        Site("sigmask", 1, name, does=STORES, type="signalfd_ctx") for name in ("one", "two")
    )
    lines = [
        MadeLine(HEAP, both(COUNT, 0)),
        MadeLine(HEAP + 64, [On(first, 0, 0, store=True), On(second, 1, 8, store=True)]),
    ]
    rows = made.named(one(lines, tmp_path))
    true, false = rows["file.f_count"].sums[0], rows["signalfd_ctx.sigmask"].sums[0]
    assert (true.transfers, true.false) == (OPS, 0)
    assert (false.transfers, false.false, false.lines) == (OPS, OPS, 1)
    # Two objects of eight bytes lie on it.
    assert false.largest and [use.offset for use in false.largest.fields] == [0, 8]
    assert {use.named.name.type for use in false.largest.fields if use.named} == {"signalfd_ctx"}


def test_a_byte_that_overlaps_makes_it_true(tmp_path: Path) -> None:
    wide = unknown("memset")
    lines = [
        MadeLine(HEAP, [On(wide, 0, 0, store=True), On(wide, 1, 7, store=True, size=1)]),
        MadeLine(HEAP + 64, [On(wide, 0, 0, store=True), On(wide, 1, 8, store=True, size=1)]),
        # How far a repeated one reaches is not known.
        MadeLine(
            HEAP + 128,
            [On(wide, 0, 0, store=True, repeated=True), On(wide, 1, 32, store=True)],
        ),
    ]
    (row,) = made.named(one(lines, tmp_path)).values()
    assert (row.sums[0].transfers, row.sums[0].false) == (3 * OPS, OPS)


def test_bystanders_read_what_nobody_writes(tmp_path: Path) -> None:
    lines = [MadeLine(HEAP, [*both(COUNT, 0), *both(MODE, 12, store=False, misses=0)])]
    sums = made.named(one(lines, tmp_path))["file.f_count"].sums[0]
    assert {(name.type, name.path): count for name, count in sums.bystanders.items()} == {
        ("file", "f_mode"): OPS
    }
    # Only one vCPU writes, and it reads its own line.
    lines = [MadeLine(HEAP, [On(COUNT, 0, 0, store=True), On(MODE, 0, 12, size=4)])]
    assert not made.named(one(lines, tmp_path))["file.f_count"].sums[0].bystanders


def test_bystanders_wait_no_oftener_than_the_line_changes_hands(tmp_path: Path) -> None:
    # Both read the mode five times an operation; one vCPU stores to the counter once in the window.
    reads = [On(MODE, vcpu, 12, size=4, count=5 * OPS // 2) for vcpu in (0, 1)]
    seldom = [On(COUNT, 0, 0, store=True, count=1), *reads]
    (row,) = made.named(one([MadeLine(HEAP, seldom)], tmp_path)).values()
    assert row.sums[0].bystander_reads == 1
    lines = [MadeLine(HEAP, [*both(COUNT, 0), *reads, *both(OTHER, 16, store=False)])]
    sums = made.named(one(lines, tmp_path))["file.f_count"].sums[0]
    assert sorted(sums.bystanders.values()) == [OPS, OPS] and sums.bystander_reads == OPS
    # A few stores to what is read leave most of the reads.
    lines[0] = MadeLine(HEAP, [*lines[0].on, On(MODE, 0, 12, store=True, size=4, count=3)])
    sums = made.named(one(lines, tmp_path))["file.f_count"].sums[0]
    assert sorted(sums.bystanders.values()) == [OPS - 2 * 3, OPS]


def test_what_vcpus_share_names_the_line_not_what_one_writes_most(tmp_path: Path) -> None:
    alone = [On(OTHER, 0, 16, store=True, count=20 * OPS), On(MODE, 1, 12, count=OPS, size=4)]
    (row,) = made.named(one([MadeLine(HEAP, [*both(COUNT, 0), *alone])], tmp_path)).values()
    assert (row.name.path, row.sums[0].false) == ("f_count", 0)


def test_nothing_is_called_false_without_an_access(tmp_path: Path) -> None:
    only = On(COUNT, 0, 0, store=True)
    for on in ([], [only], [only, On(MODE, 1, 12, count=0)]):
        sums = next(iter(made.named(one([MadeLine(HEAP, on)], tmp_path)).values())).sums[0]
        assert (sums.transfers, sums.false, sums.untold) == (OPS, 0, OPS)


def test_a_line_is_one_row_whichever_field_is_written_most(tmp_path: Path) -> None:
    """Both kernels write both fields of a line, each another one more often."""
    wakeup, reset = (Site(path, 1, "wake", does=BOTH, type="file") for path in ("f_mode", "f_op"))
    wakeup, reset = wakeup._replace(offset=12), reset._replace(offset=16)
    kernels = {
        label: [
            MadeLine(
                HEAP + 4096 * line,
                [
                    *(On(wakeup, vcpu, 12, store=True, size=4, count=first) for vcpu in (0, 1)),
                    *(On(reset, vcpu, 16, store=True, count=second) for vcpu in (0, 1)),
                ],
            )
            for line, (first, second) in enumerate(counts)
        ]
        for label, counts in (("base", [(50, 40), (50, 40)]), ("new", [(50, 40), (40, 50)]))
    }
    (row,) = made.table(kernels, tmp_path, LAYOUTS).rows()
    assert [one.transfers for one in row.sums] == [2 * OPS, 2 * OPS]
    assert {one.path for one in row.fields} == {"f_mode", "f_op"}
    assert row.changes[0].sure and ends(row.changes[0].transfers) == (0, 0, 0)


def test_functions_that_were_renamed_count_as_themselves(tmp_path: Path) -> None:
    base, new = (
        [MadeLine(HEAP, both(unknown(name), 0))] for name in ("pipe_read", "anon_pipe_read")
    )
    found = made.table({"base": base, "new": new}, tmp_path, LAYOUTS)
    (row,) = found.rows()
    assert found.function(row.name.function).name == "anon_pipe_read"
    assert row.changes[0].sure and row.changes[0].transfers.delta == 0
    # What has a name on one kernel is not called a change where renamed functions access it.
    known = Site("f_op", 1, "pipe_write", does=BOTH, type="file", offset=16)
    lost = [MadeLine(HEAP, both(unknown("anon_pipe_get_page"), 16))]
    base = [MadeLine(HEAP, both(known, 16))]
    rows = made.named(made.table({"base": base, "new": lost}, tmp_path, LAYOUTS))
    assert [one.changes[0].sure for one in rows.values()] == [False, False]


def test_what_other_lines_tell_of_an_instruction_holds(tmp_path: Path) -> None:
    """The first line names the file, of which the others see two fields."""
    mode, operations = unknown("vfs_read", BOTH), unknown("vfs_write", BOTH)
    seen = [*both(mode, 12), *both(operations, 16)]
    named = MadeLine(HEAP, [On(COUNT, 0, 0, count=1), *seen])
    alone = [On(each.site, each.vcpu, each.offset + 24, each.store) for each in seen]
    rows = made.named(one([named, MadeLine(HEAP + 4096, alone)], tmp_path))
    assert sum(row.sums[0].transfers for name, row in rows.items() if "file" in name) == 2 * OPS
    # One of them is not enough.
    rows = made.named(one([named, MadeLine(HEAP + 4096, alone[:2])], tmp_path))
    assert "unnamed.vfs_read" in rows


def test_fields_of_one_type_on_two_lines_are_two_rows(tmp_path: Path) -> None:
    total = Site("total_vm", 1, "do_mmap", does=BOTH, type="mm_struct", offset=120)
    mm_count = Site(
        *("mm_count.counter", 1, "mmdrop"),
        does=BOTH,
        type="mm_struct",
        nested=["atomic_t:counter"],
    )
    lines = [
        MadeLine(HEAP, both(mm_count, 0), transfers=3),
        MadeLine(HEAP + 64, both(total, 56), transfers=5),
        MadeLine(HEAP + 4096, both(mm_count, 0), transfers=10),
    ]
    rows = made.named(one(lines, tmp_path))
    assert {name: row.sums[0].transfers for name, row in rows.items()} == {
        "mm_struct.mm_count": 13,
        "mm_struct.total_vm": 5,
    }
    assert rows["mm_struct.mm_count"].sums[0].lines == 2


def test_a_record_in_another_one_has_the_name_of_the_whole(tmp_path: Path) -> None:
    """Most code has a pointer to the lock alone; one access knows whose it is."""
    lock = Site("count.counter", 1, "down_read", does=BOTH, type="rw_semaphore")
    owner = Site(
        *("mmap_lock.owner.counter", 1, "do_mmap"),
        type="mm_struct",
        offset=72,
        nested=["rw_semaphore:owner.counter", "atomic64_t:counter"],
    )
    lines = [MadeLine(HEAP, [*both(lock, 16), On(owner, 0, 24, count=1)])]
    assert set(made.named(one(lines, tmp_path))) == {"mm_struct.mmap_lock"}
    lines = [MadeLine(HEAP, both(lock, 16))]
    assert set(made.named(one(lines, tmp_path))) == {"rw_semaphore"}


def test_what_is_in_a_union_with_a_part_has_the_shorter_name(tmp_path: Path) -> None:
    """``struct folio`` has its first page in a union with fields of the same names."""
    layouts: dict[str, Layout] = {
        "folio": (
            64,
            {
                "mapping": (24, 8),
                "_refcount.counter": (52, 4),
                "page.mapping": (24, 8),
                "page._refcount.counter": (52, 4),
            },
        ),
        "page": (64, {"mapping": (24, 8), "_refcount.counter": (52, 4)}),
    }
    mapping = Site("mapping", 1, "filemap_get_entry", type="folio", offset=24)
    count = Site(
        *("_refcount.counter", 1, "page_ref_add", "", BOTH),
        type="page",
        offset=52,
        nested=["atomic_t:counter"],
    )
    lines = [MadeLine(HEAP, [*both(count, 52), *both(mapping, 24, store=False)])]
    table = made.table({"base": lines}, tmp_path, layouts)
    assert list(made.named(table)) == ["folio._refcount"]


def test_what_most_accesses_say_wins(tmp_path: Path) -> None:
    wrong = Site("f_mode", 1, "wrong", type="file", offset=12)
    total = Site("total_vm", 1, "do_mmap", does=BOTH, type="mm_struct", offset=120)
    lines = [MadeLine(HEAP, [*both(total, 56), On(wrong, 0, 56, count=3)])]
    assert set(made.named(one(lines, tmp_path))) == {"mm_struct.total_vm"}


def test_what_is_written_through_memset_has_its_fields_name(tmp_path: Path) -> None:
    lines = [
        MadeLine(HEAP, [*both(unknown("memset"), 16), On(MODE, 0, 12, size=4, count=1)]),
    ]
    rows = made.named(one(lines, tmp_path))
    assert set(rows) == {"file.f_op"}


@pytest.mark.parametrize("bias", [0, 0x1E0_0000])
def test_static_variables_are_found_wherever_the_kernel_was_loaded(
    tmp_path: Path, bias: int
) -> None:
    start = KERNEL_BASE + 0x200_0000
    variables = {
        "jiffies": (".data", start, 8),
        "tasklist_lock": (".data", start + 64 + 8, 8),
        "file_systems": (".data", start + 64 + 16, 8),
    }
    known = Site("", 1, "do_timer", does=BOTH, kind="global", type="long", symbol="jiffies")
    lines = [
        MadeLine(start + bias, both(known, 0)),
        MadeLine(start + bias + 64, both(unknown("queued_write_lock"), 8)),
    ]
    rows = made.named(one(lines, tmp_path, variables=variables))
    assert set(rows) == {"jiffies", "tasklist_lock"}


def test_a_variable_of_a_record_without_a_tag_has_no_other_ones_fields(tmp_path: Path) -> None:
    start = KERNEL_BASE + 0x200_0000
    layouts: dict[str, Layout] = {"(anonymous)": (16, {"needs_update": (8, 8)})}
    first = Site("first", 1, "fs", does=BOTH, kind="global", type="(anonymous)", symbol="reads")
    lines = [MadeLine(start, [*both(first, 0), *both(unknown("fs"), 8), *both(unknown("fs"), 8)])]
    table = made.table({"base": lines}, tmp_path, layouts, {"reads": (".data", start, 16)})
    assert set(made.named(table)) == {"reads"}


def test_what_one_line_names_is_known_on_the_next_one(tmp_path: Path) -> None:
    """Of the line with the lock alone, nothing tells whose it is."""
    total = Site("total_vm", 1, "do_mmap", does=BOTH, type="mm_struct", offset=120)
    array = Site("saved[]", 1, "dup", does=STORES, type="mm_struct", offset=128)
    lines = [MadeLine(HEAP + 64, both(total, 56)), MadeLine(HEAP + 128, both(array, 0))]
    lines.append(MadeLine(HEAP, both(unknown("down_read"), 0)))
    rows = made.named(one(lines, tmp_path))
    assert set(rows) == {"mm_struct.total_vm", "mm_struct.saved[]", "mm_struct.mm_count"}


def test_no_object_begins_inside_a_word(tmp_path: Path) -> None:
    """A pointer with a flag in its lowest bit leads to one byte behind where the object is not."""
    flagged = Site("f_op", 1, "fput", does=BOTH, type="file", offset=17)
    lines = [MadeLine(HEAP, [*both(flagged, 0), *both(unknown("fput"), 16)])]
    rows = made.named(one(lines, tmp_path))
    assert not [name for name in rows if name != "file.f_op" and name.startswith("file")]


def test_a_variable_of_each_cpu_is_one_row(tmp_path: Path) -> None:
    variables = {
        "call_single_queue": (".data..percpu", 0x2_1740, 8),
        "cpu_number": (".data..percpu", 0x2_1780, 4),
    }
    own = Site(*("", 1, "flush_queue"), does=BOTH, kind="per-cpu", type="int", symbol="cpu_number")
    remote = Site("first", 1, "llist_add_batch", does=BOTH, type="llist_head")
    lines = []
    for base in (0xFFFF_8880_3EC0_0000, 0xFFFF_8880_3ED0_0000):
        lines += [
            MadeLine(base + 0x2_1740, both(remote, 0), transfers=OPS // 2),
            MadeLine(base + 0x2_1780, both(own, 0), transfers=OPS // 4),
        ]
    rows = made.named(one(lines, tmp_path, variables=variables))
    assert {name: (row.name.kind, row.sums[0].transfers) for name, row in rows.items()} == {
        "call_single_queue": ("per-cpu", OPS),
        "cpu_number": ("per-cpu", OPS // 2),
    }


def test_what_has_no_name_has_its_functions(tmp_path: Path) -> None:
    inlined = Site("", 1, "atomic_inc", "do_thing", STORES, file="include/atomic.h")
    lines = [
        MadeLine(HEAP, both(unknown("one"), 0)),
        MadeLine(HEAP + 64, both(inlined.hidden()._replace(inlined="do_thing"), 0)),
        MadeLine(0x7F00_0000_1000, both(unknown("one"), 0), user=True),
        MadeLine(HEAP + 128, []),
    ]
    rows = made.named(one(lines, tmp_path))
    assert set(rows) == {"unnamed.one", "unnamed.do_thing", "user-memory", "unnamed"}


def test_summed_lines_have_what_their_instructions_say(tmp_path: Path) -> None:
    stores = unknown("kmem_cache_free")
    on = [*both(COUNT, 0, misses=30), *both(stores, 0, misses=10)]
    lines = [MadeLine(0, on, transfers=41, read_fetches=81, lines=500)]
    rows = made.named(one(lines, tmp_path))
    told = {name: (one.transfers, one.lines) for name, row in rows.items() for one in row.sums}
    assert told == {"file.f_count": (31, 375), "unnamed.kmem_cache_free": (10, 125)}
    assert sum(row.sums[0].read_fetches for row in rows.values()) == 81
    assert all(row.depends == [True] for row in rows.values())
    assert all(row.sums[0].untold == row.sums[0].transfers for row in rows.values())


def test_locked_instructions_count_once(tmp_path: Path) -> None:
    on = [
        On(COUNT, vcpu, 0, store=store, locked=True, count=7)
        for vcpu in (0, 1)
        for store in (False, True)
    ]
    lines = [MadeLine(HEAP, [*on, On(MODE, 0, 12, size=4)])]
    assert made.named(one(lines, tmp_path))["file.f_count"].sums[0].locked == 14


def test_recycled_lines_depend_on_the_schedule(tmp_path: Path) -> None:
    lasting = [MadeLine(HEAP, both(COUNT, 0), transfers=OPS // 4)]
    recycled = [
        MadeLine(HEAP + 4096 * number, both(COUNT, 0), transfers=OPS // 4 - 1)
        for number in range(5)
    ]
    for lines, depends in ((lasting, False), (recycled, True), ([*lasting, *recycled], True)):
        (row,) = made.named(one(lines, tmp_path)).values()
        assert row.depends == [depends]
    # A quarter of the transfers may be of such lines.
    mostly = [MadeLine(HEAP, both(COUNT, 0), transfers=75), recycled[0]]
    (row,) = made.named(one(mostly, tmp_path)).values()
    assert row.depends == [False] and row.sums[0].recycled == 24


def test_what_runs_measured_has_the_verdict_of_their_lines(tmp_path: Path) -> None:
    """Results know no lines, but what the collector said of them."""
    lasting = MadeLine(HEAP, both(COUNT, 0), transfers=OPS)
    recycled = MadeLine(HEAP + 4096, both(COUNT, 0), transfers=OPS // 5)
    for new, depends in (([lasting], False), ([lasting, recycled], False), ([recycled], True)):
        kernels = {"base": [lasting], "new": new}
        total = made.table(kernels, tmp_path, LAYOUTS)
        total = total.summed(total.rows())
        assert total.depends == [False, depends]
        runs = []
        for label, lines in kernels.items():
            found = made.kernel_lines(label, lines, tmp_path, LAYOUTS).lines
            value = float(found.transfers.sum()) / OPS
            runs.append(measured_run(label, value, scheduled=found.scheduled))
        described = m.replace(manifest(list(kernels)), collectors=["sharing"], runs=runs)
        (result,) = Results.gather(described).every
        assert result.changes[1] is not None
        verdict = result.changes[1].verdict
        assert verdict is (Verdict.UNSURE if depends else Verdict.EXACT)
        assert ("schedule" in result.changes[1].reason) == depends


def measured_run(label: str, value: float, *, scheduled: bool) -> m.Run:
    """One run that the collector summed up."""
    (run,) = manifest([label]).runs
    assert run.qemu is not None
    measured = m.Measured("transfers", "lines per op", "lower", False, [value], scheduled=scheduled)
    qemu = m.replace(run.qemu, virtual_clock=True)
    return m.replace(run, collector="sharing", measured=[measured], qemu=qemu)


def test_differences_are_claimed_where_they_are_certain(tmp_path: Path) -> None:
    base, twice = (MadeLine(HEAP, both(COUNT, 0), transfers=n * OPS) for n in (1, 2))
    recycled = MadeLine(HEAP, both(COUNT, 0), transfers=OPS // 5)
    lost = MadeLine(HEAP + 4096, both(unknown("fget"), 0), transfers=OPS)
    other = MadeLine(HEAP, both(unknown("elsewhere"), 0), transfers=OPS)
    for new, sure, causes in (
        ([twice], True, set()),
        ([recycled], False, {"schedule"}),
        ([lost], False, {"unnamed"}),
        ([other], True, set()),
        ([base, lost], False, {"unnamed"}),
        ([twice, lost], True, {"unnamed"}),
    ):
        found = made.table({"base": [base], "new": new}, tmp_path, LAYOUTS)
        (change,) = made.named(found)["file.f_count"].changes
        assert (change.sure, set(change.causes)) == (sure, causes), new
    found = made.table({"base": [base], "new": [lost]}, tmp_path, LAYOUTS)
    (change,) = made.named(found)["unnamed.fget"].changes
    assert ends(change.transfers) == (1, 0, 1) and not change.sure


def test_kernels_with_other_numbers_of_operations_compare(tmp_path: Path) -> None:
    lines = [
        made.kernel_lines(
            label, [MadeLine(HEAP, both(COUNT, 0), transfers=ops)], tmp_path, LAYOUTS, ops=ops
        )
        for label, ops in (("base", 100), ("new", 300))
    ]
    (row,) = SharingTable(lines).rows()
    assert ends(row.changes[0].transfers) == (0, 0, 0) and row.changes[0].sure


_SITES = [
    *(COUNT, MODE, unknown("one"), unknown("two", BOTH)),
    Site("count.counter", 1, "down_read", does=BOTH, type="rw_semaphore"),
    Site("total_vm", 1, "do_mmap", does=BOTH, type="mm_struct", offset=120),
    Site("", 1, "do_timer", does=BOTH, kind="global", type="long", symbol="jiffies"),
    Site("", 1, "copy", kind="pointed", type="long", does=BOTH),
    Site("fd[]", 1, "fget", type="files_struct", offset=160),
]
_ON = st.builds(
    On,
    st.sampled_from(_SITES),
    st.integers(0, 2),
    st.integers(0, 56),
    st.booleans(),
    st.sampled_from([1, 4, 8]),
    st.integers(0, 90),
    st.integers(0, 90),
    st.booleans(),
    st.booleans(),
)
_LOCKS = [
    Site("count.counter", 1, name, does=BOTH, type="rw_semaphore")
    for name in ("down_read", "down_write", "up_read", "up_write", "fget")
]
_HOLD = st.builds(
    Hold,
    st.sampled_from(_LOCKS),
    st.sampled_from(_LOCKS),
    st.sampled_from([None, *_SITES]),
    st.integers(0, 56),
    st.integers(0, 90),
    st.integers(0, 900),
)
_LINE = st.builds(
    MadeLine,
    st.sampled_from([HEAP, HEAP + 64, KERNEL_BASE + 0x200_0000, 0x7F00_0000_0000]),
    st.lists(_ON, max_size=8),
    *[st.integers(0, 3 * OPS)] * 4,
    st.booleans(),
    st.sampled_from([0, 0, 9]),
    range=st.sampled_from([(1, 0), (0, 500), (3, 3)]),
    holds=st.lists(_HOLD, max_size=3),
)


def _summed(found: SharingTable) -> object:
    names = found.functions.functions
    return [
        (
            row.name._replace(function=-1),
            names[row.name.function] if row.name.function >= 0 else None,
            one.transfers,
            *(one.false, one.untold, one.recycled, one.locked, one.lines),
            *(one.read_fetches, one.write_fetches, one.upgrades, one.largest),
            sorted((names[site], count) for (_, site), count in one.misses.items()),
            sorted(one.bystanders.values()),
        )
        for row in found.rows()
        for one in row.sums
    ]


@settings(max_examples=examples(150), deadline=None)
@given(lines=st.lists(_LINE, max_size=6), data=st.data())
def test_rows_sum_to_the_lines_in_whatever_order(
    tmp_path_factory: pytest.TempPathFactory, lines: list[MadeLine], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("made")
    variables = {"jiffies": (".data", KERNEL_BASE + 0x200_0000, 8)}
    first = made.kernel_lines("base", lines, folder, LAYOUTS, variables, vcpus=3)
    found = SharingTable([first])
    total = found.summed(found.rows()).sums[0]
    shared: SharedLines = first.lines
    assert total.transfers == shared.transfers.sum()
    assert total.lines == shared.lines.sum()
    for column in ("read_fetches", "write_fetches", "upgrades"):
        assert getattr(total, column) == getattr(shared, column).sum()
    assert sum(total.misses.values()) == shared.misses.sum()
    assert total.false + total.untold <= total.transfers
    order = data.draw(st.permutations(range(len(shared.access_line))))
    again = made.of_lines(made.permuted(shared, order), lines, LAYOUTS, variables)
    assert _summed(found) == _summed(again)


@given(total=st.integers(0, 10**6), weights=st.lists(st.integers(0, 1000), min_size=1, max_size=20))
def test_shares_sum_to_the_whole(total: int, weights: list[int]) -> None:
    found = shares(total, weights)
    assert sum(found) == total
    if any(weights):
        for one, weight in zip(found, weights, strict=True):
            assert abs(one - total * weight / sum(weights)) < 1
