"""Whether a change holds in varied states."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profdiff.session.states import StateChange, holds, settled

# Counts, not fractions of one: with those every law is true of floats, too.
VALUES = st.integers(0, 10**9)
PAIRS = st.builds(StateChange, VALUES, VALUES)
SOME = st.lists(PAIRS, min_size=1, max_size=9)


# Instructions per call of v6.12.107 and v6.18.15 with 0, 1, 4 and 7 more mappings.
@pytest.mark.parametrize(
    "pairs",
    [
        [(2485, 8086), (7726, 2755), (2636, 2755), (7911, 8283)],
        [(3113, 5714), (5565, 3009), (3362, 3093), (3324, 7008)],
        [(8799, 5849), (5819, 5972), (5939, 5973), (9915, 5849)],
    ],
)
def test_a_leaf_that_is_full_is_no_change(pairs: list[tuple[float, float]]) -> None:
    assert not holds([StateChange(*one) for one in pairs])


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([], True),
        ([(100, 200)], True),
        ([(100, 100), (300, 300)], True),
        ([(100, 100), (300, 301)], False),
        # The same work more in each call, however dear a state makes the call.
        ([(100, 150), (1000, 1050), (250, 300)], True),
        # A tenth more of each mapping, however many a state has.
        ([(100, 110), (1000, 1100), (300, 330)], True),
        ([(100, 150), (100, 125), (100, 200)], True),
        ([(100, 150), (100, 124), (100, 150)], False),
        ([(100, 150), (100, 201), (100, 150)], False),
        ([(100, 110), (100, 90)], False),
        ([(0, 10), (0, 12)], True),
        ([(0, 10), (5, 15)], True),
        ([(0, 10), (5, 4)], False),
        ([(0, 0), (0, 0)], True),
    ],
)
def test_rule(pairs: list[tuple[float, float]], *, expected: bool) -> None:
    assert holds([StateChange(*one) for one in pairs]) is expected


@given(SOME, st.randoms(use_true_random=False))
def test_order_does_not_matter(some: list[StateChange], chance: object) -> None:
    mixed = list(some)
    chance.shuffle(mixed)  # type: ignore[attr-defined]
    assert holds(mixed) == holds(some)


@given(SOME, st.integers(0, 12))
def test_the_unit_does_not_matter(some: list[StateChange], power: int) -> None:
    scaled = [StateChange(one.base * 2**power, one.other * 2**power) for one in some]
    assert holds(scaled) == holds(some)


@given(st.lists(st.tuples(st.just(1000.0), st.integers(0, 2000)), min_size=1, max_size=9))
def test_the_direction_does_not_matter(some: list[tuple[float, int]]) -> None:
    up = [StateChange(base, other) for base, other in some]
    down = [StateChange(one.base, one.base - one.delta) for one in up]
    assert holds(up) == holds(down)


@given(PAIRS, st.integers(1, 9))
def test_the_same_in_every_state_holds(one: StateChange, states: int) -> None:
    assert holds([one] * states)


@given(SOME, PAIRS)
def test_what_holds_has_one_direction(some: list[StateChange], more: StateChange) -> None:
    every = [*some, more]
    if holds(every):
        assert len({math.copysign(1, one.delta) if one.delta else 0 for one in every}) == 1


@given(SOME)
def test_a_state_with_the_other_direction_never_holds(some: list[StateChange]) -> None:
    first = some[0]
    if first.delta:
        assert not holds([*some, StateChange(first.other, first.base)])


@given(SOME)
def test_what_is_settled_holds_in_three_states(changes: list[StateChange]) -> None:
    if settled(changes):
        assert holds(changes)
        assert len(changes) >= 3
    assert settled([changes[0]] * 3)


def test_changes_that_differ_by_more_than_a_fifth_are_not_settled() -> None:
    first = [(100, 200), (300, 400)]
    assert settled([StateChange(*one) for one in (*first, (500, 615))])
    assert not settled([StateChange(*one) for one in (*first, (500, 625))])
