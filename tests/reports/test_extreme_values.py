"""Values that a stranger's manifest may hold: reports of them are text, however large they are."""

import pytest
from extent import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st
from synthetic_experiment import found, recorded

from profdiff.reports import documents
from profdiff.reports.text import session
from profdiff.topics.functions.selection import Selection

BOOTS = st.lists(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=2), min_size=1, max_size=4)


def shown(base: list[list[float]], new: list[list[float]]) -> str:
    """The text, and the JSON as far as it can be written."""
    findings = found(recorded({"base": [base], "new": [new]}))
    documents.encode(documents.session_document(findings))
    return session.render(findings, Selection(), width=100)


@pytest.mark.parametrize(
    "boots",
    [
        [[1e300], [-1e300], [1.0]],
        [[1e300], [1e299]],
        [[5e-324], [1e300]],
        [[1e300], [-1e300], [1e-300]],
    ],
)
def test_the_spread_of_extreme_values(boots: list[list[float]]) -> None:
    assert "base" in shown(boots, [[1.0], [2.0]])


@settings(max_examples=examples(40))
@given(BOOTS, BOOTS)
@example([[1e300]], [[5e-324]])  # whose ratio is less than a float holds
def test_any_values_are_shown(base: list[list[float]], new: list[list[float]]) -> None:
    assert "base" in shown(base, new)
