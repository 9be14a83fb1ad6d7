"""Conditions: what they may say, and what they come to."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profdiff.base.errors import InputError
from profdiff.checks.names import CODE, check_names
from profdiff.evidence.conditions.condition import (
    Condition,
    Judgement,
    MeasuredChange,
    Outcome,
    exit_status,
)

NAN = math.nan
NAMES = st.text(st.characters(exclude_characters='"'), min_size=1, max_size=30).filter(
    str.isprintable
)
CONDITIONS = (
    st.builds(
        Condition,
        metric=NAMES,
        what=NAMES,
        function=st.just(True),
        operator=st.sampled_from([">", ">=", "<", "<="]),
        bound=st.floats(-1e12, 1e12),
        unit=st.sampled_from(["%", "/op", ""]),
        inclusive=st.booleans(),
    )
    | st.builds(
        Condition,
        metric=st.sampled_from(
            ["instructions", "cycles:u", "fault-around.ns/op", "sched:sched_switch"]
        ),
        what=st.sampled_from(["total", "kernel", "user"]),
        function=st.just(False),
        operator=st.sampled_from([">", ">=", "<", "<="]),
        bound=st.floats(-1, 1),
        unit=st.sampled_from(["%", "/op", ""]),
    )
    | st.builds(
        Condition,
        metric=st.sampled_from(["inlined", "layout"]),
        what=NAMES,
        function=st.just(True),
        operator=st.sampled_from(["changed", "moved"]),
        bound=st.just(0.0),
        unit=st.just(""),
    )
)
FRACTIONS = st.floats(-1, 10)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("instructions:total > +2%", ("instructions", "total", False, ">", 0.02, "%")),
        ("instructions>+2.3%", ("instructions", "total", False, ">", 0.023, "%")),
        (" cycles : user<= -5 % ", ("cycles", "user", False, "<=", -0.05, "%")),
        ("cycles:u:kernel >= +100", ("cycles:u", "kernel", False, ">=", 100, "")),
        ("cycles:u < 0", ("cycles:u", "total", False, "<", 0, "")),
        ('cycles:"u" > +1/op', ("cycles", "u", True, ">", 1, "/op")),
        (
            "instructions:change_pte_range.cold > +.5/op",
            ("instructions", "change_pte_range.cold", True, ">", 0.5, "/op"),
        ),
        (
            '"sched:sched_switch":"std::less<int>" > +1e3',
            ("sched:sched_switch", "std::less<int>", True, ">", 1000, ""),
        ),
        ('instructions:"total" > +1', ("instructions", "total", True, ">", 1, "")),
    ],
)
def test_what_a_condition_says(text: str, expected: tuple[str, str, bool, str, float, str]) -> None:
    parsed = Condition.parse(text)
    assert expected == (
        *(parsed.metric, parsed.what, parsed.function),
        *(parsed.operator, parsed.bound, parsed.unit),
    )


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("instructions:total:change_pte_range > +2%", "change_pte_range"),
        ('cycles:u : total : "kernel" > +1', "kernel"),
        ("cycles:total:total > +1", "total"),
    ],
)
def test_a_function_with_what_it_calls(text: str, what: str) -> None:
    parsed = Condition.parse(text)
    assert (parsed.what, parsed.function, parsed.inclusive) == (what, True, True)
    assert Condition.parse(str(parsed)) == parsed
    alone = Condition.parse('instructions:"total" > +1')
    assert (alone.what, alone.function, alone.inclusive) == ("total", True, False)


@given(CONDITIONS)
def test_what_is_written_is_read_again(condition: Condition) -> None:
    assert Condition.parse(str(condition)) == condition


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no metric"),
        ("instructions:total", "has no comparison"),
        ("instructions:a:b > +2%", "double quotes"),
        ('instructions:"a > +2%', "unclosed"),
        ("instructions => +2%", "did you mean >="),
        ("instructions == +2%", "one of >= <= > <"),
        ("instructions > 2%", r"write \+2%"),
        ("instructions > 2 /op", r"write \+2 /op"),
        ("instructions > two", "no bound"),
        ("instructions > +2 percent", "unit 'percent'"),
        ("instructions > +2/ops", "/op, or none"),
        ("instructions > +1e999", "too large"),
        ("instructions > +1e-9999", "unit '9'"),
        ("inlined:main changed > +1", "no comparison"),
        ("inlined:main change", "no comparison"),
        ("instructions:\x1b[31m > +2%", r"\\x1b"),
        ("x" * 2000, "at most 1000"),
    ],
)
def test_bad_conditions(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        Condition.parse(text)
    assert str(caught.value).isprintable()


@given(st.text(max_size=60) | st.text('abc:"<>=!+-.0123456789e%/op ', max_size=40))
def test_any_text_is_a_condition_or_an_error(text: str) -> None:
    try:
        condition = Condition.parse(text)
    except InputError as error:
        assert str(error).isprintable()
    else:
        assert Condition.parse(str(condition)) == condition


def test_names_that_nobody_measured() -> None:
    condition = Condition.parse("instructons:change_pte_rang > +2%")
    with pytest.raises(InputError, match="mean 'instructions'"):
        check_names(condition, ["instructions", "cycles"], ["change_pte_range"])
    with pytest.raises(InputError, match="mean 'change_pte_range'"):
        check_names(condition, ["instructons"], ["change_pte_range", "main"])
    with pytest.raises(InputError, match="measured: 'cycles', 'cycles:u'"):
        check_names(Condition.parse("faults > +1"), ["cycles:u", "cycles"], [])
    with pytest.raises(InputError, match="mean 'total'"):
        check_names(Condition.parse("cycles:totl > +1"), ["cycles"], ["main"])
    check_names(Condition.parse("cycles:kernel > +1"), ["cycles"], [])
    with pytest.raises(InputError, match=r"no function 'total' was measured$"):
        check_names(Condition.parse("cycles:total:total > +1"), ["cycles"], ["main"])
    with pytest.raises(InputError, match=r"'total' was measured; write METRIC:total:main$"):
        check_names(Condition.parse("total:main > +1"), ["cycles"], ["main"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lockd:main > +0", "mean 'locked'"),
        ("locked:mian > +0", "mean 'main'"),
        ("locked:total:main > +0", "write locked:main"),
        ("locked:main changed", r"write it like 'locked:main > \+0'"),
        ("taken > +0", "the recording does not have 'taken'"),
        ("size > +10%", "write size:FUNCTION"),
        ("size:kernel > +10%", "write size:FUNCTION"),
        ("size:main > +3/op", "in bytes"),
        ("size:mian > +3", "mean 'main'"),
        ("inlined changed", "write inlined:FUNCTION"),
        ("inlined:main > +0", "write it like 'inlined:main changed'"),
        ("inlined:totl changed", r"no function 'totl' was measured$"),
        ("instructions:main changed", "no bound"),
    ],
)
def test_names_of_code_that_cannot_be_judged(text: str, said: str) -> None:
    known = {*CODE} - {"taken", "not-taken"}
    with pytest.raises(InputError, match=said):
        check_names(Condition.parse(text), ["instructions"], ["main"], known)


@pytest.mark.parametrize(
    "text",
    ["locked > +0", "locked:user > +1%", "indirect-calls:main > +1/op", "loads:kernel < -1%"],
)
def test_classes_need_exact_counts(text: str) -> None:
    condition = Condition.parse(text)
    check_names(condition, ["instructions"], ["main"], CODE)
    with pytest.raises(InputError, match="record with --collector exact"):
        check_names(condition, ["cycles"], ["main"], ["inlined"])


def test_a_measured_metric_comes_before_code() -> None:
    check_names(Condition.parse("size > +10%"), ["size"], [])
    check_names(Condition.parse("locked:total:main > +3/op"), ["locked"], ["main"])
    with pytest.raises(InputError, match="no bound"):
        check_names(Condition.parse("inlined:main changed"), ["inlined"], ["main"])


@pytest.mark.parametrize(
    ("differs", "decided", "expected"),
    [
        (True, True, "holds"),
        (False, True, "does not hold"),
        (None, True, "inconclusive"),
        (True, False, "inconclusive"),
    ],
)
def test_a_condition_without_a_bound(
    differs: bool | None, decided: bool, expected: Outcome
) -> None:
    change = MeasuredChange("new", 0, 1, NAN, NAN, decided, differs=differs)
    condition = Condition.parse("inlined:main changed")
    assert condition.judge(change) == expected
    assert str(condition) == "inlined:main changed"


def exact(base: float, other: float) -> MeasuredChange:
    """A change of exact counts."""
    relative = (other - base) / base if base else NAN
    return MeasuredChange("new", base, other, relative, relative)


@pytest.mark.parametrize(
    ("text", "change", "expected"),
    [
        # An exact count at the bound does not exceed it.
        ("m > +2%", exact(100, 102), "does not hold"),
        ("m >= +2%", exact(100, 102), "holds"),
        ("m > +2.3%", exact(1000, 1023), "does not hold"),
        ("m > +2", exact(1000, 1002), "does not hold"),
        ("m > +1.5/op", exact(10, 11.75), "holds"),
        ("m < -5%", exact(100, 94), "holds"),
        # New, vanished, and neither.
        ("m > +1000000%", exact(0, 1), "holds"),
        ("m > +5", exact(0, 5), "does not hold"),
        ("m <= -100%", exact(7, 0), "holds"),
        ("m > 0%", exact(0, 0), "does not hold"),
        # Intervals.
        ("m > +2%", MeasuredChange("new", 100, 104, 0.021, 0.06), "holds"),
        ("m > +2%", MeasuredChange("new", 100, 104, 0.02, 0.06), "inconclusive"),
        ("m > +2%", MeasuredChange("new", 100, 101, -0.01, 0.02), "does not hold"),
        ("m > +2", MeasuredChange("new", 100, 104, 0.021, 0.06), "holds"),
        ("m > +3", MeasuredChange("new", 100, 104, 0.021, 0.06), "inconclusive"),
        ("m > +2%", MeasuredChange("new", 0, 3, 0.5, math.inf), "holds"),
        ("m > +2", MeasuredChange("new", 0, 3, 0.5, math.inf), "inconclusive"),
        # A difference that is known by itself.
        ("m > +2", MeasuredChange("new", 0, 3, 0.5, math.inf, difference=(2.1, 3.9)), "holds"),
        ("m > +2", MeasuredChange("new", 0, 3, 0.5, 9, difference=(1.9, 4)), "inconclusive"),
        ("m > +2%", MeasuredChange("new", 1, 3, 0.5, 9, difference=(-1, 4)), "holds"),
        # What is not known.
        ("m > +2%", MeasuredChange("new", 100, 200, 1.0, 1.0, decided=False), "inconclusive"),
        ("m > +2%", MeasuredChange("new", 100, 200, NAN, NAN), "inconclusive"),
        ("m > +2%", MeasuredChange("new", NAN, 200, 1.0, 1.0), "inconclusive"),
        ("m > +2%", MeasuredChange("new", 100, 200, 1.5, 0.5), "inconclusive"),
        ("m > +2%", MeasuredChange("new", -100, 200, 1.0, 1.0), "inconclusive"),
    ],
)
def test_what_a_condition_comes_to(text: str, change: MeasuredChange, expected: Outcome) -> None:
    assert Condition.parse(text).judge(change) == expected


@given(
    st.sampled_from([">", ">=", "<", "<="]),
    st.integers(-10_000, 10_000),
    st.integers(1, 10**6),
    st.integers(0, 10**6),
)
def test_exact_counts_are_judged_exactly(
    operator: str, hundredths: int, base: int, other: int
) -> None:
    condition = Condition.parse(f"m {operator} {hundredths / 100:+.2f}%")
    change, bound = Fraction(other - base, base), Fraction(hundredths, 10_000)
    holds = {
        ">": change > bound,
        ">=": change >= bound,
        "<": change < bound,
        "<=": change <= bound,
    }[operator]
    assert condition.judge(exact(base, other)) == ("holds" if holds else "does not hold")


OPPOSITE = {">": "<=", ">=": "<", "<": ">=", "<=": ">"}


@given(st.sampled_from([*OPPOSITE]), FRACTIONS, FRACTIONS, FRACTIONS, st.sampled_from(["%", ""]))
def test_a_condition_and_its_opposite(
    operator: str, bound: float, first: float, second: float, unit: str
) -> None:
    change = MeasuredChange("new", 100.0, 110.0, min(first, second), max(first, second))
    outcomes = [
        Condition("m", "total", False, one, bound, unit).judge(change)  # type: ignore[arg-type]
        for one in (operator, OPPOSITE[operator])
    ]
    assert set(outcomes) in ({"holds", "does not hold"}, {"inconclusive"})


@given(st.sampled_from([*OPPOSITE]), FRACTIONS, st.lists(FRACTIONS, min_size=3, max_size=3))
def test_a_wider_interval_tells_no_more(operator: str, bound: float, ends: list[float]) -> None:
    condition = Condition("m", "total", False, operator, bound, "%")
    low, middle, high = sorted(ends)
    wide = condition.judge(MeasuredChange("new", 100, 110, low, high))
    for first, second in ((low, middle), (middle, high), (middle, middle)):
        assert wide in (
            "inconclusive",
            condition.judge(MeasuredChange("new", 100, 110, first, second)),
        )


@pytest.mark.parametrize(
    ("outcomes", "status"),
    [
        ([], 0),
        (["does not hold"], 0),
        (["does not hold", "inconclusive"], 125),
        (["inconclusive", "holds", "does not hold"], 1),
    ],
)
def test_exit_status(outcomes: list[Outcome], status: int) -> None:
    condition, change = Condition.parse("m > +2%"), exact(1, 2)
    assert exit_status(Judgement(condition, change, one) for one in outcomes) == status
