"""Statements of made programs: each access has a line of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from data_oracles.programs import ELEMENTS, Variable
from data_oracles.records import Leaf, Place

if TYPE_CHECKING:
    from data_oracles.programs import Maker


def _there(variable: Variable, leaf: Leaf) -> tuple[Place, ...]:
    """What a field of a variable is."""
    around = [Place(one.record, f"{one.path}.{leaf.path}") for one in variable.around]
    return (*around, *leaf.places)


def _pick(make: Maker, **wanted: bool) -> tuple[Variable, Leaf]:
    """Something in scope and a field of it."""
    variable = make.chance.choice(make.scope)
    leaf = make.leaf(variable.record, lambda one: not wanted.get("plain") or one.is_plain)
    assert leaf
    return variable, leaf


def _access(make: Maker, text: str, variable: Variable, leaf: Leaf) -> None:
    stores = leaf.is_bit_field and "=" in text
    if stores:
        make.line("\tbarrier();")
    make.access(text, variable, *_there(variable, leaf))
    if stores:
        make.also_before()


def _load(make: Maker) -> None:
    variable, leaf = _pick(make)
    _access(make, f"eat({variable.start}{leaf.expression});", variable, leaf)


def _store(make: Maker) -> None:
    variable, leaf = _pick(make)
    value = make.chance.choice(["sum", "i", "0", "1"])
    kind = f"(struct {leaf.points_to} *)" if leaf.points_to else ""
    _access(make, f"{variable.start}{leaf.expression} = {kind}{value};", variable, leaf)


def _change(make: Maker) -> None:
    variable, leaf = _pick(make)
    if leaf.points_to:
        return _load(make)
    operation = make.chance.choice(["+= i", "|= 2", "^= 1", "-= sum", "&= ~4"])
    return _access(make, f"{variable.start}{leaf.expression} {operation};", variable, leaf)


def _branch(make: Maker) -> None:
    variable, leaf = _pick(make)
    _access(make, f"if (hide((long)({variable.start}{leaf.expression})))", variable, leaf)
    other, field = _pick(make)
    _access(make, f"\teat({other.start}{field.expression});", other, field)


def _locked(make: Maker) -> None:
    variable, leaf = _pick(make, plain=True)
    if leaf.points_to or not leaf.is_aligned:
        return _load(make)
    at = f"&{variable.start}{leaf.expression}"
    text = make.chance.choice(
        [
            f"__atomic_fetch_add({at}, 1, __ATOMIC_SEQ_CST);",
            f"eat(__atomic_exchange_n({at}, 2, __ATOMIC_ACQ_REL));",
            f"__sync_bool_compare_and_swap({at}, 1, 2);",
            f"__atomic_store_n({at}, 3, __ATOMIC_RELEASE);",
            f"eat(__atomic_load_n({at}, __ATOMIC_ACQUIRE));",
        ]
    )
    return _access(make, text, variable, leaf)


def _follow(make: Maker) -> None:
    """A pointer that is loaded from a field, of which another field is accessed."""
    variable = make.chance.choice(make.scope)
    leaf = make.leaf(variable.record, lambda one: bool(one.points_to) and one.points_to != "node")
    if leaf is None:
        return _load(make)
    name = make.name("v")
    text = f"struct {leaf.points_to} *{name} = {variable.start}{leaf.expression};"
    _access(make, text, variable, leaf)
    loaded = (*_there(variable, leaf), *variable.loaded)
    symbol = variable.symbol or variable.loaded_symbol
    make.scope.append(Variable(f"{name}->", leaf.points_to, loaded=loaded, loaded_symbol=symbol))
    return _last(make)


def _last(make: Maker) -> None:
    """Access the newest variable."""
    variable = make.scope[-1]
    leaf = make.leaf(variable.record)
    assert leaf
    _access(make, f"eat({variable.start}{leaf.expression});", variable, leaf)


def _chain(make: Maker) -> None:
    """Without variables: a->b->c."""
    variable = make.chance.choice(make.scope)
    leaf = make.leaf(variable.record, lambda one: bool(one.points_to) and one.points_to != "node")
    if leaf is None:
        return _load(make)
    then = make.leaf(leaf.points_to)
    assert then
    text = f"eat({variable.start}{leaf.expression}->{then.expression});"
    make.access(text, variable, *_there(variable, leaf), *then.places)
    return None


def _inner(make: Maker) -> None:
    """A pointer to a record within another, and back."""
    variable = make.chance.choice(make.scope)
    members = list(make.records.inner(variable.record))
    if not members:
        return _load(make)
    member, record = make.chance.choice(members)
    name = make.name("v")
    hide = make.chance.choice(["", "hide"])
    make.access(f"struct {record} *{name} = {hide}(&{variable.start}{member});", variable)
    around = (
        Place(variable.record, member),
        *(Place(one.record, f"{one.path}.{member}") for one in variable.around),
    )
    loaded = (variable.loaded, variable.loaded_symbol)
    make.scope.append(Variable(f"{name}->", record, around, variable.symbol, *loaded))
    return _last(make)


def _list(make: Maker) -> None:
    """Elements of a list: container_of()."""
    record, name, at = make.record(), make.name("v"), make.name("v")
    link = f"link{record[1:]}"
    variable = Variable("p->", make.scope[0].record)
    start = f"link{variable.record[1:]}.next"
    link_places = [Place(record, f"{link}.next"), Place("node", "next")]
    make.line(
        f"\tfor (struct node *{at} = p->{start};", Place(variable.record, start), *link_places
    )
    make.line(
        f"\t     {at} != &p->link{variable.record[1:]}; {at} = {at}->next) {{",
        Place(variable.record, start),
        *link_places,
    )
    make.line(f"\tstruct {record} *{name} = container_of({at}, struct {record}, {link});")
    make.line("\tbarrier();")
    before = make.scope
    make.scope = [*before, Variable(f"{name}->", record)]
    _last(make)
    _store(make)
    make.line("\tbarrier();")
    make.line("\t}", *link_places)
    make.scope = before


def _global(make: Maker) -> None:
    number = make.record()[1:]
    kind = make.chance.randrange(4)
    if kind == 0:
        variable = Variable(f"g{number}.", f"s{number}", symbol=f"g{number}")
    elif kind == 1:
        variable = Variable(f"many{number}[3].", f"s{number}", symbol=f"many{number}")
    elif kind == 2:
        variable = Variable(f"many{number}[i & 15].", f"s{number}", symbol=f"many{number}")
    else:
        name = make.name("still")
        make.line(f"\tstatic struct s{number} {name};")
        make.line(f"\topaque(&{name});")
        variable = Variable(f"{name}.", f"s{number}", symbol=name)
    make.scope.append(variable)
    _last(make)
    _store(make)


def _per_cpu(make: Maker) -> None:
    number, name = make.record()[1:], make.name("v")
    leaf = make.leaf(f"s{number}", lambda one: one.is_plain and " " not in one.expression)
    assert leaf
    make.line(f"\tlong {name} = 0;")
    make.line(
        f"\tcpu_load({name}, cpu{number}.{leaf.expression});", *leaf.places, symbol=f"cpu{number}"
    )
    make.line(f"\teat({name});")


def _pointer_to_global(make: Maker) -> None:
    number, name = make.record()[1:], make.name("v")
    make.line(f"\tstruct s{number} *{name} = first{number};", symbol=f"first{number}")
    make.scope.append(Variable(f"{name}->", f"s{number}", loaded_symbol=f"first{number}"))
    _last(make)


def _local(make: Maker) -> None:
    """On the stack, where others know its address."""
    record, name = make.record(), make.name("on_stack")
    first = make.chance.choice(["", " = {0}"])
    make.line(f"\tstruct {record} {name}{first};", Place(record, "*"))
    make.line(f"\topaque(&{name});")
    make.scope.append(Variable(f"{name}.", record))
    _last(make)
    _store(make)
    make.line(f"\topaque(&{name});", Place(record, "*"))


def _copy(make: Maker) -> None:
    """A whole record, or what the compiler makes of memcpy()."""
    one = make.chance.choice(make.scope)
    same = [other for other in make.scope if other.record == one.record]
    other = make.chance.choice(same)
    first, second = one.start.rstrip(".->"), other.start.rstrip(".->")
    to = first if one.start.endswith("->") else f"&{first}"
    start = second if other.start.endswith("->") else f"&{second}"
    size = make.chance.choice([f"sizeof(struct {one.record})", "16", "8"])
    whole = [Place(one.record, "*"), *(Place(at.record, f"{at.path}.*") for at in one.around)]
    whole += [Place(at.record, f"{at.path}.*") for at in other.around]
    make.access(f"__builtin_memcpy({to}, {start}, {size});", one, *whole, *other.loaded)
    also = {other.symbol, other.loaded_symbol} - {""}
    make.program.variables[len(make.program.lines)].update(also)


def _loop(make: Maker) -> None:
    """A pointer that moves over the elements of an array."""
    number, name = make.record()[1:], make.name("v")
    many, before = f"many{number}", make.scope
    start = make.chance.choice([many, f"get{number}(i)", f"{many} + (i & 3)"])
    make.line(f"\tstruct s{number} *{name} = {start};")
    make.line(f"\tfor (int turn = 0; turn < {ELEMENTS - 4}; turn++, {name}++) {{")
    make.line("\tbarrier();")
    # Where the compiler knows that the pointer goes over the variable, it may use that.
    symbol = many if start.startswith(many) else ""
    make.scope = [*before, Variable(f"{name}->", f"s{number}", symbol=symbol)]
    _last(make)
    _store(make)
    _load(make)
    make.line("\tbarrier();")
    make.line("\t}")
    make.scope = before


def _element(make: Maker) -> None:
    """Another element than that of a pointer."""
    variable = make.scope[make.chance.randrange(2)]
    name = variable.start.rstrip(".->")
    leaf = make.leaf(variable.record)
    assert leaf
    make.access(f"eat({name}[i & 3].{leaf.expression});", variable, *leaf.places)


def _switch(make: Maker) -> None:
    """With a table of jumps."""
    variable, leaf = _pick(make)
    if leaf.points_to:
        return
    _access(
        make, f"switch (hide((long)({variable.start}{leaf.expression})) + i) {{", variable, leaf
    )
    for case in range(7):
        make.line(f"\tcase {case}:")
        make.chance.choice([_load, _store, _chain])(make)
        make.line(f"\tsum = hide(sum + {case * 17});")
        make.line("\tbreak;")
    make.line("\t}")


def _called(make: Maker) -> None:
    number, name = make.record()[1:], make.name("v")
    make.line(f"\tstruct s{number} *{name} = get{number}(i);")
    make.scope.append(Variable(f"{name}->", f"s{number}"))
    _last(make)


def _call_chain(make: Maker) -> None:
    number = make.record()[1:]
    leaf = make.leaf(f"s{number}")
    assert leaf
    make.line(f"\teat(get{number}(sum)->{leaf.expression});", *leaf.places)


def _inlined(make: Maker) -> None:
    if make.inlined:
        number = make.chance.choice(make.inlined)
        make.line(f"\tinlined{number}(get{number}(i), i);")


def _cast(make: Maker) -> None:
    """A pointer to void becomes one of a record; only its variable tells."""
    record, name = make.record(), make.name("v")
    make.line(f"\tvoid *void_{name} = hide((void *)(i + sum));")
    make.line(f"\tstruct {record} *{name} = void_{name};")
    make.scope.append(Variable(f"{name}->", record))
    _last(make)


def _either(make: Maker) -> None:
    number, name = make.record()[1:], make.name("v")
    make.line(
        f"\tstruct s{number} *{name} = sum & 1 ? get{number}(sum) : first{number};",
        symbol=f"first{number}",
    )
    make.scope.append(Variable(f"{name}->", f"s{number}", loaded_symbol=f"first{number}"))
    _last(make)


STATEMENTS = (
    *(_load, _store, _change, _branch, _locked, _follow, _follow, _chain, _chain, _inner, _list),
    *(_global, _global, _per_cpu, _pointer_to_global, _local, _copy, _loop, _element, _switch),
    *(_called, _call_chain, _inlined, _cast, _either),
)
