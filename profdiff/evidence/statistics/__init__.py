"""Pure numbers in, verdicts out. ``docs/statistics.md`` has every formula and its limits."""

from profdiff.evidence.statistics.boots import Boots
from profdiff.evidence.statistics.bootstrap import spread
from profdiff.evidence.statistics.estimates import Estimate, estimate, estimates, noise_floor
from profdiff.evidence.statistics.functions import FunctionTests, function_tests
from profdiff.evidence.statistics.rank_test import smallest_p
from profdiff.evidence.statistics.rule import Interval, Level, Quality, Rule, Verdict, level
from profdiff.evidence.statistics.shares import Side, share

__all__ = [
    "Boots",
    "Estimate",
    "FunctionTests",
    "Interval",
    "Level",
    "Quality",
    "Rule",
    "Side",
    "Verdict",
    "estimate",
    "estimates",
    "function_tests",
    "level",
    "noise_floor",
    "share",
    "smallest_p",
    "spread",
]
