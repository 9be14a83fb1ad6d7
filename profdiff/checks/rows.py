"""Conditions judged on tables that no session has."""

from collections.abc import Sequence

from profdiff.base.errors import InputError
from profdiff.checks.names import check_row
from profdiff.evidence.conditions.condition import Condition, Judgement, MeasuredChange
from profdiff.evidence.difference import AbsentError
from profdiff.shapes.rows import changes
from profdiff.shapes.table import Section


def judge_rows(
    section: Section, labels: Sequence[str], conditions: Sequence[Condition]
) -> list[Judgement]:
    """Each on every kernel but the base, ``labels`` first. Nothing is known of a row that there
    is not. Raises InputError for such a table."""
    judged = []
    for condition in conditions:
        check_row(condition)
        if condition.unit == "/op":
            raise InputError(f"condition '{condition}': there are no ops: use %, or no unit")
        try:
            found = list(changes(section, labels, condition))
        except AbsentError as error:
            found = [MeasuredChange.unknown(label, str(error), of_row=True) for label in labels[1:]]
        judged += [Judgement(condition, change, condition.judge(change)) for change in found]
    return judged
