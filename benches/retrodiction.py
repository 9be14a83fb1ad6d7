"""How often the sign of a change in instructions was that of the published time.

    python benches/retrodiction.py [--pairs GLOB] [--half rules|held-out|second|all] [--seed N]
                                   [--linux REPO] [--work FOLDER] [--prices FILE] [--no-record]

Each file of examples/retrodiction is a published pair of timings. Its rows are recorded on the
kernels that it names, by default packaged ones, or with --linux on the commits themselves. Sessions
stay in FOLDER, so a second run records only what is missing. Prints a row for each pair, then sums.
FILE is one of `profdiff calibrate`.
"""

import argparse
import fnmatch
import hashlib
import math
import random
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import msgspec

from profdiff.base.cache import cache_folder
from profdiff.collectors.architecture import named
from profdiff.collectors.calibration.prices import Prices, read_prices
from profdiff.evidence.findings import LazyFindings
from profdiff.session.session import Session
from profdiff.topics.inventory.measure import Inventory
from profdiff.topics.inventory.prices import PricedInventory

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "examples/retrodiction"
PRICES = ROOT / "examples/prices/amd-epyc-family-25-model-1-kvm.json"
SEED = 20261128

# The rules, fixed on one half of the pairs before the other half was recorded. A published change
# of less than PUBLISHED has no sign: such a pair is in no sum. A count that changes by less than
# COUNTED has none either, and disagrees with every sign.
PUBLISHED = 0.02
COUNTED = 0.005

# Hardware's own counters in 62 mails of the kernel test robot: no emulation can do better.
BOUND = (54, 62, 0.65)

_COUNTS = {
    "instructions": "once",
    "with each iteration": "each",
    "inventory at prices": "priced",
}

Words = Annotated[list[str], msgspec.Meta(min_length=1)]
Two = Annotated[list[str], msgspec.Meta(min_length=2, max_length=2)]
MachineKind = Literal["bare metal", "virtual machine", "not stated", "doubtful"]


class Run(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How to record a row, of a pair or its own. In a list of two, the first is before the change.

    ``linux``: revisions, appended to ``git:REPO``; ``append``: kernel arguments; ``commands``:
    where the change is one of the program."""

    kernels: Two | None = None
    linux: Two | None = None
    append: Two | None = None
    cpu: str | None = None
    memory: str | None = None
    command: Words | None = None
    commands: Annotated[list[Words], msgspec.Meta(min_length=2, max_length=2)] | None = None
    ops: Annotated[int, msgspec.Meta(ge=1)] | None = None


class Row(Run, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A published line: two values of the pair's unit, or only the change in percent."""

    label: str
    before: Annotated[float, msgspec.Meta(gt=0)] | None = None
    after: Annotated[float, msgspec.Meta(gt=0)] | None = None
    change_pct: Annotated[float, msgspec.Meta(gt=-100)] | None = None


class Pair(Run, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A file of examples/retrodiction. ``checked``: how the numbers were compared with the source,
    or "unchecked"; ``doubts``: what was expected to go wrong before anything was recorded;
    ``search``: 2 if it was found after the rules were fixed."""

    title: str
    change: str
    source: str
    checked: str
    date: str
    machine: str
    machine_kind: MachineKind
    workload: str
    unit: str
    better: Literal["lower", "higher"]
    row: Annotated[list[Row], msgspec.Meta(min_length=1)]
    threads: Annotated[int, msgspec.Meta(ge=1)] = 1
    search: Literal[1, 2] = 1
    doubts: list[str] = []

    def published(self, row: Row) -> float:
        """ln of the time after the change over the time before it."""
        if row.before is not None and row.after is not None:
            ratio = row.after / row.before
        else:
            assert row.change_pct is not None
            ratio = 1 + row.change_pct / 100
        return math.log(ratio) * (1 if self.better == "lower" else -1)


class Machine(NamedTuple):
    """What a session holds: two kernels, and how both boot."""

    kernels: tuple[str, ...]
    append: str
    cpu: str
    memory: str


class Cell(NamedTuple):
    """A program on one of a session's kernels (0 or 1)."""

    machine: Machine
    command: tuple[str, ...]
    ops: int
    kernel: int


class Counts(NamedTuple):
    """Instructions per op: each repeated string instruction once, and each of its iterations.
    ``cheapest``, ``dearest``: cycles per op of those that have a price, by the lowest prices and by
    the highest; None on another architecture than that of the prices."""

    once: float
    each: float
    cheapest: float | None = None
    dearest: float | None = None


class Result(NamedTuple):
    """A pair or a row: ln of its ratio of times, of instructions, with each iteration, and of what
    has a price, by the lowest prices and by the highest (NaN without)."""

    time: float
    once: float
    each: float
    cheapest: float = math.nan
    dearest: float = math.nan

    @property
    def priced(self) -> float:
        """Between the two; 0 where they have opposite signs."""
        ends = self.cheapest, self.dearest
        return sum(ends) / 2 if ends[0] * ends[1] > 0 else 0 * sum(ends)


def read_pairs(glob: str = "*") -> dict[str, Pair]:
    """The pairs whose name matches, by name."""
    return {
        path.stem: msgspec.toml.decode(path.read_bytes(), type=Pair)
        for path in sorted(FOLDER.glob("*.toml"))
        if fnmatch.fnmatch(path.stem, glob)
    }


def half(names: Sequence[str], seed: int, which: str) -> list[str]:
    """``rules``: half of the names, drawn by the seed; ``held-out``: the others."""
    rules = sorted(random.Random(seed).sample(sorted(names), len(names) // 2))
    return rules if which == "rules" else sorted(set(names) - set(rules))


def drawn(pairs: Mapping[str, Pair], seed: int, which: str) -> list[str]:
    """The names of a half of the first search, of the ``second`` search, or of ``all``."""
    first = [name for name, pair in pairs.items() if pair.search == 1]
    if which in ("second", "all"):
        return [name for name in pairs if which == "all" or name not in first]
    return half(first, seed, which)


def cells(pair: Pair, row: Row, repo: str | None) -> tuple[Cell, Cell] | None:
    """Before and after; None where no kernels are known here."""
    kernels = row.kernels or pair.kernels
    linux = None if row.kernels else row.linux or pair.linux
    if repo and linux:
        kernels = [f"git:{repo}{revision},config=distribution" for revision in linux]
    command = row.command or pair.command
    commands = row.commands or pair.commands or (command and [command, command])
    if kernels is None or not commands:
        return None
    append = row.append or pair.append or ["", ""]
    rest = row.cpu or pair.cpu or "", row.memory or pair.memory or "512M"
    before, after = (
        Cell(
            Machine(tuple(kernels), append[side], *rest),
            tuple(commands[side]),
            row.ops or pair.ops or 1,
            side,
        )
        for side in (0, 1)
    )
    return before, after


class Recordings:
    """Suites of a pair, one for each machine, in a folder that a later run goes on with."""

    def __init__(self, folder: Path, wanted: Sequence[Cell]) -> None:
        self._folder = folder
        self._wanted = wanted
        self._costs: dict[Path, Sequence[tuple[float, ...]]] = {}
        self._names: dict[Machine, dict[tuple[tuple[str, ...], int], str]] = {}
        for cell in wanted:
            workloads = self._names.setdefault(cell.machine, {})
            workloads.setdefault((cell.command, cell.ops), "w" + _key(cell.command, cell.ops))

    def record(self) -> None:
        """Make the missing runs. A run that fails has no counts, and does not stop the others."""
        missing = {cell.machine for cell in self._wanted if self.counts(cell) is None}
        for machine in sorted(missing):
            folder = self._suite(machine)
            folder.parent.mkdir(parents=True, exist_ok=True)
            lines = [f"name = {_toml(folder.name)}"]
            for (command, ops), name in self._names[machine].items():
                located = [_located(word) for word in command]
                lines += ["[[workload]]", f"name = {_toml(name)}", f"command = {_toml(located)}"]
                lines += [f"ops = {ops}"]
            suite = folder.with_suffix(".toml")
            suite.write_text("\n".join([*lines, ""]))
            options = ["--memory", machine.memory, "--vary-state", "0"]
            for option, value in (("--append", machine.append), ("--cpu", machine.cpu)):
                options += [option, value] if value else []
            for label, spec in zip(("before", "after"), machine.kernels, strict=True):
                options += ["--kernel", f"{label}={spec}"]
            argv = [sys.executable, "-m", "profdiff", "record", "--suite", str(suite)]
            subprocess.run([*argv, "-o", str(folder), *options], check=False)

    def counts(self, cell: Cell, prices: Prices | None = None) -> Counts | None:
        """Of the plain run; None if there is none that finished."""
        name = self._names[cell.machine][cell.command, cell.ops]
        folder = self._suite(cell.machine) / name
        if not (folder / "manifest.json").exists():
            return None
        for run in Session.open(folder).manifest.runs:
            found = run.instructions
            if run.kernel == ("before", "after")[cell.kernel] and found and not run.failure:
                sums = found.kernel + found.user, found.each_iteration
                if prices and folder not in self._costs:
                    self._costs[folder] = _costs(folder, prices)
                costs = self._costs[folder][cell.kernel] if prices else ()
                return Counts(*(number / cell.ops for number in (*sums, *costs)))
        return None

    def _suite(self, machine: Machine) -> Path:
        return self._folder / ("m" + _key(*machine))


def _key(*values: object) -> str:
    return hashlib.sha256(repr(values).encode()).hexdigest()[:10]


def _toml(value: str | list[str]) -> str:
    """JSON of texts is TOML, too."""
    return msgspec.json.encode(value).decode()


def _located(word: str) -> str:
    """A program's path beside the pairs, as one that holds everywhere."""
    return str((FOLDER / word).resolve()) if word.endswith(".c") else word


def _costs(folder: Path, prices: Prices) -> Sequence[tuple[float, ...]]:
    """By kernel, cycles of all that has a price, by the lowest prices and by the highest. No
    estimate of time: most instructions have no price. Empty on another architecture."""
    inventory = Inventory(LazyFindings.of(Session.open(folder)).findings)
    kernels = range(len(inventory.labels))
    (run, *_) = inventory.comparison.runs
    found = named(run.qemu.architecture or "") if run.qemu else None
    if found and found.arch != prices.cpu.architecture:
        return [() for _ in kernels]
    priced = PricedInventory(inventory, prices)
    rows = [part for row in inventory.rows for part in priced.price(row)]
    return [
        tuple(
            sum((part.row.counts[kernel] or 0) * price(part) for part in rows)
            for price in (attrgetter("low"), attrgetter("high"))
        )
        for kernel in kernels
    ]


def sign(change: float, least: float) -> int:
    """Of a logarithm; 0 for a change of less than ``least``."""
    return 0 if abs(math.expm1(change)) < least else int(math.copysign(1, change))


def wilson(hits: int, cases: int) -> tuple[float, float]:
    """The 95% score interval of a proportion (Wilson 1927)."""
    z = statistics.NormalDist().inv_cdf(0.975)
    share, scale = hits / cases, 1 + z * z / cases
    middle = (share + z * z / (2 * cases)) / scale
    width = z / scale * math.sqrt(share * (1 - share) / cases + z * z / (4 * cases * cases))
    return max(0.0, middle - width), min(1.0, middle + width)


def middle(results: Sequence[Result]) -> Result:
    """What a pair says: the median of each number over its rows."""
    return Result(*(statistics.median(values) for values in zip(*results, strict=True)))


def compared(time: float, before: Counts, after: Counts) -> Result:
    """A row's result, from ln of its ratio of times."""
    ratios = [
        math.log(new / old) if old and new else math.nan
        for old, new in zip(before, after, strict=True)
    ]
    return Result(time, *ratios)


class Sums(NamedTuple):
    """Over the pairs whose published change has a sign: how often the count had the same one; of
    ln, the median and the worst error, and the median share of the time that the count explains."""

    agreeing: int
    cases: int
    error: float
    worst: float
    share: float

    @staticmethod
    def of(results: Sequence[Result], count: str = "once") -> "Sums | None":
        """``count``: which of a result's. None without a case."""
        pairs = [
            (result.time, change)
            for result in results
            if sign(result.time, PUBLISHED) and not math.isnan(change := getattr(result, count))
        ]
        if not pairs:
            return None
        errors = [abs(count - time) for time, count in pairs]
        return Sums(
            sum(sign(count, COUNTED) == sign(time, PUBLISHED) for time, count in pairs),
            len(pairs),
            statistics.median(errors),
            max(errors),
            statistics.median(count / time for time, count in pairs),
        )

    def __str__(self) -> str:
        low, high = wilson(self.agreeing, self.cases)
        return (
            f"sign {self.agreeing} of {self.cases} ({low:.0%} to {high:.0%}), "
            f"error of ln: median {self.error:.2f}, worst {self.worst:.2f}, "
            f"share explained: median {self.share:.2f}"
        )


def comparison(pair: Pair) -> str:
    """What differs between before and after, in the rows that are recorded."""
    rows = [
        (row.kernels or pair.kernels, row.commands, row.append or pair.append) for row in pair.row
    ]
    if all(kernels and kernels[0] != kernels[1] for kernels, _, _ in rows):
        return "nearest kernels"
    if all(append and append[0] != append[1] for _, _, append in rows):
        return "boot argument"
    return "program" if all(commands for _, commands, _ in rows) else "both"


def group(pair: Pair) -> str:
    """Under which heading a pair is summed."""
    if pair.machine_kind == "doubtful":
        return "times of doubtful machines"
    return "one thread" if pair.threads == 1 else "several threads, recorded with one"


def _change(value: float) -> str:
    return f"{math.expm1(value):+.1%}"


def _lines(name: str, pair: Pair, rows: Sequence[tuple[Row, Result]]) -> Iterator[str]:
    found = [("", middle([result for _, result in rows]))]
    if len(rows) > 1:
        found += [(row.label, result) for row, result in rows]
    for label, result in found:
        time = sign(result.time, PUBLISHED)
        lead = [f"**{name}**", comparison(pair)] if not label else [f"{name}: {label}", ""]
        cells = [*lead, _change(result.time)]
        ends = sorted({_change(result.cheapest), _change(result.dearest)}, key=_number)
        for shown, count in (
            (_change(result.once), result.once),
            (_change(result.each), result.each),
            (" to ".join(ends), result.priced),
        ):
            same = sign(count, COUNTED) == time
            known = time and not math.isnan(count)
            cells += ["" if math.isnan(count) else shown]
            cells += ["" if not known else "yes" if same else "**no**" if count else "unsure"]
        yield f"| {' | '.join(cells)} |"


def _number(change: str) -> float:
    return float(change.rstrip("%"))


def _argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", default="*", metavar="GLOB")
    parser.add_argument("--half", choices=["rules", "held-out", "second", "all"], default="all")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--linux", metavar="REPO", help="record commits of this repository")
    parser.add_argument("--work", type=Path, default=cache_folder("retrodiction"))
    parser.add_argument("--prices", type=Path, default=PRICES, metavar="FILE")
    parser.add_argument("--no-record", action="store_true", help="print what was recorded")
    return parser


def main() -> int:
    """Record what is missing, and print the table and the sums."""
    options = _argument_parser().parse_args()
    every = read_pairs()
    chosen = set(drawn(every, options.seed, options.half)) & set(read_pairs(options.pairs))
    pairs = {name: every[name] for name in sorted(chosen)}
    planned = {
        name: [(row, found) for row in pair.row if (found := cells(pair, row, options.linux))]
        for name, pair in pairs.items()
    }
    results: dict[str, list[tuple[Row, Result]]] = {}
    prices, failed = read_prices(options.prices), []
    for name, rows in planned.items():
        recordings = Recordings(options.work / name, [cell for _, both in rows for cell in both])
        if not options.no_record:
            recordings.record()
        for row, both in rows:
            before, after = (recordings.counts(cell, prices) for cell in both)
            if before is None or after is None:
                failed.append(f"{name}: {row.label}")
                continue
            result = compared(pairs[name].published(row), before, after)
            results.setdefault(name, []).append((row, result))

    print(f"half: {options.half}, seed: {options.seed}\n")
    heads = ["pair", "what differs", "time", "instructions", "sign", "each iteration", "sign"]
    print(f"| {' | '.join([*heads, 'at prices', 'sign'])} |\n{'|---' * 9}|")
    for name, rows_found in results.items():
        print("\n".join(_lines(name, pairs[name], rows_found)))
    parts = {
        name: f"{which}{'' if which == 'second' else ' half of the first'} search"
        for which in ("rules", "held-out", "second")
        for name in drawn(every, options.seed, which)
    }
    for heading, members in _groups(pairs, results, parts):
        for what, count in _COUNTS.items():
            print(f"\n{heading}: {what}: {Sums.of(members, count) or 'none has a sign'}")
    agreeing, cases, share = BOUND
    low, high = wilson(agreeing, cases)
    print(f"\nupper bound: sign {agreeing} of {cases} ({low:.0%} to {high:.0%}), share {share}")
    print(f"\nnot recorded: {', '.join(sorted(set(pairs) - set(results))) or 'none'}")
    print(f"no count of a row: {', '.join(failed) or 'none'}")
    return 1 if failed else 0


def _groups(
    pairs: dict[str, Pair], results: dict[str, list[tuple[Row, Result]]], parts: Mapping[str, str]
) -> Iterator[tuple[str, list[Result]]]:
    """The headings of sums, each with what its pairs say. ``parts``: by name, which half or search
    it is of."""
    headings: dict[str, list[Result]] = {}
    for name, rows in results.items():
        pair, result = pairs[name], middle([found for _, found in rows])
        headings.setdefault(group(pair), []).append(result)
        if group(pair) == "one thread":
            for part in (comparison(pair), parts[name]):
                headings.setdefault(f"one thread, {part}", []).append(result)
    yield from sorted(headings.items())


if __name__ == "__main__":
    sys.exit(main())
