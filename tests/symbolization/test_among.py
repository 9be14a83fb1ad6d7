"""Membership without numpy.ma is that of numpy, and keys of places compare as their bytes do."""

from bisect import bisect_left

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from profdiff.symbolization.places import CODE, among, distinct, place_keys, rows_of

VALUES = st.integers(0, 6) | st.sampled_from([0, 2**63, 2**64 - 1])
ADDRESSES = arrays(np.uint64, st.integers(0, 9), elements=VALUES)


@given(ADDRESSES, ADDRESSES)
def test_among_and_distinct_are_those_of_numpy(values: np.ndarray, known: np.ndarray) -> None:
    assert among(values, known).tolist() == np.isin(values, known).tolist()
    assert distinct(values).tolist() == np.unique(values).tolist()


CODES = st.sampled_from([b"", b"\1\x90", b"\1\xff", b"\2\xff\0", b"\x0f" + b"\xff" * 15])
KEYS = st.lists(st.tuples(VALUES, CODES), max_size=30)


def keys_of(places: list[tuple[int, bytes]]) -> np.ndarray:
    address = np.array([one for one, _ in places], np.uint64)
    return place_keys(address, np.array([code.ljust(16, b"\0") for _, code in places], CODE))


@given(KEYS, KEYS)
def test_keys_sort_and_are_found_by_address_then_bytes(
    known: list[tuple[int, bytes]], wanted: list[tuple[int, bytes]]
) -> None:
    of_bytes = sorted({(address, code.ljust(16, b"\0")) for address, code in known})
    every = distinct(keys_of(known))
    assert [(int(a), bytes(c)) for a, c in every.tolist()] == of_bytes
    padded = [(address, code.ljust(16, b"\0")) for address, code in wanted]
    expected = [bisect_left(of_bytes, one) for one in padded]
    assert rows_of(every, keys_of(wanted)).tolist() == expected
