"""The seat of a change, and what is large below it."""

from profdiff.base import units
from profdiff.evidence.seats import sure_seat
from profdiff.profile.comparison import Comparison
from profdiff.profile.seat import Seats
from profdiff.views.record import Record, Side, side

# So many functions below a seat are named, of at least that part of the change.
_NAMED, _LEAST = 3, 0.05
_LONGEST = 60


class SeatFunction(Record, frozen=True):
    """A function that a seat calls or inlines. ``delta``: of its total there; ``part``: of the
    whole delta."""

    name: str
    object: str
    side: Side
    delta: int
    part: float


class Seat(Record, frozen=True):
    """The deepest function whose total delta is at least half of the change. ``delta``: of its
    total, of a function of user space without what the kernel did for it; ``part``: of the whole
    delta, from 0.5 to 1.5; ``self_part``: of what it executed itself. ``below``: what it calls or
    inlines, the largest first, each at least a twentieth of the change."""

    name: str
    object: str
    side: Side
    delta: int
    part: float
    self_part: float
    below: list[SeatFunction]

    @property
    def alone(self) -> bool:
        """Whether its own code holds half of the change, so that self counts say it all."""
        return self.self_part >= 0.5

    def told(self, whole: str) -> str:
        """In words, as a part of ``whole`` ("it", "that")."""
        part = units.percent(self.part, ".0f")
        said = f"{_name(self.name)}, with all that it calls, accounts for {part} of {whole}"
        if self.part > 1.005:
            said += " (other functions offset this)"
        # Helpers that took the place of others are not part of the change.
        shown = self.below if all(one.part <= 1 for one in self.below) else []
        below = [f"{_name(one.name)} {units.percent(one.part, '.0f')}" for one in shown]
        return f"{said}: {units.listed(below)}" if below else said


def seats(comparison: Comparison, only: Side | None = None) -> list[Seat | None]:
    """The seat of each kernel but the base; for samples only where chance does not make it."""
    found = Seats(comparison, only)
    return [_seat(comparison, found, kernel) for kernel in range(1, len(comparison.labels))]


def by_label(comparison: Comparison) -> dict[str, Seat]:
    """The seats of the kernels that have one."""
    pairs = zip(comparison.labels[1:], seats(comparison), strict=True)
    return {label: one for label, one in pairs if one}


def _seat(comparison: Comparison, seats: Seats, kernel: int) -> Seat | None:
    found = sure_seat(comparison, seats, kernel)
    if found is None:
        return None
    one = comparison.functions[found.function]
    below = [
        SeatFunction(
            name=function.name,
            object=function.object,
            side=side(function.in_kernel),
            delta=delta,
            part=delta / found.whole,
        )
        for row, delta in seats.below(found, kernel)[:_NAMED]
        for function in [comparison.functions[row]]
        if delta / found.whole >= _LEAST
    ]
    return Seat(
        name=one.name,
        object=one.object,
        side=side(one.in_kernel),
        delta=found.delta,
        part=found.part,
        self_part=int(comparison.deltas()[found.function, kernel]) / found.whole,
        below=below,
    )


def _name(name: str) -> str:
    return units.shorten(units.printable(name), _LONGEST)
