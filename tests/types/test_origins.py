"""What functions access that are given a pointer to a part of something, by the calls that ran."""

from pathlib import Path

import pytest
from data_oracles.compiled import COMPILERS, Compiler, Instruction, accesses, built
from support import need_program

from profdiff.symbolization.data_accesses import DataAccesses

# Each line that is named ran or did not; what is never inlined has a line of its own.
SOURCE = """\
#define out __attribute__((noinline)) void
#define use(value) __asm__ volatile("" : : "r"((unsigned long)(value)) : "memory")
#define container_of(at, type, member) \\
	({ void *__mptr = (void *)(at); (type *)(__mptr - __builtin_offsetof(type, member)); })
struct raw { int locked; };
struct lock { struct raw raw; };
struct queue { struct lock lock; long next; };
struct sock { long pad[30]; struct queue queue; long more[9]; };
struct large { long pad[20]; struct lock one, two; long more[4]; };
struct whole { struct large large; struct lock own; };
struct zone { long pad[40]; struct lock lock; long end[7]; };
struct node { long id; struct zone zones[4]; };
struct lock table[2];
out take(struct lock *lock) { *(volatile int *)&lock->raw.locked = 1; } /* take */
out give(long x, struct lock *lock) { use(x); lock->raw.locked = 0; use(lock); } /* give */
out push(struct queue *at, long x) { take(&at->lock); at->next = x; use(at); } /* push */
out one(struct large *p) { take(&p->one); } /* one */
out two(struct large *p) { take(&p->two); use(p); give(1, &p->two); } /* two */
out queued(struct sock *s) { push(&s->queue, 3); use(s); } /* queued */
out fixed(void) { take(&table[1]); use(0); } /* fixed */
#define whole(p) container_of(p, struct whole, large)
out inner(struct large *p) { struct whole *w = whole(p); take(&w->own); use(w); } /* inner */
out zoned(struct node *n, long i) { take(&n->zones[i].lock); use(n); } /* zoned */
out either(struct large *p, long i) { take(i ? &p->one : &p->two); use(p); } /* either */
out hidden(void *p) { take(p); use(p); } /* hidden */
out deep(struct lock *l) { use(l); take(l); use(l); } /* deep */
out deeper(struct lock *l) { use(l); deep(l); use(l); } /* deeper */
out deepest(struct zone *z) { deeper(&z->lock); use(z); } /* deepest */
void _start(void) { use(0); } /* start */
"""
LINES = {
    line.split("/* ")[1].removesuffix(" */"): number
    for number, line in enumerate(SOURCE.splitlines(), 1)
    if line.endswith(" */")
}


class Built:
    def __init__(self, compiler: Compiler, flags: tuple[str, ...], folder: Path) -> None:
        for program in ("llvm-objdump-19", "llvm-dwarfdump-19"):
            need_program(program, "llvm-19")
        need_program(compiler.command[0])
        need_program(compiler.linker, "binutils-aarch64-linux-gnu")
        if "gcc" in compiler.name:
            # What it knows of functions of the same file, nothing says.
            flags = (*flags, "-fno-ipa-ra")
        self.compiler = compiler
        self.file, self.code = built(SOURCE, compiler, flags, folder)

    def ran(self, *functions: str) -> DataAccesses:
        """What instructions access if these functions alone ran."""
        lines = {LINES[name] for name in functions}
        ran = [self.code[0], *(one for one in self.code[1:] if one.line in lines)]
        last = self.code[-1]
        size = last.address + len(last.code) - self.code[0].address
        return accesses(self.file, self.compiler, ran, size)

    def origins(self, function: str, *others: str) -> set[str]:
        """Where what a function accesses through what it is given may be."""
        found = self.ran(function, *others)
        where = {one.address for one in self.code if one.line == LINES[function]}
        accessed = ~found.is_kind("call")
        columns = found.address[accessed].tolist(), found.origins[accessed].tolist()
        texts = {
            found.strings[row]
            for address, row in zip(*columns, strict=True)
            if address in where and row
        }
        assert len(texts) <= 1, texts
        return set(texts.pop().split("|")) if texts else set()


@pytest.mark.build
@pytest.mark.slow
@pytest.mark.parametrize("compiler", COMPILERS, ids=[one.name for one in COMPILERS])
@pytest.mark.parametrize("flags", [("-O2", "-gdwarf-5"), ("-O1", "-gdwarf-4")], ids=str)
def test_calls_tell_what_is_accessed(
    compiler: Compiler, flags: tuple[str, ...], tmp_path: Path
) -> None:
    made = Built(compiler, flags, tmp_path)
    one, two = "large:one.raw.locked@160", "large:two.raw.locked@164"
    queue = "sock:queue.lock.raw.locked@240"
    assert made.origins("take") == set()
    # By a jump and by a call; what did not run tells nothing.
    assert made.origins("take", "one") == {one}
    assert made.origins("take", "one", "two") == {one, two}
    # Whichever argument it is.
    assert made.origins("give", "one", "two") == {two}
    # Through another function, which alone is called by no one that is known.
    assert made.origins("take", "push", "queued") == {queue}
    assert made.origins("take", "push") == set()
    assert made.origins("take", "one", "push") == {one, "?"}
    assert made.origins("take", "deep", "deeper", "deepest") == {"zone:lock.raw.locked@320"}
    assert made.origins("take", "fixed") == {"table+4"}
    # clang leaves out the variable that container_of() has.
    known = {"whole:own.raw.locked@200"} if "gcc" in compiler.name else set()
    assert made.origins("take", "inner") == known
    # Of an element its own record tells.
    assert made.origins("take", "zoned") == {"zone:lock.raw.locked@320"}
    assert made.origins("take", "one", "hidden") == {one, "?"}
    # Either of two is not known.
    assert made.origins("take", "one", "either") in ({one, "?"}, {one, two})


def _size(code: list[Instruction]) -> int:
    return code[-1].address + len(code[-1].code) - code[0].address


@pytest.mark.build
def test_code_of_other_files_counts(tmp_path: Path) -> None:
    """A module calls what vmlinux has: nothing is known of its argument."""
    made = Built(COMPILERS[0], ("-O2", "-gdwarf-5"), tmp_path)
    caller = next(one for one in made.code if one.line == LINES["queued"] and "call" in one.text)
    ran = [one for one in made.code if one.line in (LINES["push"], LINES["take"])]
    callee = min(one.address for one in made.code if one.line == LINES["push"])
    # The same call from behind the file's code.
    address = made.code[-1].address + 0x1000
    distance = (callee - address - 5) & 0xFFFF_FFFF
    outside = caller._replace(address=address, code=b"\xe8" + distance.to_bytes(4, "little"))
    inside = [made.code[0], *sorted(ran), outside]
    found = accesses(made.file, made.compiler, inside, _size(made.code))
    assert not found.origins[~found.is_kind("call")].any()
    one = [one for one in made.code if one.line == LINES["queued"]]
    inside = [made.code[0], *sorted({*ran, *one} - {made.code[0]}), outside]
    found = accesses(made.file, made.compiler, inside, _size(made.code))
    accessed = found.origins[~found.is_kind("call")].tolist()
    texts = {found.strings[row] for row in accessed if row}
    assert texts and all(text.endswith("|?") for text in texts)


@pytest.mark.build
def test_a_call_has_what_it_gives(tmp_path: Path) -> None:
    made = Built(COMPILERS[0], ("-O2", "-gdwarf-5"), tmp_path)
    queued = [one for one in made.code if one.line == LINES["queued"]]
    found = accesses(made.file, made.compiler, [made.code[0], *queued], _size(made.code))
    gives = found.origins[found.is_kind("call")].tolist()
    # The function returns, too, which gives nothing.
    texts = {found.strings[row] for row in gives if row}
    assert texts == {"sock:queue.lock.raw.locked@240"}
