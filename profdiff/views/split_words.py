"""How a change of time is said that instructions, and what each of them costs, multiply to."""

import math

_PERCENT = 100


def product(time: float, instructions: float, cycles: float | None) -> str:
    """``+14.0% time = +1.0% instructions × +12.9% cycles per instruction × ...``: all as multiples
    of the base's; ``cycles``: None where they are not known."""
    factors = [f"{_factor(instructions)} instructions"]
    if cycles is None:
        factors.append(f"{_factor(time / instructions)} time per instruction")
    else:
        factors.append(f"{_factor(cycles / instructions)} cycles per instruction")
        factors.append(f"{_factor(time / cycles)} time per cycle")
    return f"{_factor(time)} time = {' × '.join(factors)}"


def share(of_instructions: float, low: float, high: float, doubt: str) -> str:
    """Which part of it instructions explain, with the interval if it is one; ``doubt``: why that is
    not certain, "" where it is."""
    if doubt:
        told = f"how much of it instructions explain is not certain: {doubt}"
    elif of_instructions < 0:
        told = "instructions explain none of it: they changed the other way"
    elif of_instructions > 1:
        told = "instructions explain more than all of it"
    else:
        told = f"instructions explain {part(of_instructions)} of it"
    ends = part(low), part(high)
    return f"{told} ({ends[0]} to {ends[1]})" if ends[0] != ends[1] else told


def part(share: float) -> str:
    """A part of the whole: ``8%``."""
    if not math.isfinite(share) or abs(share) >= 100:
        return "many times"
    return f"{_PERCENT * share:.0f}%"


def _factor(ratio: float) -> str:
    """A multiple in front of what changed: ``+14.0%``; from ten times on, or a tenth, as one."""
    if 0.1 < ratio < 10:
        return f"{_PERCENT * (ratio - 1):+.1f}%"
    return f"{ratio:,.0f} times the" if ratio >= 1 else f"1/{1 / ratio:,.0f} of the"
