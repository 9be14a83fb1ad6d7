"""Pure numbers in, verdicts out. ``docs/statistics.md`` has every formula and its limits."""

from profdiff.statistics.boots import Boots
from profdiff.statistics.estimates import Estimate, estimate, estimates
from profdiff.statistics.functions import FunctionTests, function_tests
from profdiff.statistics.levels import Level, level
from profdiff.statistics.noise import NoiseFloor, noise_floor
from profdiff.statistics.rank_test import smallest_p
from profdiff.statistics.rule import Interval, Quality, Rule, Verdict

__all__ = [
    "Boots",
    "Estimate",
    "FunctionTests",
    "Interval",
    "Level",
    "NoiseFloor",
    "Quality",
    "Rule",
    "Verdict",
    "estimate",
    "estimates",
    "function_tests",
    "level",
    "noise_floor",
    "smallest_p",
]
