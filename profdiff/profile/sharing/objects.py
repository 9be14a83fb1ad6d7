"""Which objects lie on a line, as the instructions that access it say together."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from profdiff.profile.data.keys import folded
from profdiff.profile.sharing.instructions import Said
from profdiff.profile.sharing.owners import Key
from profdiff.profile.sharing.records import Records
from profdiff.profile.sharing.variables import Object

MOST = 100
"""So many objects of a line are considered: the instructions of one name a few."""


class Touched(NamedTuple):
    """Accesses of one instruction by one vCPU to the same bytes of a line. ``size``: of the bytes
    that it may reach; ``said``: what the instruction is known to access."""

    place: int
    vcpu: int
    offset: int
    size: int
    store: bool
    locked: bool
    times: int
    misses: int
    said: Sequence[Said]


def implied(said: Said, offset: int, line_size: int, records: Records) -> Object | None:
    """The object that an instruction names, which accesses a line at ``offset``."""
    if said.kind == "stack":
        return Object("stack", "", 0, line_size)
    at = said.element if said.offset is None else said.offset
    if said.kind == "pointed" or at is None:
        return None
    known = said.size or (records.size(said.type) if said.kind == "field" else 0)
    # A variable or record of unknown size has at least what is accessed.
    size = known or at + 1
    name = said.type if said.kind == "field" else folded(said.symbol)
    base = offset - at
    if said.kind == "field" and base % records.alignment(said.type):
        # A pointer with flags in its lowest bits was taken for one without.
        return None
    return Object(said.kind, name, base, size)


def weighed(touched: Iterable[Touched]) -> dict[Key, int]:
    """How many accesses there are at each offset, by what their instructions say."""
    weights: defaultdict[Key, int] = defaultdict(int)
    for one in touched:
        weights[one.offset, one.said] += one.times
    return dict(weights)


def objects(
    weights: Mapping[Key, int], there: Iterable[Object], line_size: int, records: Records
) -> list[Object]:
    """The objects on a line, without overlaps, by their place. ``there``: those that are known to
    lie there. Each time it is the one that explains most of the accesses that are left."""
    votes: Counter[Object] = Counter()
    for (offset, several), count in weights.items():
        for said in several:
            found = implied(said, offset, line_size, records)
            if found is not None:
                votes[found] += count
    most = sorted(votes, key=lambda vote: (-votes[vote], vote))[:MOST]
    candidates = {*there, *most}
    left = dict(weights)
    chosen: list[Object] = []
    while left and candidates:
        scores = {
            candidate: _explained(candidate, left, line_size, records) for candidate in candidates
        }
        best = min(
            candidates, key=lambda candidate: (_rank(candidate, scores[candidate]), candidate)
        )
        if not scores[best]:
            break
        chosen.append(best)
        left = {key: count for key, count in left.items() if not best.holds(key[0])}
        candidates = {candidate for candidate in candidates if _apart(candidate, best)}
    return sorted(chosen, key=lambda one: (one.base, one))


def _rank(one: Object, explained: int) -> tuple[bool, int, int]:
    """Variables are facts; a record that holds another one explains as much and more."""
    fact = one.kind in ("variable", "per-cpu") and explained > 0
    return not fact, -explained, -one.size


def _apart(one: Object, other: Object) -> bool:
    return one.base + one.size <= other.base or other.base + other.size <= one.base


def _explained(
    one: Object,
    weights: Mapping[Key, int],
    line_size: int,
    records: Records,
) -> int:
    """How many of the accesses in its range are of it, as far as instructions tell."""
    return sum(
        count
        for (offset, several), count in weights.items()
        if one.holds(offset) and _fits(one, several, offset, line_size, records)
    )


def _fits(
    one: Object, several: Sequence[Said], offset: int, line_size: int, records: Records
) -> bool:
    if one.kind in ("variable", "per-cpu"):
        return True
    if one.kind == "stack":
        return not several or any(said.kind == "stack" for said in several)
    told = [said for said in several if said.kind != "pointed"]
    if not told:
        return True
    return any(
        implied(said, offset, line_size, records) == one
        or (said.kind == "field" and said.type == one.name and said.offset is None)
        or records.embedded(one.name, said, offset - one.base) is not None
        for said in told
    )
