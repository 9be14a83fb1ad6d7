"""Membership without numpy.ma is that of numpy."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from profdiff.symbolization.places import among, distinct

VALUES = st.integers(0, 6) | st.sampled_from([0, 2**63, 2**64 - 1])
ADDRESSES = arrays(np.uint64, st.integers(0, 9), elements=VALUES)


@given(ADDRESSES, ADDRESSES)
def test_among_and_distinct_are_those_of_numpy(values: np.ndarray, known: np.ndarray) -> None:
    assert among(values, known).tolist() == np.isin(values, known).tolist()
    assert distinct(values).tolist() == np.unique(values).tolist()
