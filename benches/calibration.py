"""Whether the statistics keep what they state, over synthetic experiments whose truth is known.

    python benches/calibration.py [--experiments N]

Prints the tables of docs/statistics.md; ``tests/statistics/test_calibration.py`` holds the limits.
Boots scatter by 1% (coefficient of variation) in each kind of noise, unless a table says else.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from profdiff.evidence.statistics import Rule, function_tests
from profdiff.evidence.statistics.boots import Sample
from profdiff.evidence.statistics.estimates import Tests, find
from profdiff.evidence.statistics.rank_test import mann_whitney

Floats = NDArray[np.float64]
Table = list[tuple[str, ...]]
EXPERIMENTS = 10_000
CV = 0.01
# Fewer resamples than estimate() takes, so that this ends soon; ends are rounded outwards.
RESAMPLES = 1_000
_BLOCK = 500


def normal(random: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return random.standard_normal(shape)


def skewed(random: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Lognormal, sigma 1: a floor and a long tail, as times have."""
    deviation = np.sqrt((np.e - 1) * np.e)
    return np.asarray((random.lognormal(0, 1, shape) - np.sqrt(np.e)) / deviation)


def bimodal(random: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Each boot is one of two layouts, equally likely, with a tenth of their distance as noise."""
    layouts = random.integers(0, 2, shape) * 2.0 - 1.0
    return np.asarray((layouts + 0.2 * random.standard_normal(shape)) / np.sqrt(1.04))


NOISES: dict[str, Callable[[np.random.Generator, tuple[int, ...]], Floats]] = {
    "normal": normal,
    "skewed": skewed,
    "bimodal": bimodal,
}


def experiments(
    noise: str,
    boots: tuple[int, int],
    *,
    count: int,
    change: float = 0.0,
    cvs: tuple[float, float] = (CV, CV),
    rule: Rule,
    seed: int,
) -> Iterator[tuple[Sample, Sample, Tests]]:
    """Blocks of experiments of one run in each boot; the other side costs 1 + change as much."""
    random = np.random.default_rng(seed)
    for block in range(0, count, _BLOCK):
        size = min(_BLOCK, count - block)
        base, other = (
            Sample(
                (factor * (1 + cv * NOISES[noise](random, (size, n))))[..., None],
                np.ones(n, np.int64),
            )
            for n, cv, factor in zip(boots, cvs, (1.0, 1.0 + change), strict=True)
        )
        yield base, other, find(base, other, rule, seed=seed + block)


@dataclass(frozen=True)
class Null:
    """Parts of the experiments without a difference. Relevance is 0: with more, fewer are
    *changed*."""

    mann_whitney: float
    welch: float
    changed: float
    covered: float
    mean_covered: float


def null(
    noise: str,
    boots: tuple[int, int],
    count: int,
    seed: int,
    cvs: tuple[float, float] = (CV, CV),
) -> Null:
    rule = Rule(relevance=0, resamples=RESAMPLES)
    sums = np.zeros(5)
    for _, _, found in experiments(noise, boots, count=count, cvs=cvs, rule=rule, seed=seed):
        sums += [
            (found.mann_whitney <= rule.alpha).sum(),
            (found.welch <= rule.alpha).sum(),
            (found.verdicts == "changed").sum(),
            *(((c.low <= 0) & (c.high >= 0)).sum() for c in (found.median, found.mean)),
        ]
    return Null(*(float(part) for part in sums / count))


def verdicts(
    noise: str, boots: int, change: float, cv: float, count: int, seed: int
) -> dict[str, float]:
    """Part of the experiments with each verdict, by the default rule."""
    rule = Rule(resamples=RESAMPLES)
    parts = dict.fromkeys(("changed", "unchanged", "unsure"), 0.0)
    both = (boots, boots)
    for _, _, found in experiments(
        noise, both, count=count, change=change, cvs=(cv, cv), rule=rule, seed=seed
    ):
        for verdict in parts:
            parts[verdict] += float((found.verdicts == verdict).sum()) / count
    return parts


@dataclass(frozen=True)
class TwoLevels:
    """No difference; boots scatter by 1%, and runs within a boot by 1%. ``pooled``: false alarms
    of Mann-Whitney if each run were taken for a boot of its own."""

    mann_whitney: float
    covered: float
    pooled: float


def two_levels(boots: int, runs: int, count: int, seed: int) -> TwoLevels:
    random = np.random.default_rng(seed)
    rule = Rule(resamples=RESAMPLES // 2)
    sums = np.zeros(3)
    step = 50
    for block in range(0, count, step):
        size = min(step, count - block)
        base, other = (
            Sample(
                1
                + CV * random.standard_normal((size, boots, 1))
                + CV * random.standard_normal((size, boots, runs)),
                np.full(boots, runs, np.int64),
            )
            for _ in range(2)
        )
        found = find(base, other, rule, seed=seed + block)
        flat = mann_whitney(base.values.reshape(size, -1), other.values.reshape(size, -1))
        sums += [
            (found.mann_whitney <= rule.alpha).sum(),
            ((found.median.low <= 0) & (found.median.high >= 0)).sum(),
            (flat <= rule.alpha).sum(),
        ]
    return TwoLevels(*(float(part) for part in sums / count))


@dataclass(frozen=True)
class Discoveries:
    """Means over tables. ``false``: part of the functions found by the adjusted p that had not
    changed (0 where none is found); ``found``: part of the changed ones that were. ``unadjusted``:
    ``false`` if p were not adjusted. ``wrong_verdicts``: *changed* among the unchanged ones, in
    parts of all verdicts *changed*."""

    false: float
    found: float
    unadjusted: float
    wrong_verdicts: float


def discoveries(boots: int, changed: int, tables: int, seed: int) -> Discoveries:
    """Tables of 200 functions with 50 to 50,000 samples in a boot, of which ``changed`` cost 10%
    more; boots scatter by 2% beside the samples' own scatter (Poisson)."""
    random = np.random.default_rng(seed)
    functions = 200
    means = np.geomspace(50, 50_000, functions)
    sums = np.zeros(4)
    for _ in range(tables):
        truth = np.zeros(functions, np.bool_)
        truth[random.choice(functions, changed, replace=False)] = True
        costs = np.stack([means, means * np.where(truth, 1.1, 1.0)])[..., None]
        scatter = np.maximum(0, 1 + 0.02 * random.standard_normal((2, functions, boots)))
        counts = random.poisson(costs * scatter).astype(np.float64)
        total = float(means.sum())
        tests = function_tests(counts[0], counts[1], (total, total))
        found = np.nan_to_num(tests.adjusted, nan=1.0) <= Rule().alpha
        raw = np.nan_to_num(tests.p, nan=1.0) <= Rule().alpha
        said = np.array([verdict == "changed" for verdict in tests.verdicts])
        false, unadjusted, wrong = (
            (chosen & ~truth).sum() / max(1, chosen.sum()) for chosen in (found, raw, said)
        )
        part = (found & truth).sum() / (tests.tested & truth).sum() if changed else 0.0
        sums += [false, part, unadjusted, wrong]
    return Discoveries(*(float(part) for part in sums / tables))


def null_table(count: int = EXPERIMENTS) -> Table:
    rows: Table = [
        ("no difference", "boots", "Mann-Whitney", "Welch", "changed", "median in", "mean in")
    ]
    cases = [(noise, (5, 5), (CV, CV)) for noise in NOISES]
    cases += [
        ("normal", (9, 9), (CV, CV)),
        ("normal", (4, 4), (CV, CV)),
        ("normal", (5, 5), (CV / 5, CV * 2)),
    ]
    for seed, (noise, boots, cvs) in enumerate(cases):
        part = null(noise, boots, count, seed, cvs)
        label = (
            noise if cvs[0] == cvs[1] else f"{noise}, CV {100 * cvs[0]:.1f} and {100 * cvs[1]:.0f}%"
        )
        figures = (part.mann_whitney, part.welch, part.changed, part.covered, part.mean_covered)
        rows.append((label, f"{boots[0]}, {boots[1]}", *map(_percent, figures)))
    return rows


def verdict_table(count: int = EXPERIMENTS // 4) -> Table:
    cells = [(change, "unchanged") for change in (0.0, Rule().relevance, 0.02)] + [
        (0.02, "changed")
    ]
    titles = (f"+{100 * change:.0f}%: *{verdict}*" for change, verdict in cells)
    rows: Table = [("CV 0.5%", "boots", *titles)]
    for seed, (noise, n) in enumerate([("normal", 5), *((noise, 9) for noise in NOISES)]):
        parts = {
            change: verdicts(noise, n, change, CV / 2, count, seed)
            for change in dict.fromkeys(change for change, _ in cells)
        }
        figures = (_percent(parts[change][verdict]) for change, verdict in cells)
        rows.append((noise, f"{n}, {n}", *figures))
    return rows


def power_table(count: int = EXPERIMENTS // 20) -> Table:
    changes = (0.0, 0.01, 0.02, 0.03, 0.05)
    rows: Table = [("*changed*, CV 1%", "boots", *(f"+{100 * change:.0f}%" for change in changes))]
    for seed, (noise, n) in enumerate((noise, n) for noise in NOISES for n in (5, 9)):
        parts = (verdicts(noise, n, change, CV, count, seed)["changed"] for change in changes)
        rows.append((noise, f"{n}, {n}", *map(_percent, parts)))
    return rows


def two_level_table(count: int = EXPERIMENTS // 10) -> Table:
    rows: Table = [("boots", "runs in each", "Mann-Whitney", "median in", "all runs pooled")]
    for seed, (boots, runs) in enumerate(((5, 3), (9, 5))):
        part = two_levels(boots, runs, count, seed)
        figures = (part.mann_whitney, part.covered, part.pooled)
        rows.append((f"{boots}, {boots}", str(runs), *map(_percent, figures)))
    return rows


def discovery_table(tables: int = EXPERIMENTS // 50) -> Table:
    rows: Table = [("changed of 200", "boots", "false", "found", "wrong *changed*", "unadjusted")]
    for seed, (boots, changed) in enumerate(((9, 0), (9, 20), (5, 20), (5, 100))):
        part = discoveries(boots, changed, tables, seed)
        figures = (part.false, part.found, part.wrong_verdicts, part.unadjusted)
        rows.append((str(changed), f"{boots}, {boots}", *map(_percent, figures)))
    return rows


def _percent(part: float) -> str:
    return f"{100 * part:.1f}%"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--experiments", type=int, default=EXPERIMENTS, metavar="N")
    count = max(50, parser.parse_args().experiments)
    for table in (
        null_table(count),
        verdict_table(count // 4),
        power_table(count // 20),
        two_level_table(count // 10),
        discovery_table(count // 50),
    ):
        lines = [f"| {' | '.join(row)} |" for row in table]
        lines.insert(1, "|---" * len(table[0]) + "|")
        print("\n".join(lines), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
