"""Whether a session has what a condition names."""

import difflib
from collections.abc import Callable, Collection

from profdiff.base.errors import InputError
from profdiff.evidence.conditions.condition import (
    CHANGED,
    EXAMPLE,
    MOVED,
    SIDES,
    WITHOUT_BOUND,
    Condition,
)
from profdiff.profile.code.classes import CLASSES, ITEMS
from profdiff.profile.events.table import events
from profdiff.profile.function_identity import fold

#: What a condition can name of a function's code, beside classes of instructions.
SIZE, INLINED = "size", "inlined"
CODE = (*CLASSES, SIZE, INLINED)
#: What a condition can name of types, and of accesses to them.
LAYOUT, LINES = "layout", "lines"
LOADS, STORES = "loads", "stores"
DATA = (LAYOUT, LINES, LOADS, STORES)
#: What it can name of lines of the cache that change hands, and of the data in them.
TRANSFERS, MISSES = "transfers", "misses"
SHARING = (TRANSFERS, MISSES)
#: What names an event of the kernel.
EVENTS = "events"


def about_data(
    condition: Condition,
    metrics: Collection[str],
    functions: Collection[str],
    is_accessed: Callable[[str], bool],
) -> bool:
    """Whether a condition is about data, and not about code or a metric of that name. A function's
    name has no dot but in what compilers append; ``TYPE.FIELD`` has one. ``is_accessed``: whether a
    type or variable is."""
    name, what = condition.metric, condition.what
    if name in metrics or name not in DATA:
        return False
    if name in (LAYOUT, LINES):
        return True
    if not condition.function or what in functions:
        return False
    return "." in fold(what)[0] or is_accessed(what)


def check_data(condition: Condition) -> None:
    """Raises InputError for a condition about data that cannot be judged. Whether a type or field
    is known, only the recording tells."""
    name, what = condition.metric, condition.what
    type_, dot, field = what.partition(".")
    whole = name != LAYOUT and not dot
    if not condition.function or not type_ or not (whole or field):
        wanted = "TYPE" if name == LINES else "TYPE.FIELD"
        raise InputError(f"condition '{condition}' names no data: write {name}:{wanted}")
    if name == LINES and dot:
        raise InputError(f"condition '{condition}': {name} works only on a whole type")
    if condition.inclusive:
        raise InputError(f"condition '{condition}': write {name}:{what}")
    if (name == LAYOUT) != (condition.operator == MOVED) or condition.operator == CHANGED:
        wanted = f"'{name}:{what} {MOVED}'" if name == LAYOUT else f"'{name}:{what} > +0'"
        raise InputError(f"condition '{condition}': write it like {wanted}")
    if name == LINES and condition.unit == "/op":
        raise InputError(f"condition '{condition}': a number of lines is not per op: use no unit")


def check_sharing(condition: Condition) -> None:
    """Raises InputError for a condition about lines that change hands that cannot be judged."""
    name, what = condition.metric, condition.what
    if condition.inclusive:
        raise InputError(f"condition '{condition}': write {name}:{what}")
    if condition.operator in WITHOUT_BOUND:
        raise InputError(f"condition '{condition}': write it like '{name}:{what} > +0'")


def check_events(condition: Condition) -> None:
    """Raises InputError, with near matches, for a condition that names no event of the kernel."""
    name, what = condition.metric, condition.what
    known = [one.name for one in events()]
    if what not in known:
        near = difflib.get_close_matches(what, known, n=3)
        meant = f"did you mean {' or '.join(near)}?" if near else f"one of {', '.join(known)}"
        raise InputError(f"condition '{condition}' names no event: {meant}")
    if condition.inclusive or condition.operator in WITHOUT_BOUND:
        raise InputError(f"condition '{condition}': write it like '{name}:{what} > +0'")


def check_names(
    condition: Condition,
    metrics: Collection[str],
    functions: Collection[str],
    code: Collection[str] = (),
) -> None:
    """Raises InputError, with near matches, for a metric or function that is not known. ``code``:
    those of ``CODE`` that the session tells; a metric of that name comes before them."""
    name, what = condition.metric, condition.what
    if name in metrics or name not in CODE:
        if name not in metrics and name == "total" and what in functions:
            raise InputError(f"no metric 'total' was measured; write METRIC:total:{what}")
        if (whole := f"{name}:{what}") in metrics:
            raise InputError(f"metric {whole!r} has a colon: write it in double quotes")
        if name not in metrics:
            raise InputError(_unknown("metric", name, metrics))
        if condition.operator in WITHOUT_BOUND:
            raise InputError(f"condition '{condition}' has no bound: write it like {EXAMPLE}")
    else:
        _check_code(condition, code)
    if condition.function and what not in functions:
        sides = () if condition.inclusive or name in (SIZE, INLINED) else SIDES
        raise InputError(_unknown("function", what, {*functions, *sides}))


def _check_code(condition: Condition, code: Collection[str]) -> None:
    """Raises InputError for a condition on code that cannot be judged."""
    name, what = condition.metric, condition.what
    if name in (SIZE, INLINED) and not condition.function:
        raise InputError(f"condition '{condition}' has no function: write {name}:FUNCTION")
    if condition.inclusive:
        raise InputError(
            f"condition '{condition}': {name} works only on a function: write {name}:{what}"
        )
    if (name == INLINED) != (condition.operator == CHANGED) or condition.operator == MOVED:
        wanted = f"'{INLINED}:{what} {CHANGED}'" if name == INLINED else f"'{name}:{what} > +0'"
        raise InputError(f"condition '{condition}': write it like {wanted}")
    if name == SIZE and condition.unit == "/op":
        raise InputError(f"condition '{condition}': a size is in bytes: use %, or no unit")
    if name in code:
        return
    if any(one in code for one in CLASSES):
        if ITEMS[name].kind:
            raise InputError(f"{name!r} is an instruction of another architecture")
        raise InputError(f"the recording does not tell {name!r}: record the session again")
    raise InputError(
        f"nothing is known of {name!r}: only exact counts tell which instructions ran; record with "
        "--collector exact"
    )


def _unknown(kind: str, name: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(
        name, [*known, *((*CODE, LAYOUT, LINES, EVENTS) if kind == "metric" else ())], n=3
    )
    meant = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    if kind == "metric" and not near:
        meant = f"; measured: {', '.join(map(repr, sorted(known)))}"
    return f"no {kind} {name!r} was measured{meant}"
