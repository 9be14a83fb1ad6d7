"""``scripts/fuzz``: try all targets, or some, for a time; or look at one case."""

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path

import pytest

from fuzz.minimise import minimised
from fuzz.runner import Plan, Tally, run, seeds_of
from fuzz.target import Target
from fuzz.targets import TARGETS

_ROOT = Path(__file__).resolve().parent.parent.parent
_HEAD = (
    "target",
    "cases",
    "cases/s",
    "refused",
    "read",
    "slowest, s",
    "its case",
    "memory, MiB",
    "findings",
)


def main(targets: Sequence[Target] = TARGETS) -> int:
    """Exit status: 1 with findings."""
    asked = _arguments()
    # Children are ended, whatever ends this process.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    known = {target.name: target for target in targets}
    if asked.list:
        print("\n".join(known))
        return 0
    named = [name.partition("=") for name in asked.target]
    unknown = [name for name, _, _ in named if name not in known]
    if unknown:
        sys.exit(f"fuzz: there is no target {unknown[0]}: there are {', '.join(known)}")
    if wrong := [word for _, sign, word in named if sign and not word.isdecimal()]:
        sys.exit(f"fuzz: {wrong[0]!r} is not a number of cases: write NAME=1000")
    chosen = [known[name] for name, _, _ in named] or list(targets)
    cases = {name: int(number) for name, _, number in named if number}
    if asked.case is not None or asked.input or asked.minimise or asked.seeds:
        if len(chosen) != 1:
            sys.exit("fuzz: name the one target that this is for")
        return _one(chosen[0], asked)
    return _all(chosen, asked, cases)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/fuzz", description=__doc__)
    parser.add_argument("minutes", type=_minutes, nargs="?", default=1.0, metavar="MINUTES")
    parser.add_argument(
        "target", nargs="*", metavar="TARGET", help="NAME, or NAME=CASES for so many of this one"
    )
    today = int(date.today().strftime("%Y%m%d"))
    parser.add_argument("--seed", type=int, default=today, help="[default: the date]")
    parser.add_argument("--cases", type=int, help="so many of each target, instead of a time")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="[default: the CPUs]")
    parser.add_argument("--case", type=int, help="try this case only (with its --seed)")
    parser.add_argument("--input", type=Path, metavar="FILE", help="try this input only")
    parser.add_argument("--minimise", type=Path, metavar="FILE", help="make FILE.min of this input")
    parser.add_argument(
        "--folder", type=Path, default=_ROOT / "target/fuzz", help="where findings go"
    )
    parser.add_argument("--seeds", type=Path, metavar="FOLDER", help="write the target's seeds")
    parser.add_argument("--list", action="store_true", help="list the targets")
    return parser.parse_intermixed_args()


def _minutes(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"write the minutes first: 10 {text}") from None


def _all(chosen: list[Target], asked: argparse.Namespace, cases: Mapping[str, int]) -> int:
    print(f"seed {asked.seed}", _line(*_HEAD), sep="\n", flush=True)
    status, total, end = 0, 0, time.monotonic() + 60 * asked.minutes
    for number, target in enumerate(chosen):
        try:
            seeds = seeds_of(target)
        except pytest.skip.Exception as error:
            print(f"{target.name}: skipped: {error}")
            continue
        # What one leaves of its time goes to those behind it.
        now = time.monotonic()
        most = cases.get(target.name, asked.cases)
        deadline = None if most else now + (end - now) / (len(chosen) - number)
        last = most - 1 if most else None
        plan = Plan(
            target, seeds, asked.seed, asked.folder, 0, last, deadline, jobs=max(asked.jobs, 1)
        )
        tally = run(plan, _progress(target.name))
        _told(plan, tally)
        status |= bool(tally.findings)
        total += tally.cases
        # At once: a run that is ended has told what it did.
        print(_row(target.name, tally), flush=True)
    print(f"{total:,} cases")
    return status


def _one(target: Target, asked: argparse.Namespace) -> int:
    if asked.seeds:
        asked.seeds.mkdir(parents=True, exist_ok=True)
        for row, data in enumerate(seeds_of(target)):
            (asked.seeds / f"{target.name}-{row}").write_bytes(data)
        return 0
    number = asked.case or 0
    file = asked.input or asked.minimise
    given = file.read_bytes() if file else None
    seeds = [] if file else seeds_of(target)
    plan = Plan(target, seeds, asked.seed, asked.folder, number, number, given=given)
    if asked.minimise:
        try:
            small = minimised(plan, asked.minimise.read_bytes(), _progress("bytes"))
        except ValueError as error:
            sys.exit(f"fuzz: {asked.minimise}: {error}")
        kept = asked.minimise.with_name(f"{asked.minimise.name}.min")
        kept.write_bytes(small)
        print(f"\n{kept}: {len(small)} bytes")
        return 1
    tally = run(plan)
    _told(plan, tally)
    for finding in tally.findings:
        print(finding.file.with_name(f"{finding.file.name}.txt").read_text())
    if not tally.findings:
        print("refused" if tally.refused else "read", f"in {tally.slowest:.3f} s")
    return bool(tally.findings)


def _told(plan: Plan, tally: Tally) -> None:
    """A line for each finding, with the command that shows it again."""
    name = plan.target.name
    for one in tally.findings:
        print(
            f"FOUND {name}, seed {plan.seed}, case {one.case} ({one.times} times): {one.what}\n"
            f"  scripts/fuzz 0 {name} --input {one.file}\n"
            f"  scripts/fuzz 0 {name} --seed {plan.seed} --case {one.case}"
        )


def _progress(name: str) -> Callable[[int], None]:
    if not sys.stderr.isatty():
        return lambda number: None
    return lambda number: print(f"\r{name} {number:,}\x1b[K", end="\r", file=sys.stderr)


def _row(name: str, tally: Tally) -> str:
    read = tally.cases - tally.refused - sum(one.times for one in tally.findings)
    return _line(
        name,
        f"{tally.cases:,}",
        f"{tally.cases / max(tally.seconds, 1e-9):,.0f}",
        f"{tally.refused:,}",
        f"{read:,}",
        f"{tally.slowest:.2f}",
        str(tally.slowest_case),
        f"{tally.peak >> 20:,}",
        str(len(tally.findings)),
    )


def _line(name: str, *cells: str) -> str:
    widths = zip(cells, _HEAD[1:], strict=True)
    return f"{name:<16}" + "".join(f"{cell:>{max(len(head), 9) + 2}}" for cell, head in widths)


if __name__ == "__main__":
    sys.exit(main())
