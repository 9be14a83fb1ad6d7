"""Conditions judged on tables that no session has."""

from collections.abc import Sequence

from profdiff.base.errors import InputError
from profdiff.checks.names import check_row
from profdiff.evidence.conditions.condition import Condition, Judgement
from profdiff.shapes.rows import changes
from profdiff.shapes.table import Section


def judge_rows(
    section: Section, labels: Sequence[str], conditions: Sequence[Condition]
) -> list[Judgement]:
    """Each on every kernel but the base, ``labels`` first. Raises InputError for a table or a row
    that there is not."""
    judged = []
    for condition in conditions:
        check_row(condition)
        if condition.unit == "/op":
            raise InputError(f"condition '{condition}': nothing is per op: use %, or no unit")
        judged += [
            Judgement(condition, change, condition.judge(change))
            for change in changes(section, labels, condition)
        ]
    return judged
