"""Programs in C at random, of which each line accesses what is known."""

import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from data_oracles.records import Leaf, Place, Records

# Number of structs, and of elements of each array of them.
RECORDS, ELEMENTS = 9, 16
_SUPPORT = """\
typedef unsigned long size_t;
#define noinline __attribute__((noinline))
#define always_inline inline __attribute__((always_inline))
#define offsetof(type, member) __builtin_offsetof(type, member)
#define container_of(at, type, member) \\
	({ void *__mptr = (void *)(at); (type *)(__mptr - offsetof(type, member)); })
#define eat(value) __asm__ volatile("" : : "r"((unsigned long)(value)))
#define barrier() __asm__ volatile("" : : : "memory")
#define use(value) __asm__ volatile("" : : "r"((unsigned long)(value)) : "memory")
#ifdef __x86_64__
#define cpu_load(to, at) \\
	__asm__ volatile("mov %%gs:%1, %0" : "=r"(*(__typeof__(at) *)&to) : "m"(at))
#else
#define cpu_load(to, at) (to = (long)*(volatile __typeof__(at) *)&(at))
#endif
#define hide(value) \\
	({ __typeof__(value) same_ = (value); __asm__ volatile("" : "+r"(same_)); same_; })
"""
_COPIES = """\
noinline void *memcpy(void *to, const void *from, size_t size)
{
	for (size_t at = 0; at < size; at++)
		((volatile char *)to)[at] = ((const char *)from)[at];
	return to;
}
noinline void *memset(void *to, int value, size_t size)
{
	for (size_t at = 0; at < size; at++)
		((volatile char *)to)[at] = value;
	return to;
}
noinline void opaque(void *at) { use(at); }
unsigned long __stack_chk_guard __attribute__((section(".data..percpu"))) = 1;
void __stack_chk_fail(void) { for (;;); }
"""


@dataclass
class Program:
    """``lines``: of the source; ``places``: what each line, from 1 on, may access, also through a
    variable; ``variables``: the globals that it may; ``offsets``: places, in the order of the
    table in section ``.truth``, which has their offsets and sizes."""

    records: Records
    lines: list[str] = field(default_factory=list)
    places: dict[int, set[Place]] = field(default_factory=lambda: defaultdict(set))
    variables: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    offsets: list[Place] = field(default_factory=list)

    def source(self) -> str:
        return "\n".join(self.lines) + "\n"


@dataclass
class Variable:
    """Something in scope that an access may go through: C before the field (``p->``, ``one.``)."""

    start: str
    record: str
    # What it lies in: places of it, before the field.
    around: tuple[Place, ...] = ()
    symbol: str = ""
    # How it was loaded, which the compiler may do where it is used.
    loaded: tuple[Place, ...] = ()
    loaded_symbol: str = ""


class Maker:
    """Makes one program."""

    def __init__(self, seed: int, functions: int) -> None:
        self.chance = random.Random(seed)
        self.records = Records(self.chance, RECORDS)
        self.scope: list[Variable] = []
        self.program = Program(self.records)
        self._number = 0
        self.inlined: list[str] = []
        self._begin()
        for number in range(functions):
            self._function(number)
        self._end()

    def line(self, text: str, *places: Place, symbol: str = "") -> None:
        """Add a line that accesses some places, of a global variable."""
        self.program.lines.append(text)
        number = len(self.program.lines)
        self.program.places[number].update(places)
        self.program.variables[number].update({symbol} - {""})

    def access(self, text: str, variable: Variable, *places: Place) -> None:
        """Add a line that accesses places through a variable."""
        self.line(f"\t{text}", *places, *variable.loaded, symbol=variable.symbol)
        self.program.variables[len(self.program.lines)].update({variable.loaded_symbol} - {""})

    def also_before(self) -> None:
        """Let the line before access what the last one does: clang does not say to which line the
        load belongs that a store to a bit field needs."""
        last = len(self.program.lines)
        self.program.places[last - 1].update(self.program.places[last])
        self.program.variables[last - 1].update(self.program.variables[last])

    def name(self, start: str) -> str:
        """A name that nothing else has."""
        self._number += 1
        return f"{start}{self._number}"

    def record(self) -> str:
        return self.chance.choice(self.records.names())

    def leaf(self, record: str, wanted: Callable[[Leaf], bool] = lambda _: True) -> Leaf | None:
        """One of a record's fields; none where there is no such."""
        index = self.chance.choice(["0", "1", "i & 1"])
        found = [one for one in self.records.leaves(record, index) if wanted(one)]
        return self.chance.choice(found) if found else None

    def _begin(self) -> None:
        for line in (_SUPPORT + self.records.declarations()).splitlines():
            self.line(line)
        for record in self.records.names():
            number = record[1:]
            self.line(f"struct {record} g{number}, many{number}[{ELEMENTS}];")
            self.line(f"struct {record} *first{number} = &g{number};")
            percpu = '__attribute__((section(".data..percpu")))'
            self.line(f"struct {record} cpu{number} {percpu} = {{0}};")
        for record in self.records.names():
            number = record[1:]
            get = f"noinline struct {record} *get{number}(long at)"
            found = f"&many{number}[at & {ELEMENTS - 1}]"
            self.line(f"{get} {{ return hide({found}); }}")
            leaf = self.leaf(record, lambda one: one.is_plain and one.is_own)
            if leaf:
                self.line(
                    f"static always_inline void inlined{number}(struct {record} *at, long i) {{"
                )
                self.line(f"\teat(at->{leaf.expression});", *leaf.places)
                self.line("}")
                self.inlined.append(number)
        for line in _COPIES.splitlines():
            self.line(line)

    def _function(self, number: int) -> None:
        from data_oracles.statements import STATEMENTS

        one, other = self.record(), self.record()
        parameters = [f"struct {one} *p", f"struct {other} *q", "long i"]
        self.chance.shuffle(parameters)
        result, value = self.chance.choice([("long", "sum"), ("void", "")]), ""
        kind, value = result
        by_memory = self.chance.random() < 0.1
        if by_memory:  # through a pointer that is passed before the parameters
            wide = self.name("wide")
            self.line(f"struct {wide} {{ long a, b, c; }};")
            kind, value = f"struct {wide}", f"(struct {wide}){{ sum }}"
        start = "static noinline" if self.chance.random() < 0.3 else "noinline"
        self.line(f"{start} {kind} work{number}({', '.join(parameters)})")
        self.line("{")
        self.line("\tlong sum = 0;")
        self.scope = [Variable("p->", one), Variable("q->", other)]
        for _ in range(self.chance.randint(3, 6)):
            self.chance.choice(STATEMENTS)(self)
        wides = [Place(wide, "*")] if by_memory else []
        self.line("\tuse(sum);")
        self.line(f"\treturn {value};", *wides)
        self.line("}", *wides)
        order = {
            "struct " + one + " *p": "first" + one[1:],
            "struct " + other + " *q": "get" + other[1:] + "(3)",
        }
        # Constants and unused values make the compiler change what a function takes.
        given = [order.get(parameter, "5") for parameter in parameters]
        caller = f"noinline void call{number}(void) {{ work{number}({', '.join(given)}); "
        # The caller may load what the function needs of what it is given.
        needed = [Place(one, "*"), Place(other, "*")]
        self.line(f"{caller}{self.repeat(number, given)}}}", *needed, symbol=f"first{one[1:]}")

    def repeat(self, number: int, given: list[str]) -> str:
        """A second call, which keeps the compiler from inlining the only one."""
        return f"use(0); work{number}({', '.join(given)}); "

    def _end(self) -> None:
        self.line("void _start(void) { opaque(0); }")
        parts = []
        for record in self.records.names():
            for leaf in self.records.leaves(record, "0"):
                if leaf.is_plain:
                    of = f"struct {record}"
                    size = f"sizeof((({of} *)0)->{leaf.expression})"
                    parts.append(f"offsetof({of}, {leaf.expression}), {size}")
                    self.program.offsets.append(leaf.places[0])
        table = ", ".join(parts)
        self.line(
            f'const unsigned long truth[] __attribute__((section(".truth"), used)) = {{{table}}};'
        )
