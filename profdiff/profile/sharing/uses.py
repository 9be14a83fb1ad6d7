"""Who accesses which bytes of a line, and what of that makes it change hands.

A vCPU waits for a line no more often than it touches it, nor than others write it. The same bounds
hold for what it accesses in it: what it reads of bytes that nobody writes makes it wait no oftener.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from profdiff.profile.sharing.naming import Named
from profdiff.profile.sharing.objects import Touched

# What makes fewer of a line's transfers is an accident: a tick, the ends of the window.
_MIN_SHARE = 0.05


class Ops(NamedTuple):
    """Operations of a vCPU that touch a line, and that write it."""

    touching: int
    writing: int


class Parts(NamedTuple):
    """How many of a line's transfers are false sharing, and of how many that is not known."""

    false: int
    untold: int


class Uses:
    """One line's. ``names``: of ``touched``; ``ops``: by vCPU, what was counted of the line; what
    is missing there was not counted, but is in the ``complete`` operations of each vCPU."""

    def __init__(
        self,
        touched: Sequence[Touched],
        names: Sequence[Named | None],
        ops: Mapping[int, Ops],
        complete: Sequence[int],
        line_size: int,
    ) -> None:
        self._touched, self._names = touched, names
        self.vcpus = sorted({*ops, *(one.vcpu for one in touched)})
        self._all, self._stores = ({vcpu: [0] * line_size for vcpu in self.vcpus} for _ in range(2))
        accesses: Counter[int] = Counter()
        stores: Counter[int] = Counter()
        for one in touched:
            accesses[one.vcpu] += one.times
            stores[one.vcpu] += one.times if one.store else 0
            for byte in range(one.offset, min(one.offset + one.size, line_size)):
                self._all[one.vcpu][byte] += one.times
                self._stores[one.vcpu][byte] += one.times if one.store else 0
        known = {
            vcpu: ops.get(vcpu)
            or Ops(*(min(one[vcpu], complete[vcpu]) for one in (accesses, stores)))
            for vcpu in self.vcpus
        }
        self._waits = {
            vcpu: min(known[vcpu].touching, self._others(known, vcpu)) for vcpu in self.vcpus
        }
        # As far as accesses are known.
        self._told = sum(
            min(wait, accesses[vcpu], stores.total() - stores[vcpu])
            for vcpu, wait in self._waits.items()
        )
        self._writing = {vcpu: one.writing for vcpu, one in known.items()}

    def _others(self, known: Mapping[int, Ops], vcpu: int) -> int:
        return sum(one.writing for other, one in known.items() if other != vcpu)

    def _shared(self, vcpu: int, byte: int) -> int:
        """How often a vCPU can wait for a byte."""
        theirs = sum(own[byte] for other, own in self._stores.items() if other != vcpu)
        return min(self._all[vcpu][byte], theirs)

    def _true(self) -> int:
        """Waits for bytes that others write: each run of bytes that are accessed together has as
        many as one of its bytes."""
        found = 0
        runs = list(_runs((one.offset, one.offset + one.size) for one in self._touched))
        for vcpu, wait in self._waits.items():
            each = (max(self._shared(vcpu, byte) for byte in run) for run in runs)
            found += min(wait, sum(each))
        return found

    def parts(self, transfers: int) -> Parts:
        """Whether sharing is false: as far as accesses tell."""
        whole = sum(self._waits.values())
        if not whole or not self._told:
            return Parts(0, transfers)
        true = self._true()
        untold = max(whole - self._told, 0)
        untold = 0 if untold <= _MIN_SHARE * whole else untold
        false = max(whole - untold - true, 0)
        if false <= _MIN_SHARE * whole:
            false = 0
        elif true <= _MIN_SHARE * whole:
            false = whole - untold
        return Parts(round(transfers * false / whole), round(transfers * untold / whole))

    def sharing(self) -> Counter[Named | None]:
        """What makes the line change hands, and how often: what vCPUs share, or else what they
        write."""
        shared: Counter[Named | None] = Counter()
        stores: Counter[tuple[Named | None, int]] = Counter()
        bytes_of: defaultdict[Named | None, set[int]] = defaultdict(set)
        for one, name in zip(self._touched, self._names, strict=True):
            bytes_of[name] |= {*range(one.offset, one.offset + one.size)}
            stores[name, one.vcpu] += one.times if one.store else 0
        for name, own in bytes_of.items():
            each = (max(self._shared(vcpu, byte) for byte in own) for vcpu in self.vcpus)
            shared[name] = sum(map(min, each, self._waits.values()))
        if 2 * self._true() < sum(self._waits.values()):
            shared = Counter()
            for (name, vcpu), count in stores.items():
                shared[name] += min(count, self._writing[vcpu])
        least = _MIN_SHARE * max(shared.values(), default=0)
        return Counter({name: count for name, count in shared.items() if count > least})

    def written(self) -> set[Named]:
        """All that is written as often as what the line changes hands for."""
        stores: Counter[Named | None] = Counter()
        for one, name in zip(self._touched, self._names, strict=True):
            stores[name] += one.times if one.store else 0
        least = _MIN_SHARE * sum(self._waits.values())
        return {name for name, count in stores.items() if name is not None and count > least}

    def bystanders(self) -> tuple[dict[int, int], int]:
        """How often reads of bytes that nobody writes make a vCPU wait, by the number of what is
        touched; and of all together."""
        loads: defaultdict[tuple[int, Named | None, int], list[int]] = defaultdict(list)
        for number, (one, name) in enumerate(zip(self._touched, self._names, strict=True)):
            if not one.store:
                loads[one.vcpu, name, one.offset].append(number)
        found: dict[int, int] = {}
        left: Counter[tuple[int, Named | None]] = Counter()
        for vcpu, name, _ in loads:
            left[vcpu, name] = self._waits[vcpu]
        for (vcpu, name, _), numbers in loads.items():
            some = [self._touched[number] for number in numbers]
            reads = min(sum(one.times for one in some), left[vcpu, name])
            bytes_read = {byte for one in some for byte in range(one.offset, one.offset + one.size)}
            written = max(sum(own[byte] for own in self._stores.values()) for byte in bytes_read)
            if (waits := reads - written) > 0:
                left[vcpu, name] -= waits
                found[numbers[0]] = waits
        by_vcpu: Counter[int] = Counter()
        for number, waits in found.items():
            by_vcpu[self._touched[number].vcpu] += waits
        return found, sum(min(waits, self._waits[vcpu]) for vcpu, waits in by_vcpu.items())


def _runs(spans: Iterable[tuple[int, int]]) -> Iterable[range]:
    """Spans that overlap are one."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return [range(*one) for one in merged]
