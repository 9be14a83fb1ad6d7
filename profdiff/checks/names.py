"""Whether a session has what a condition names."""

from collections.abc import Collection, Iterable

from profdiff.base.errors import InputError
from profdiff.base.names import did_you_mean
from profdiff.evidence.conditions.condition import (
    CHANGED,
    EXAMPLE,
    MOVED,
    SIDES,
    WITHOUT_BOUND,
    Condition,
)
from profdiff.profile.code.classes import CLASSES, ITEMS
from profdiff.profile.events import by_name

#: What a condition can name of a function's code, beside classes of instructions.
SIZE, INLINED = "size", "inlined"
CODE = (*CLASSES, SIZE, INLINED)
#: What it can name of where types lie.
LAYOUT, LINES = "layout", "lines"
#: What it can name of the kernel.
EVENTS = "events"
#: What it can name of both code and data.
ACCESSES = ("loads", "stores")


def check_row(condition: Condition) -> None:
    """Raises InputError for a condition on a row of a table, or on a type, that cannot be judged.
    Whether there is such a row, only the recording tells."""
    name, what = condition.metric, condition.what
    if name in (LAYOUT, LINES, *ACCESSES):
        parts = what.split(".", 1)
        if not condition.function or not all(parts) or (name == LAYOUT and len(parts) == 1):
            wanted = "TYPE" if name == LINES else "TYPE.FIELD"
            raise InputError(f"condition '{condition}' names no data: write {name}:{wanted}")
    if name == EVENTS and what not in by_name():
        meant = did_you_mean(what, [*by_name()]) or f"one of {', '.join(by_name())}"
        raise InputError(f"condition '{condition}' names no event: {meant}")
    if name == LINES and "." in what:
        raise InputError(f"condition '{condition}': {name} works only on a whole type")
    if condition.inclusive:
        raise InputError(f"condition '{condition}': write {name}:{what}")
    if (name == LAYOUT) != (condition.operator == MOVED) or condition.operator == CHANGED:
        wanted = f"'{name}:{what} {MOVED}'" if name == LAYOUT else f"'{name}:{what} > +0'"
        raise InputError(f"condition '{condition}': write it like {wanted}")
    if name == LINES and condition.unit == "/op":
        raise InputError(f"condition '{condition}': a number of lines is not per op: use no unit")


def check_names(
    condition: Condition,
    metrics: Collection[str],
    functions: Collection[str],
    code: Collection[str] = (),
    topics: Collection[str] = (),
) -> None:
    """Raises InputError, with near matches, for a metric or function that is not known. ``code``:
    those of ``CODE`` that the session tells; a metric of that name comes before them. ``topics``:
    other names that a condition can begin with."""
    name, what = condition.metric, condition.what
    if name in metrics or name not in CODE:
        if name not in metrics and name == "total" and what in functions:
            raise InputError(f"no metric 'total' was measured; write METRIC:total:{what}")
        if (whole := f"{name}:{what}") in metrics:
            raise InputError(f"metric {whole!r} has a colon: write it in double quotes")
        if name not in metrics:
            every = [*metrics, *CODE, LAYOUT, LINES, *topics]
            unknown = _unknown("metric", name, every)
            measured = "" if "; did" in unknown else ", ".join(map(repr, sorted(metrics)))
            raise InputError(f"{unknown}; measured: {measured}" if measured else unknown)
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
        raise InputError(f"the recording does not have {name!r}: record the session again")
    raise InputError(
        f"nothing is known of {name!r}: only exact counts tell which instructions ran; record with "
        "--collector exact"
    )


def _unknown(kind: str, name: str, known: Iterable[str]) -> str:
    names = {one: repr(one) for one in known}
    return "; ".join(filter(None, [f"no {kind} {name!r} was measured", did_you_mean(name, names)]))
