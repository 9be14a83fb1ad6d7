"""What ran below calls, of call trees that are made up."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from profdiff.collectors.recorded import CallTree
from profdiff.evidence.blame.call_sites import CallSites

NOBODY, FIRST, SECOND = -1, 0, 1
# Places: 0 and 1 of a(), 1 of which calls; 2 of b() inlined into a(); 3 and 4 of c(), 5 of d().
A, B, C, D = range(4)
FRAMES = [[A], [A], [A, B], [C], [C], [D]]


def sites(
    commits: dict[tuple[int, int], int], *trees: tuple[int, CallTree], is_call: int = 1
) -> CallSites:
    """``commits``: whose line a frame of a place executes; what is counted is in ``trees``."""
    place = [at for at, frames in enumerate(FRAMES) for _ in frames]
    depth = [number for frames in FRAMES for number in range(len(frames))]
    count = np.zeros(len(FRAMES), np.int64)
    for sign, tree in trees:
        np.add.at(count, tree.place, sign * tree.count)
    return CallSites(
        count=count,
        trees=trees,
        is_call=np.arange(len(FRAMES)) == is_call,
        place=np.array(place, np.int64),
        start=np.cumsum([0, *map(len, FRAMES)]),
        line=np.arange(len(place)),
        lines=[("a.c", n) for n in range(1, len(place) + 1)],
        function=np.array([one for frames in FRAMES for one in frames], np.int64),
        commit=np.array(
            [commits.get(pair, NOBODY) for pair in zip(place, depth, strict=True)], np.int64
        ),
        names=["first", "second"],
    )


def tree(*entries: tuple[int, int, int]) -> CallTree:
    """Of (node, place, count). a() calls c() at place 1, and c() calls d() at 4."""
    node, place, count = np.array(entries, np.int64).reshape(-1, 3).T
    return CallTree(
        parent=np.array([-1, 0, 1]),
        site=np.array([-1, 1, 4]),
        target=np.array([-1, 3, 5]),
        calls=np.ones(3, np.int64),
        node=node,
        place=place,
        count=count,
        refused=0,
    )


RAN = tree((0, 0, 7), (0, 1, 1), (0, 2, 20), (1, 3, 300), (1, 4, 1), (2, 5, 4000))


def test_all_that_a_call_runs_is_below_it() -> None:
    """And not the call itself, which is the commit's own line."""
    made = sites({(1, 0): FIRST}, (1, RAN))
    below = made.below(made.calls(), {})
    assert below.sums == {("first", C): 301, ("first", D): 4000}
    assert below.rest.tolist() == [7, 1, 20, 0, 0, 0]


def test_an_inlined_call_too() -> None:
    made = sites({(2, 0): SECOND}, (1, RAN))
    assert made.below(made.calls(), {}).sums == {("second", B): 20}
    flat = sites({(2, 0): SECOND})
    assert not flat.count.any()
    assert flat.calls() == made.calls()


def test_the_outermost_call_has_it() -> None:
    made = sites({(1, 0): FIRST, (4, 0): SECOND}, (1, RAN), is_call=1)
    made.is_call[4] = True
    assert made.below(made.calls(), {}).sums == {("first", C): 301, ("first", D): 4000}
    inner = made.calls() - sites({(1, 0): FIRST}, (1, RAN)).calls()
    assert made.below(inner, {}).sums == {("second", D): 4000}


def test_what_interrupts_a_line_is_not_called_there() -> None:
    made = sites({(1, 0): FIRST}, (1, RAN), is_call=0)
    assert not made.calls()
    assert made.below((), {}).rest.tolist() == made.count.tolist()


def test_code_that_moved_into_what_is_called_was_not_added() -> None:
    """The other kernel executes place 4 in a(): it is c()'s only since c() was made of it."""
    made = sites({(1, 0): FIRST}, (1, RAN))
    calls = made.calls()
    assert made.functions()["a.c", 6] == {C}
    assert made.below(calls, {("a.c", 6): {A}}).sums == {("first", C): 300}
    assert made.below(calls, {("a.c", 6): {A, C}}).sums == {("first", C): 301, ("first", D): 4000}


def test_two_lengths_are_subtracted() -> None:
    short = tree((0, 0, 7), (1, 3, 100), (2, 5, 1000))
    made = sites({(1, 0): FIRST}, (1, RAN), (-1, short))
    assert made.below(made.calls(), {}).sums == {("first", C): 201, ("first", D): 3000}


ENTRIES = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, len(FRAMES) - 1), st.integers(0, 99)), max_size=9
)
OWNERS = st.dictionaries(
    st.sampled_from([(at, n) for at, frames in enumerate(FRAMES) for n in range(len(frames))]),
    st.sampled_from([FIRST, SECOND]),
)


OTHERS = st.dictionaries(
    st.tuples(st.just("a.c"), st.integers(1, 7)), st.sets(st.integers(0, 3), min_size=1)
)


@given(ENTRIES, ENTRIES, OWNERS, st.sets(st.integers(0, 3)), OTHERS)
def test_what_is_below_and_the_rest_are_all(
    long: list[tuple[int, int, int]],
    short: list[tuple[int, int, int]],
    owners: dict[tuple[int, int], int],
    left_out: set[int],
    others: dict[tuple[str, int], set[int]],
) -> None:
    made = sites(owners, (1, tree(*long)), (-1, tree(*short)))
    calls = {call for n, call in enumerate(sorted(made.calls())) if n not in left_out}
    below = made.below(calls, others)
    assert below.rest.sum() + sum(below.sums.values()) == made.count.sum()
    for sign in (1, -1):
        assert sum(part.delta for part in below.parts(sign)) == sign * sum(below.sums.values())
