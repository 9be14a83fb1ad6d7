"""What code accesses that gets from a list's node to what that is in, which may have several nodes,
one behind the other; and members of a union that have a name in common."""

from pathlib import Path

import pytest
from data_oracles.compiled import COMPILERS, Compiler, accesses, built, disassembled
from support import need_debian, need_program

from profdiff.symbolization.data_accesses import AMBIGUOUS

# As hlist_entry_safe() and what posix_timer_by_id() and hrtimer_set_expires() do. The task has a
# node, too, but is in no list here. Code of a line accesses what stands there.
SOURCE = """\
#define out __attribute__((noinline))
#define use(value) __asm__ volatile("" : : "r"((unsigned long)(value)) : "memory")
#define entry(at, type, member) \\
	({ void *__mptr = (at); (type *)(__mptr - __builtin_offsetof(type, member)); })
#define safe(at, type, member) ({ struct node *__at = (at); __at ? entry(__at, type, member) : 0; })
struct node { struct node *next, **before; };
struct queued { long color; long expires; };
struct high { long more; struct queued node; };
struct timer {
	struct node list, hash;
	int lock, id;
	long pad[6];
	void *owner;
	union { struct { struct high high; } real; struct { long more; struct queued node; } cpu; } it;
};
struct late { long first, second; struct node list, hash; void *owner; int id; };
struct task { void *owner; long pad[4]; struct node own; long other[12]; };
struct node *heads[64];
struct task *current;
static inline struct timer *find(int id, void *owner)
{
	struct timer *t = safe(heads[id & 63], struct timer, hash);
	for (; t; t = safe(t->hash.next, struct timer, hash)) {
		if (t->owner == owner && t->id == id) /* timer.owner timer.id */
			return t;
	}
	return 0;
}
out struct timer *locked(int id)
{
	struct task *task = current;
	use(0);
	struct timer *t = find(id, task->owner);
	if (t && t->owner == task->owner)
		return t;
	use(t);
	return 0;
}
out struct late *find_late(int id, void *owner)
{
	struct late *t = safe(heads[id & 63], struct late, hash);
	for (; t; t = safe(t->hash.next, struct late, hash)) {
		if (t->owner == owner && t->id == id) /* late.owner late.id */
			return t;
	}
	return 0;
}
out int first(int id)
{
	struct timer *t = safe(heads[id & 63], struct timer, hash);
	if (!t)
		return 0;
	t->lock = id; /* timer.lock */
	use(t);
	return t->id; /* timer.id */
}
static inline void set_expires(struct high *high, long when)
{
	high->node.expires = when; /* timer.it.real.high.node.expires */
}
out void arm(struct timer *t, long when)
{
	use(t);
	set_expires(&t->it.real.high, when);
	use(t);
}
void _start(void) { use(0); }
"""
LINES = {
    number: set(line.split("/* ")[1].split()[:-1])
    for number, line in enumerate(SOURCE.splitlines(), 1)
    if line.endswith(" */")
}


@pytest.mark.build
@pytest.mark.slow
@pytest.mark.parametrize("compiler", COMPILERS, ids=[one.name for one in COMPILERS])
@pytest.mark.parametrize("flags", [("-O2", "-gdwarf-5"), ("-O1", "-gdwarf-4")], ids=str)
def test_fields_are_those_of_what_the_node_is_in(
    compiler: Compiler, flags: tuple[str, ...], tmp_path: Path
) -> None:
    for program in ("llvm-objdump-19", "llvm-dwarfdump-19"):
        need_program(program, "llvm-19")
    need_program(compiler.command[0])
    need_program(compiler.linker, "binutils-aarch64-linux-gnu")
    file, code = built(SOURCE, compiler, flags, tmp_path)
    known = accesses(file, compiler, code)
    lines = {one.address: one.line for one in code}
    right, wrong = set[str](), []
    columns = (known.address, known.type, known.field, known.alternatives, known.flags)
    fields = known.is_kind("field")
    for address, *texts, flag in zip(*(one[fields].tolist() for one in columns), strict=True):
        if expected := LINES.get(lines[address]):
            type_, path, others = (known.strings[text] for text in texts)
            may_be = {path, *(others.split("|") if flag & AMBIGUOUS else ())}
            names = {f"{type_}.{one}" for one in may_be}
            right |= expected & names
            if not expected & names:
                wrong.append((hex(address), expected, names))
    assert not wrong
    # Of others no compiler says enough.
    assert right >= {"timer.owner", "timer.id", "timer.it.real.high.node.expires"}


@pytest.mark.network
def test_a_timer_is_found_by_its_second_node() -> None:
    """Debian's __lock_timer(): one of k_itimer's two nodes leads to it, and task_struct has one."""
    need_program("llvm-objdump-19", "llvm-19")
    kernel = need_debian("debian:bookworm-backports")
    assert kernel.debug_elf
    code = disassembled(kernel.debug_elf, "__lock_timer")
    known = accesses(kernel.debug_elf, COMPILERS[0], code)
    assert not (known.flags[known.is_kind("field")] & AMBIGUOUS).any()
    names = {
        f"{known.strings[type_]}.{known.strings[field]}"
        for type_, field in zip(known.type.tolist(), known.field.tolist(), strict=True)
        if field
    }
    assert {"k_itimer.it_signal", "k_itimer.it_id", "task_struct.signal"} <= names
    assert {one for one in names if one.startswith("task_struct.")} == {"task_struct.signal"}
