"""A kernel's config: what ``.config`` sets each option to, and what differs between kernels.

A config may be a stranger's: it is bounded, and nothing in it makes reading fail but its size.
"""

import re
from collections.abc import Mapping

import msgspec

from profdiff.base.bounded import gunzip

# Debian's are 300 kB; allmodconfig's is below 1 MB.
MAX_SIZE = 4 * 2**20
_GZIP = b"\x1f\x8b"
# Kconfig writes both forms (confdata.c in the kernel's scripts/kconfig).
_LINE = re.compile(rb"^(?:# (CONFIG_\w{1,200}) is not set|(CONFIG_\w{1,200})=(.+?))\r?$", re.M)
NOT_SET = "n"

# Options that can make the same code cost more or less: those of these names, and those that begin
# with one and an underscore.
_RELEVANT = re.compile(
    r"""(?x) CONFIG_(?:
    # Checks that slow everything down.
    DEBUG | DETECT_HUNG_TASK | GCOV | KASAN | KCOV | KCSAN | KFENCE | KMEMLEAK | KMSAN | LOCKDEP |
    LOCK_STAT | PAGE_OWNER | PAGE_POISONING | PAGE_TABLE_CHECK | PROVE | UBSAN |
    # Preemption, ticks, scheduling, and the accounting of time.
    HZ | IRQ_TIME_ACCOUNTING | NO_HZ | PREEMPT | PSI | RCU_NOCB_CPU | SCHED | SCHEDSTATS | SMP |
    VIRT_CPU_ACCOUNTING |
    # Memory.
    COMPACTION | KSM | LRU_GEN | MEMCG | NUMA | PAGE_MAPCOUNT | PERCPU_STATS | PER_VMA_LOCK |
    PT_RECLAIM | SLAB | SLUB | TRANSPARENT_HUGEPAGE | USERFAULTFD | VM_EVENT_COUNTERS |
    X86_5LEVEL | ZSWAP |
    # Mitigations and hardening.
    BUG_ON_DATA_CORRUPTION | CPU_MITIGATIONS | FORTIFY_SOURCE | HARDENED_USERCOPY | INIT_ON |
    INIT_STACK | KSTACK_ERASE | MITIGATION | PAGE_TABLE_ISOLATION | RANDOMIZE | RANDSTRUCT |
    RETHUNK | RETPOLINE | SHUFFLE_PAGE_ALLOCATOR | SPECULATION_MITIGATIONS | STACKPROTECTOR |
    # How code is generated and instrumented.
    AUTOFDO | CC_OPTIMIZE | CFI | DYNAMIC_FTRACE | FRAME_POINTER | FTRACE |
    FUNCTION_GRAPH_TRACER | FUNCTION_TRACER | JUMP_LABEL | LTO | PARAVIRT | PROPELLER | UNWINDER |
    # What runs at every system call.
    AUDIT | AUDITSYSCALL | SECCOMP | SECURITY |
    # What decides whether a system call, or a write to /proc, does anything.
    AIO | BPF_SYSCALL | CHECKPOINT_RESTORE | HUGETLB_PAGE | IO_URING | MEM_SOFT_DIRTY |
    MIGRATION | PROC_PAGE_MONITOR | SECRETMEM | SWAP
    )(?:_\w+)?"""
)
# For these families, what costs nothing where nobody asks for it.
_IRRELEVANT = re.compile(
    r"CONFIG_(?:DEBUG_(?:BUGVERBOSE|FS|INFO|KERNEL|MISC)|FTRACE_MCOUNT)(?:_\w+)?"
)


def parse(data: bytes) -> dict[str, str]:
    """Options to their values: ``CONFIG_SMP`` to ``y``, ``m``, a number or a quoted text; ``n``
    where the config says "is not set". Other lines are passed over. Never raises."""
    options: dict[str, str] = {}
    for unset, name, value in _LINE.findall(data):
        options[(unset or name).decode()] = NOT_SET if unset else value.decode(errors="replace")
    return options


def unpacked(data: bytes) -> bytes:
    """``data``, uncompressed if it is gzip. Raises ValueError: damaged, or above ``MAX_SIZE``."""
    if data.startswith(_GZIP):
        return gunzip(data, MAX_SIZE)
    if len(data) > MAX_SIZE:
        raise ValueError(f"it is larger than {MAX_SIZE >> 20} MiB")
    return data


class OptionDifference(msgspec.Struct, frozen=True):
    """An option that two kernels do not have alike. ``values`` by label; None: that config does not
    mention it, because its kernel does not know it or something that it depends on is not set."""

    option: str
    values: Mapping[str, str | None]

    @property
    def everywhere(self) -> bool:
        """Whether all configs mention it."""
        return None not in self.values.values()

    @property
    def relevant(self) -> bool:
        """Whether it can matter to performance, and is more than unset here, unmentioned there."""
        effects = {value or NOT_SET for value in self.values.values()}
        return is_relevant(self.option) and len(effects) > 1

    def between(self, base: str, other: str) -> "OptionDifference | None":
        """The same of two kernels only; None if they have it alike."""
        pair = {label: self.values[label] for label in (base, other)}
        return OptionDifference(self.option, pair) if pair[base] != pair[other] else None


def is_relevant(option: str) -> bool:
    """Whether an option can matter to performance, as docs/report.md lists them."""
    return bool(_RELEVANT.fullmatch(option)) and not _IRRELEVANT.fullmatch(option)


class ConfigDifferences:
    """Configs by label, added one at a time: only what differs from the first one is kept."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}
        self._others: dict[str, dict[str, str | None]] = {}

    def add(self, label: str, options: dict[str, str]) -> None:
        """Add a kernel's config."""
        if not self._others:
            self._first = options
        own = {key: value for key, value in options.items() if self._first.get(key) != value}
        self._others[label] = own | dict.fromkeys(self._first.keys() - options.keys())

    def result(self) -> list[OptionDifference]:
        """What differs: relevant options first, among them those that all configs mention, then by
        name. Empty if and only if all configs are equal."""
        names = {option for own in self._others.values() for option in own}
        found = [
            OptionDifference(
                name,
                {
                    label: own[name] if name in own else self._first.get(name)
                    for label, own in self._others.items()
                },
            )
            for name in names
        ]
        return sorted(found, key=lambda one: (not one.relevant, not one.everywhere, one.option))
