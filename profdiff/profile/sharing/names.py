"""What the data of a line is called: names that kernels have in common."""

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

Kind = Literal["field", "variable", "per-cpu", "pointed", "stack", "user-memory", "unnamed"]

PER_CPU = ".data..percpu"
"""The section of variables of each CPU."""

ANONYMOUS = "(anonymous)"
"""What all records without a tag are called."""

PRIMITIVES = frozenset(
    {
        *("atomic_t", "atomic64_t", "refcount_struct", "kref", "file_ref_t", "rcuref_t", "local_t"),
        *("lockref", "spinlock", "raw_spinlock", "qspinlock", "qrwlock", "rwlock_t", "mutex"),
        *("rw_semaphore", "semaphore", "rt_mutex", "rt_mutex_base", "percpu_rw_semaphore"),
        "ww_mutex",
        *("optimistic_spin_queue", "seqcount", "seqcount_spinlock", "seqcount_raw_spinlock"),
        *("seqcount_rwlock", "seqcount_mutex", "seqlock_t", "completion", "wait_queue_head"),
        *("swait_queue_head", "list_head", "hlist_head", "hlist_node", "hlist_bl_head"),
        *("hlist_bl_node", "hlist_nulls_head", "hlist_nulls_node", "llist_head", "llist_node"),
        *("percpu_ref", "percpu_counter", "callback_head", "rb_root", "rb_root_cached", "rb_node"),
    }
)
"""Records that are one thing to a reader: a path ends where it comes to one."""

# What a path ends with inside of these, where nothing tells a member's type.
_INSIDE = re.compile(
    r"(?:\.rlock)?\.(?:raw_lock|wait_lock)\b.*\Z"
    r"|(?:\.(?:refs|refcount|refcnt))?\.counter\Z"
    r"|\.rlock\Z"
)


class Name(NamedTuple):
    """``type``: of a field, the record; of what a pointer leads to, what it is; of a program's
    memory, the program of a variable, or the mapping. ``symbol``: the variable. ``path``: the
    field, up to the first of ``PRIMITIVES``. ``function``: of what is unnamed, the number of the
    function that misses most, -1 where none is known. ``among``: titles of other data, any of which
    it may be as well."""

    kind: Kind
    type: str = ""
    symbol: str = ""
    path: str = ""
    function: int = -1
    among: tuple[str, ...] = ()

    @property
    def known(self) -> bool:
        """Whether it says what the data is."""
        return self.kind != "unnamed"

    @property
    def is_part(self) -> bool:
        """Whether the name gives the kind of data but not its owner: some lock."""
        return self.kind == "field" and self.type in PRIMITIVES and not self.path

    @property
    def title(self) -> str:
        """``mm_struct.mmap_lock``."""
        return ".".join(filter(None, (self.type or self.symbol, self.path)))

    def may_be(self, other: "Name") -> bool:
        """Whether both may be the same data, though they are two names."""
        return bool((self.among or other.among) and self._possible & other._possible)

    @property
    def _possible(self) -> frozenset[str]:
        return frozenset({self.title, *self.among})

    @staticmethod
    def one_of(names: "Iterable[Name]") -> "Name":
        """The name of data that is one of several candidates, at least one."""
        first, *others = sorted(set(names), key=lambda name: (name.title, name))
        return first._replace(among=tuple(other.title for other in others))


USER_MEMORY = Name("user-memory")
STACK = Name("stack")


def cut(type_: str, path: str, nested: Iterable[tuple[str, str]]) -> str:
    """``path`` in a record up to the outermost member that is one of ``PRIMITIVES``, "" where the
    record itself is; ``nested``: the records that it leads through, with the rest of the path in
    each."""
    if type_ in PRIMITIVES:
        return ""
    ends = [len(path) - len(rest) - 1 for type_, rest in nested if type_ in PRIMITIVES]
    ends = [end for end in ends if end > 0]
    if ends:
        path = path[: min(ends)]
    shorter = _INSIDE.sub("", path)
    return shorter or path
