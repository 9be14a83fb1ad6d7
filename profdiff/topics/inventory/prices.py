"""What the changes of an inventory would cost at the prices of a processor, each for itself.
``docs/prices.md`` explains it."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from msgspec.structs import replace

from profdiff.base import units
from profdiff.collectors.architecture import named
from profdiff.collectors.calibration.prices import Prices
from profdiff.evidence.difference import Difference
from profdiff.profile.code.classes import BYTES
from profdiff.shapes.table import Table, of_kernel, of_row, tabulate
from profdiff.topics.inventory.measure import Inventory, ItemRow
from profdiff.topics.sentences import told_kernels

# By item, the prices that one of its instructions can have.
_PRICES: Mapping[str, Sequence[str]] = {
    "locked": [
        *("locked-add", "locked-xchg", "locked-cmpxchg", "exclusive-add"),
        *("locked-among-loads", "locked-among-adds"),
    ],
    "divisions": ["division-32", "division-64"],
    "taken-jumps": ["jump"],
    **{name: [name] for name in ("cpuid", "iret", "lfence", "mfence", "sfence", "pause", "verw")},
    **{name: [name] for name in ("dmb", "dsb", "isb")},
    "system-calls": ["syscall"],
    "page-faults": [f"fault-{kind}" for kind in ("read", "write", "upgrade", "copy")],
}
_RETURNS, _INDIRECT, _REPEATED = "returns", ("indirect-calls", "indirect-jumps"), "repeated"
_STRINGS = ("stosb", "movsb")
#: What a reader of costs must know.
ALONE = (
    "Each cost is that of one item alone: costs have no sum, since a processor does several things "
    "at a time, and none of them is a time."
)


class _Thunk(NamedTuple):
    """What executes a return: the pattern of its functions' names, what readers call it, and the
    price of its return."""

    functions: str
    told: str
    price: str


# Functions of arch/x86/lib/retpoline.S.
_PLAIN = _Thunk("", "plain", "return")
_RETPOLINE = _Thunk(r"__x86_indirect_\w*thunk_\w+", "retpoline", "indirect-call-retpoline")
_THUNKS = (
    _Thunk(r"srso_(alias_)?(safe_ret|untrain_ret|return_thunk)", "Safe RET", "return-safe-ret"),
    _Thunk(r"(__x86|retbleed|its|call_depth)_return_thunk", "thunk", "return-thunk"),
    _RETPOLINE,
)


class PricedRow(NamedTuple):
    """A row of the inventory, whose instructions cost from ``low`` to ``high`` cycles each.
    ``kind``: which of the item's they are, or can be; "" for all."""

    row: ItemRow
    low: float
    high: float
    kind: str = ""

    @property
    def each(self) -> str:
        """The price for readers."""
        return " to ".join(dict.fromkeys(map(units.cycles, (self.low, self.high))))

    def cost(self, kernel: int) -> tuple[float, float] | None:
        """The cycles of the difference of a kernel, by its number, to the base, the lower first;
        None unless the difference is certain."""
        change = self.row.changes[kernel - 1]
        if change is None or not change.verdict.is_sure or not change.delta:
            return None
        low, high = sorted((change.delta * self.low, change.delta * self.high))
        return low, high


class PricedInventory:
    """``rows``: those of ``inventory`` that changed for certain on some kernel and have a price;
    ``without``: the items that changed and have none."""

    def __init__(self, inventory: Inventory, prices: Prices) -> None:
        self.inventory, self.prices = inventory, prices
        self._known = prices.by_name
        self._is_foreign = _architecture(inventory) not in ("", prices.cpu.architecture)
        self.rows: list[PricedRow] = []
        self.without: list[str] = []
        for row in inventory.rows:
            if self._is_foreign or not _is_sure(row):
                continue
            found = [priced for priced in self.price(row) if _is_sure(priced.row)]
            self.rows += found
            if not found:
                self.without.append(row.item.name)

    def price(self, row: ItemRow) -> Iterator[PricedRow]:
        """A row of the inventory by the kinds that have a price; none where none has."""
        name = row.item.name
        if name == _RETURNS:
            yield from self._returns(row)
        elif name in _INDIRECT:
            plain, branch = name.removesuffix("s"), self.prices.chosen_branch
            # Where retpolines execute, they are returns.
            is_open = branch and _RETPOLINE not in self._returns_by_thunk
            names = [plain, f"{plain}{branch}"] if is_open else [plain]
            yield from self._row(row, names, "plain to retpoline" if is_open else "")
        elif name == _REPEATED:
            yield from self._row(row, self._around_sizes(row))
        else:
            yield from self._row(row, _PRICES.get(name, ()))

    def _row(self, row: ItemRow, names: Iterable[str], kind: str = "") -> Iterator[PricedRow]:
        """The row at a price between those with these names, if there are any."""
        found = [self._known[name] for name in names if name in self._known]
        if found:
            low, high = min(price.minimum for price in found), max(price.high for price in found)
            yield PricedRow(row, low, high, kind)

    def _returns(self, row: ItemRow) -> Iterator[PricedRow]:
        """Returns by what executes them. Where no kernel has thunks for those of functions, they
        can cost as much as on the machine that was measured."""
        found = self._returns_by_thunk
        for thunk, rows in found.items():
            names, kind = [thunk.price], thunk.told
            if thunk is _PLAIN and self._is_open:
                names, kind = [*names, self._chosen.price], f"plain to {self._chosen.told}"
            yield from self._row(row if len(found) == 1 else _sum(row, rows), names, kind)

    @cached_property
    def _returns_by_thunk(self) -> Mapping[_Thunk, Sequence[ItemRow]]:
        """The rows of functions that executed returns, by what these are."""
        found: dict[_Thunk, list[ItemRow]] = {}
        for row in self.inventory.functions.get(_RETURNS, ()):
            found.setdefault(_thunk(self.inventory, row), []).append(row)
        return found

    @property
    def _chosen(self) -> _Thunk:
        """What executes returns on the machine of the prices."""
        return next((one for one in _THUNKS if one.price == self.prices.chosen_return), _PLAIN)

    @property
    def _is_open(self) -> bool:
        """Whether returns of functions have thunks on that machine, and on none of the kernels."""
        return self._chosen is not _PLAIN and self._returns_by_thunk.keys() <= {_PLAIN, _RETPOLINE}

    def _around_sizes(self, row: ItemRow) -> Iterator[str]:
        """The prices of the sizes around the mean one of the repeated instructions by which each
        kernel differs from the base; none if that is larger than all measured ones."""
        of_bytes = next((one for one in self.inventory.rows if one.item.name == BYTES), None)
        for number, change in enumerate(row.changes):
            size = of_bytes.changes[number] if of_bytes else None
            if change is None or size is None or not change.delta:
                continue
            mean = size.delta / change.delta
            for name in _STRINGS:
                prices = [price for price in self._known if price.startswith(f"{name}-")]
                known = sorted(int(price.partition("-")[2]) for price in prices)
                below = [size for size in known if size <= mean]
                above = [size for size in known if size >= mean > 0]
                yield from (f"{name}-{size}" for size in (*below[-1:], *above[:1]) if above)

    def table(self) -> Table:
        """The rows, the costliest first."""
        labels = self.inventory.labels
        numbers = {label: number for number, label in enumerate(labels)}

        def delta(row: PricedRow, label: str) -> int | None:
            change = row.row.changes[numbers[label] - 1]
            return None if change is None else round(change.delta)

        def least(row: PricedRow, label: str) -> int | None:
            found = row.cost(numbers[label])
            return None if found is None else round(found[0])

        def most(row: PricedRow, label: str) -> int | None:
            found = row.cost(numbers[label])
            return None if found is None else round(found[1])

        columns = []
        for label in labels[1:]:
            columns += [
                of_kernel(label, "delta", "delta", delta, title="delta", shows=["delta"]),
                of_kernel(label, "least", "count", least, title="cycles"),
                of_kernel(label, "most", "count", most, title="to"),
            ]
        columns += [
            of_row("item", "name", lambda row: row.row.item.name),
            of_row("kind", "name", lambda row: row.kind),
            of_row("each", "name", lambda row: row.each, title="cycles each"),
            of_row("low", "detail", lambda row: row.low, title="at least"),
            of_row("high", "detail", lambda row: row.high, title="at most"),
        ]
        return tabulate(
            columns,
            name="prices",
            title="cycles that changes would cost",
            kernels=labels,
            ops=self.inventory.comparison.ops,
            by_kernel=False,
            rows=sorted(self.rows, key=self._largest_cost, reverse=True),
            notes=[" ".join(self._notes())],
        )

    def sentences(self) -> list[str]:
        """The change that would cost, or save, most: on each of few kernels, or on the last."""
        shown = told_kernels(self.inventory.labels)
        return [sentence for kernel in shown if (sentence := self.sentence(kernel))]

    def sentence(self, kernel: int) -> str:
        """The same of one kernel, by its number; "" if no change has a price. Items that cost more
        than others come first."""
        costs = [(row, cost) for row in self.rows if (cost := row.cost(kernel))]
        chosen = [(row, cost) for row, cost in costs if row.row.item.costly] or costs
        if not chosen:
            return ""
        row, cost = max(chosen, key=lambda pair: max(map(abs, pair[1])))
        change, ops = row.row.changes[kernel - 1], self.inventory.comparison.ops
        delta = (change.delta if change else 0) / (ops or 1)
        ends = sorted(abs(end) / (ops or 1) for end in cost)
        number = units.count(abs(delta), per_op=bool(ops))
        return units.printable(
            f"{self.inventory.labels[kernel]} has {number} {'more' if delta > 0 else 'fewer'} "
            f"{row.row.item.name}{' per op' if ops else ''}: "
            f"{' to '.join(dict.fromkeys(map(units.cycles, ends)))} cycles at {row.each} each "
            f"({row.kind}{', ' if row.kind else ''}{self.prices.title})."
        )

    def _largest_cost(self, row: PricedRow) -> float:
        found = map(row.cost, range(1, len(self.inventory.labels)))
        return max((max(map(abs, cost)) for cost in found if cost), default=0.0)

    def _notes(self) -> Iterator[str]:
        if self._is_foreign:
            measured = units.printable(self.prices.cpu.architecture)
            yield f"The prices are of {measured}, the kernels of {_architecture(self.inventory)}."
            return
        if not self.rows:
            yield "No certain change has a price."
        yield ALONE
        yield f"Prices: {self.prices.title}, {units.printable(self.prices.created)}."
        if self._is_open:
            yield (
                "These kernels executed no thunk for returns, since the guest's processor needs "
                f"none. With {self._chosen.told}, as on the machine that was measured, a return "
                "costs the higher price."
            )
        if self.without:
            yield f"Changed, without a price: {', '.join(self.without)}."
        yield from self.prices.cautions


def _architecture(inventory: Inventory) -> str:
    """What people call that of the kernels; "" if that is not known."""
    names = (run.qemu.architecture for run in inventory.comparison.runs if run.qemu)
    known = next((found for name in names if name and (found := named(name))), None)
    return known.arch if known else ""


def _is_sure(row: ItemRow) -> bool:
    return any(change and change.verdict.is_sure and change.delta for change in row.changes)


def _thunk(inventory: Inventory, row: ItemRow) -> _Thunk:
    """What executes the returns of a row of a function."""
    functions = inventory.comparison.functions
    if row.function is None or row.function >= len(functions):
        return _PLAIN
    name = functions[row.function].name.removeprefix("__pi_")
    return next((thunk for thunk in _THUNKS if re.fullmatch(thunk.functions, name)), _PLAIN)


def _sum(whole: ItemRow, rows: Sequence[ItemRow]) -> ItemRow:
    """Functions together, as sure as the whole is."""
    changes: list[Difference | None] = []
    for kernel, change in enumerate(whole.changes):
        parts = [part for row in rows if (part := row.changes[kernel]) is not None]
        delta, low, high = (
            sum(getattr(part, end) for part in parts) for end in ("delta", "low", "high")
        )
        changes.append(change and replace(change, delta=delta, low=low, high=high))
    counts = [sum(row.counts[kernel] or 0 for row in rows) for kernel in range(len(whole.counts))]
    return whole._replace(counts=counts, changes=changes)
