"""Which kind each instruction is of: every one is in exactly one part, whatever git says."""

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profdiff.evidence.blame.attribution import (
    BlamedPart,
    Kind,
    Line,
    LineOrigins,
    Place,
    attribute,
)

FILES = ["a.c", "b.h", ""]
UNRESOLVED = frozenset({3})
NOTHING = LineOrigins({}, {})


def line(function: int, file: str, number: int, count: int, *code: str) -> Line:
    """A line with one copy."""
    return Line(function, file, number, count, frozenset({tuple(sorted(code))}))


PLACES = st.tuples(st.sampled_from(FILES[:2]), st.integers(1, 6))
LINES = st.lists(
    st.builds(
        Line,
        st.integers(0, 3),
        st.sampled_from(FILES),
        st.integers(0, 6),
        st.integers(-50, 1000),
        st.frozensets(st.tuples(st.sampled_from(["mov", "add"])), max_size=2),
    ),
    max_size=12,
    unique_by=lambda one: one[:3],
).map(lambda lines: [one if one.file else one._replace(line=0) for one in lines])
KNOWN = st.builds(
    LineOrigins,
    st.dictionaries(st.sampled_from(FILES[:2]), st.integers(0, 6)),
    st.dictionaries(PLACES, st.sampled_from(["c1", "c2"])),
)


@st.composite
def pairings(draw: st.DrawFn) -> dict[Place, Place]:
    """Lines of the base with the one that each is, each at most once."""
    old, new = (draw(st.lists(PLACES, unique=True)) for _ in range(2))
    return dict(zip(old, new, strict=False))


@given(LINES, LINES, pairings(), KNOWN, KNOWN)
def test_the_parts_are_the_delta(
    base: list[Line],
    new: list[Line],
    same: dict[Place, Place],
    before: LineOrigins,
    after: LineOrigins,
) -> None:
    parts = attribute(base, new, same, before, after, UNRESOLVED)
    delta = sum(one.instructions for one in new) - sum(one.instructions for one in base)
    assert sum(part.delta for part in parts) == delta
    assert len({part[:3] for part in parts}) == len(parts)
    of_function: dict[int, int] = defaultdict(int)
    for part in parts:
        of_function[part.function] += part.delta
    if not same:  # a line may pass from one function to another
        for number in range(4):
            own = [
                sum(one.instructions for one in side if one.function == number)
                for side in (base, new)
            ]
            assert of_function[number] == own[1] - own[0]


@given(LINES, pairings(), KNOWN)
def test_nothing_of_a_kernel_with_itself(
    lines: list[Line], same: dict[Place, Place], known: LineOrigins
) -> None:
    identity = {(one.file, one.line): (one.file, one.line) for one in lines if one.line}
    assert not attribute(lines, lines, identity, known, known, UNRESOLVED)


@given(LINES, LINES, pairings(), KNOWN, KNOWN)
def test_the_other_way_round_is_the_opposite(
    base: list[Line],
    new: list[Line],
    same: dict[Place, Place],
    before: LineOrigins,
    after: LineOrigins,
) -> None:
    back = {mine: theirs for theirs, mine in same.items()}
    sums = []
    for parts in (
        attribute(base, new, same, before, after, UNRESOLVED),
        attribute(new, base, back, after, before, UNRESOLVED),
    ):
        found: dict[tuple[Kind, str], int] = defaultdict(int)
        for part in parts:
            found[part.kind, part.reason] += part.delta
        sums.append({key: value for key, value in found.items() if value})
    assert sums[0] == {key: -value for key, value in sums[1].items()}


REPO = LineOrigins({"a.c": 9}, {("a.c", 5): "c5"})


@pytest.mark.parametrize(
    ("base", "new", "expected"),
    [
        # Added by a commit; changed by it: both sides' lines; removed.
        ([], [line(0, "a.c", 5, 7)], [BlamedPart("commit", "c5", 0, 7, 0)]),
        ([line(0, "a.c", 5, 7)], [line(0, "a.c", 5, 9)], [BlamedPart("commit", "c5", 0, 9, -7)]),
        ([line(0, "a.c", 5, 7)], [], [BlamedPart("commit", "c5", 0, 0, -7)]),
        # Beyond the end of the file, and of no commit.
        ([], [line(0, "a.c", 10, 7)], [BlamedPart("unmatched", "", 0, 7, 0)]),
        ([], [line(0, "a.c", 6, 7)], [BlamedPart("unmatched", "", 0, 7, 0)]),
        # Not in the repository: only the difference.
        ([line(0, "/l.c", 1, 7)], [line(0, "/l.c", 1, 9)], [BlamedPart("generated", "", 0, 2, 0)]),
        ([line(0, "", 0, 9)], [line(0, "", 0, 7)], [BlamedPart("no-line", "", 0, 0, -2)]),
        ([line(3, "a.c", 1, 9)], [], [BlamedPart("unresolved", "", 3, 0, -9)]),
    ],
)
def test_a_line_of_one_side(base: list[Line], new: list[Line], expected: list[BlamedPart]) -> None:
    assert attribute(base, new, {}, REPO, REPO, UNRESOLVED) == expected


@pytest.mark.parametrize(
    ("base", "new", "kind"),
    [
        (line(0, "a.c", 1, 4, "mov"), line(0, "a.c", 2, 9, "mov"), "more-often"),
        (line(0, "a.c", 1, 4, "mov"), line(0, "a.c", 2, 9, "mov", "add"), "other-code"),
        # Inlined in one more place, with the same code in one of them.
        (
            line(0, "a.c", 1, 4, "mov"),
            Line(0, "a.c", 2, 9, frozenset({("mov",), ("add", "mov")})),
            "more-often",
        ),
        # In a function that was renamed.
        (line(0, "a.c", 1, 4, "mov"), line(1, "a.c", 2, 9, "mov"), "more-often"),
    ],
)
def test_a_line_that_both_have(base: Line, new: Line, kind: Kind) -> None:
    same = {("a.c", 1): ("a.c", 2)}
    (part,) = attribute([base], [new], same, REPO, REPO, UNRESOLVED)
    assert part == BlamedPart(kind, "", new.function, 5, 0)


def test_only_one_config_has_the_line() -> None:
    asked = []

    def option(new: Place, by_new: bool) -> str:
        asked.append((new, by_new))
        return "CONFIG_X"

    same = {("a.c", 1): ("a.c", 2), ("a.c", 3): ("a.c", 3)}
    base = [line(0, "a.c", 1, 4), line(0, "a.c", 3, 1)]
    parts = attribute(base, [line(0, "a.c", 3, 2)], same, REPO, REPO, UNRESOLVED, option)
    assert set(parts) == {
        BlamedPart("config", "CONFIG_X", 0, 0, -4),
        BlamedPart("more-often", "", 0, 1, 0),
    }
    assert asked == [(("a.c", 2), False)]
