"""A made-up report of a suite: cells of every sort on any kernels, without a session."""

import random
from collections.abc import Sequence

from msgspec.structs import replace

from profdiff.views.kernels.facts import Variant
from profdiff.views.suite import (
    SCHEMA,
    SuiteCell,
    SuiteCellFunction,
    SuiteChange,
    SuiteDocument,
    SuiteFunction,
    SuiteKernel,
    SuiteMissing,
    SuiteNoise,
    SuiteSummary,
)

STATES = ["anon", "shared", "tmpfs", "memfd"]
SIZES = ["4k", "64k", "1m", "64m"]
CALLS = ["mmap", "munmap", "mprotect", "madvise-dontneed", "mremap", "mincore", "msync", "mlock"]
SINGLE = ["getpid", "fork", "vfork", "exec", "wait", "open", "close", "stat", "read", "write"]
SINGLE += ["pipe", "eventfd", "epoll", "poll", "select", "futex", "timer", "unix", "tcp", "udp"]
SINGLE += ["io-uring", "rename", "link", "unlink", "fsync", "fcntl", "splice", "membarrier"]
SINGLE += ["brk", "userfaultfd"]
FUNCTIONS = ["change_pte_range", "zap_pte_range", "vma_merge", "mas_walk", "folio_add_lru"]
RELEASES = {"base": "6.1.170", "mid": "6.12.95", "new": "7.3.4"}


def suite(labels: Sequence[str] = ("base", "mid", "new"), **more: object) -> SuiteDocument:
    """158 cells; the same each time."""
    chance = random.Random(7)
    cells = [
        _cell(f"{call}/{state},{size}", call, {"state": state, "size": size}, labels, chance)
        for call in CALLS
        for state in STATES
        for size in SIZES
    ]
    cells += [_cell(name, name, {}, labels, chance) for name in SINGLE]
    summaries = [_summary(label, cells) for label in labels[1:]]
    made = SuiteDocument(
        schema=SCHEMA,
        name="syscalls",
        created="2026-11-22T16:00:00Z",
        profdiff="0.1.0",
        metric="instructions:total",
        unit="instructions",
        better="lower",
        banner="Instructions, not time.",
        sentence=summaries[-1].sentence if summaries else "One kernel: base.",
        threshold=0.05,
        restored=True,
        noise=SuiteNoise(cells=158, differ=0, unsure=0, sentence="A/A: 0 of 158 cells differ."),
        summaries=summaries,
        kernels=[
            SuiteKernel(
                label=label,
                release=RELEASES.get(label, f"6.{place}.0"),
                build_id=f"{place + 1:02x}" * 20,
                compiler="gcc 12.2.0",
                variant=Variant(
                    append="", memory_mib=None, cpus=None, cpu=None, program="", words=[]
                ),
            )
            for place, label in enumerate(labels)
        ],
        cells=cells,
        functions=[_function(name, place, labels) for place, name in enumerate(FUNCTIONS)],
        damaged=[],
        remarks=[],
    )
    return replace(made, **more) if more else made


def _cell(
    name: str, workload: str, point: dict[str, str], labels: Sequence[str], chance: random.Random
) -> SuiteCell:
    base = float(chance.randint(200, 60_000))
    values: dict[str, float | None] = {labels[0]: base}
    changes, missing, functions, seats = {}, {}, {}, {}
    for label in labels[1:]:
        if workload == "io-uring" and label != labels[-1]:
            values[label] = None
            missing[label] = SuiteMissing(
                kind="not there", why="not there: io_uring (ENOSYS)", lacks="io_uring (ENOSYS)"
            )
            continue
        relative = chance.choice([0, 0, 0, 0.001, -0.004, 0.02, 0.08, -0.07, 0.3, -0.4, 1.6])
        delta = round(base * relative)
        values[label] = base + delta
        changes[label] = SuiteChange(
            relative=delta / base,
            delta=delta,
            verdict="exact",
            relevant=abs(delta / base) >= 0.05,
        )
        functions[label] = [
            SuiteCellFunction(
                name=chance.choice(FUNCTIONS),
                object="vmlinux",
                side="kernel",
                delta=delta * 0.6,
                share=0.6 if delta else None,
            )
        ]
        if delta and len(values) % 2:
            seats[label] = SuiteCellFunction(
                name="handle_mm_fault",
                object="vmlinux",
                side="kernel",
                delta=delta * 0.8,
                share=0.8,
            )
    return SuiteCell(
        name=name,
        workload=workload,
        part="",
        point=point,
        cpus=1,
        tags=["mm"] if point else ["misc"],
        op="page" if point else "call",
        about=f"what {workload} costs",
        session=workload,
        at=",".join(f"{key}={value}" for key, value in point.items()),
        command=f"./{workload} {' '.join(point.values())} 100",
        values=values,
        per_op=True,
        changes=changes,
        missing=missing,
        functions=functions,
        seats=seats,
        noise=0.0,
        reproduce=f"profdiff record --suite syscalls --only {name} --kernel base=debian:bookworm",
    )


def _summary(label: str, cells: Sequence[SuiteCell]) -> SuiteSummary:
    changes = [cell.changes[label] for cell in cells if label in cell.changes]
    more = sum(change.relevant and change.delta > 0 for change in changes)
    less = sum(change.relevant and change.delta < 0 for change in changes)
    return SuiteSummary(
        kernel=label,
        compared=len(changes),
        more=more,
        less=less,
        depend=0,
        other=len(changes) - more - less,
        not_there=sum(label in cell.missing for cell in cells),
        failed=0,
        not_recorded=0,
        functions=FUNCTIONS[:3],
        sentence=f"{label} against base: {more} of {len(changes)} cells cost at least 5% more, "
        f"{less} at least 5% less; the functions that make most of it over all cells: "
        f"{', '.join(FUNCTIONS[:3])}.",
    )


def _function(name: str, place: int, labels: Sequence[str]) -> SuiteFunction:
    return SuiteFunction(
        name=name,
        object="vmlinux",
        side="kernel",
        up=dict.fromkeys(labels[1:], 20 - place),
        down=dict.fromkeys(labels[1:], place),
        points=dict.fromkeys(labels[1:], (-1) ** place * (90.0 - 10 * place)),
    )
