"""Points of a sweep, their order, and settings made of them."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic import manifest

from profdiff.base import units
from profdiff.base.errors import InputError
from profdiff.collectors import registry
from profdiff.collectors.collector import Collector
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.recording import schedule, sweep
from profdiff.session import manifest as m
from profdiff.session import points

NAMES = st.from_regex(r"[a-z_]{1,8}", fullmatch=True)
VALUES = st.lists(
    st.from_regex(r"[a-z0-9./-]{1,6}", fullmatch=True), min_size=1, max_size=4, unique=True
)
PARAMETERS = st.dictionaries(NAMES, VALUES, max_size=3)


def command(names: Any) -> list[str]:
    return ["./work", *(f"--{name}={{{name}}}" for name in names)]


def found_of(parameters: Any, cpus: Any = (1,), **options: Any) -> sweep.Points:
    words, whole = options.pop("command", command(parameters)), options.pop("whole", False)
    texts = [f"{name}={','.join(values)}" for name, values in parameters.items()]
    chosen = {"zipped": False, "ops": None, "difference": None, **options}
    asked = sweep.Sweep(texts, cpus=cpus, **chosen)
    return sweep.points(asked, words, in_guests=True, whole=whole)


def made(parameters: Any, cpus: Any = (1,), **options: Any) -> list[m.Point]:
    return found_of(parameters, cpus, **options).every


@given(PARAMETERS, st.lists(st.integers(1, 8), min_size=1, max_size=3, unique=True))
def test_crossed_parameters_make_every_point_once(
    parameters: dict[str, list[str]], cpus: list[int]
) -> None:
    found = made(parameters, cpus)
    count = len(cpus)
    for values in parameters.values():
        count *= len(values)
    assert len(found) == count
    assert len({(tuple(point.parameters.items()), point.cpus) for point in found}) == count
    texts = [f"{name}={','.join(values)}" for name, values in parameters.items()]
    assert sweep.parse_sweep(texts) == parameters


@given(PARAMETERS)
def test_values_stand_where_their_names_stood(parameters: dict[str, list[str]]) -> None:
    for point in made(parameters):
        for name, value in point.parameters.items():
            assert points.substitute(f"a{{{name}}}b{{other}}", point.parameters) == (
                f"a{value}b{{other}}"
            )


@pytest.mark.parametrize(("values", "ops"), [("0", None), ("4k", None), ("8", 8)])
def test_a_parameter_called_ops_counts_operations_if_it_can(values: str, ops: int | None) -> None:
    assert [point.ops for point in made({"ops": [values]})] == [ops]
    assert made({"ops": [values, "x"]})[0].ops is None


def test_zipped_parameters_go_side_by_side() -> None:
    both = {"size": ["4", "40"], "rounds": ["100", "10"]}
    found = made(both, zipped=True, ops="{size}*{rounds} * 2")
    assert [(p.parameters, p.ops) for p in found] == [
        ({"size": "4", "rounds": "100"}, 800),
        ({"size": "40", "rounds": "10"}, 800),
    ]
    with pytest.raises(InputError, match="size 1, rounds 2"):
        made({"size": ["4"], "rounds": ["1", "2"]}, zipped=True)


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (lambda: sweep.parse_sweep(["size"]), "NAME=VALUE"),
        (lambda: sweep.parse_sweep(["size=1", "size=2"]), "given twice"),
        (lambda: sweep.parse_sweep(["size=1,,2"]), "empty"),
        (lambda: made({"size_kib": ["4"]}, command=["./w", "{size_kb}"]), "write {size_kib}"),
        (lambda: made({"size": ["4"]}, command=["./w"]), "does not use {size}"),
        (lambda: made({"size": ["x"]}, ops="{size}*2"), "'x' is not a whole number"),
        (lambda: made({"iters": ["4"]}, ops="{iter}"), "write {iters}, or --sweep iter=..."),
        (lambda: made({}, ops="2 * {size}"), "gives {size} a value: write --sweep size=..."),
        (lambda: made({}, ops="9" * 19), "more than can be counted"),
        (lambda: made({}, ops="999999999999*999999999999"), "more than can be counted"),
        (lambda: made({}, ops="0"), "write at least 1"),
        (lambda: made({}, command=["./w", "{N}"], difference="N=2,1"), "NAME=SHORT,LONG"),
        (lambda: made({}, command=["./w", "{N}"], difference="N=1"), "NAME=SHORT,LONG"),
        (lambda: made({}, command=["./w", "{N}"], difference="N"), "{N} has no values"),
        (lambda: made({}, command=["./w", "{NN}"], difference="N=1,2"), "write {N}"),
        (lambda: made({"N": ["8"]}, difference="N=1,2"), "already swept; --difference N alone"),
        (lambda: made({"N": ["8", "1"]}, difference="N"), "N is 1, so it has no half"),
        (lambda: made({"N": ["8k"]}, difference="N"), "N is 8k, which is not a whole number"),
        (lambda: made({}, command=["./w", "{ops}"]), "the command uses {ops}: give the number"),
        (
            lambda: made({f"p{n}": [str(v) for v in range(30)] for n in range(3)}),
            "more than 10,000",
        ),
    ],
)
def test_malformed_sweeps_are_refused(action: Any, words: str) -> None:
    with pytest.raises(InputError) as refused:
        action()
    assert words in str(refused.value)


def settings_of(found: list[m.Point]) -> list[points.Setting]:
    return points.settings(m.replace(manifest(["a", "b"]), points=found))


def test_a_difference_pairs_points() -> None:
    found = made(
        {"size": ["4", "40"]},
        (1, 2),
        difference="N=100,300",
        command=["./w", "{size}", "{N}"],
        ops="{size} * {N}",
    )
    assert len(found) == 8
    pairs = settings_of(found)
    assert [(one.parameters["size"], one.cpus) for one in pairs] == [
        ("4", 1),
        ("4", 2),
        ("40", 1),
        ("40", 2),
    ]
    for one in pairs:
        assert found[one.short].parameters["N"] == "100"  # type: ignore[index]
        assert found[one.point].parameters["N"] == "300"
    assert [one.ops for one in pairs] == [800, 800, 8000, 8000]
    assert all(pair.varied == ["size", "vCPUs"] for pair in pairs)
    assert pairs[-1].title == "size 40, vCPUs 2"
    (only,) = settings_of(made({}, command=["./w", "{N}"], difference="N=0,300"))
    assert only.ops == 300


NUMBERS = st.lists(st.integers(2, 10**6), min_size=1, max_size=5, unique=True)


@given(NUMBERS, st.lists(st.integers(1, 8), min_size=1, max_size=2, unique=True), st.booleans())
def test_each_point_without_marks_has_a_shorter_one(
    numbers: list[int], cpus: list[int], sized: bool
) -> None:
    """The points that were asked for are the settings; equal points are one."""
    parameters = {"iters": list(map(str, numbers))} | ({"size": ["4", "40"]} if sized else {})
    found = made(parameters, cpus, ops="3 * {iters}", whole=True)
    asked = made(parameters, cpus, ops="3 * {iters}")
    assert [m.replace(point, shorter=None) for point in found[: len(asked)]] == asked
    assert len({(tuple(p.parameters.items()), p.cpus) for p in found}) == len(found)
    assert {one.point for one in settings_of(found)} == set(range(len(asked)))
    for one in settings_of(found):
        long, short = found[one.point], found[one.short]  # type: ignore[index]
        half = int(long.parameters["iters"]) // 2
        assert short == m.replace(
            short, parameters={**long.parameters, "iters": str(half)}, cpus=long.cpus, ops=3 * half
        )
        assert one.ops == long.ops - short.ops  # type: ignore[operator]
    titles = points.titles(m.replace(manifest(["a", "b"]), points=found))
    assert len(set(titles)) == len(found)


def test_the_number_of_operations_is_a_parameter() -> None:
    found = found_of({}, ops="200", command=["./w", "400", "{ops}"], whole=True)
    assert [(p.parameters, p.ops, p.shorter) for p in found.every] == [
        ({"ops": "200"}, 200, 1),
        ({"ops": "100"}, 100, None),
    ]
    assert "half of {ops}" in str(found.note)
    product = made({"n": ["4", "6"]}, ops="{n} * 50", command=["./w", "{ops}"], whole=True)
    assert [(p.parameters["ops"], p.ops) for p in product] == [
        ("200", 200),
        ("300", 300),
        ("100", 100),
        ("150", 150),
    ]
    # With marks, or where it was said so, nothing is subtracted.
    for more in ({}, {"difference": "none", "whole": True}):
        plain = found_of({}, ops="200", command=["./w", "{ops}"], **more)
        assert [(p.parameters, p.ops, p.shorter) for p in plain.every] == [
            ({"ops": "200"}, 200, None)
        ]
        assert plain.note is None


@pytest.mark.parametrize(
    ("parameters", "options", "words"),
    [
        ({}, {"ops": "200", "command": ["./w", "400", "200"]}, "-- ./w 400 '{ops}'"),
        ({}, {"ops": "200", "command": ["./w", "200", "200"]}, "write {ops} for the number"),
        ({}, {"ops": "200", "command": ["./w", "x"]}, "write {ops} for the number"),
        ({}, {"command": ["./w", "400"]}, "the number behind --ops"),
        ({"n": ["4"]}, {}, "if n is the number of operations, add --ops '{n}'"),
        ({"n": ["4"], "m": ["5"]}, {}, "if a parameter is the number of operations, add --ops"),
        ({"n": ["4"]}, {"command": ["./w", "{n}", "100"]}, "write {ops} in its place"),
        ({"a": ["4"], "b": ["5"]}, {"ops": "{a} * {b}"}, "--difference a or --difference b"),
        ({"n": ["4", "1"]}, {"ops": "{n}"}, "n is 1, so it has no half"),
        ({"n": ["4k"]}, {"ops": "4", "command": ["./w", "{n}"]}, "write {ops}"),
    ],
)
def test_what_is_not_halved_is_said(parameters: Any, options: Any, words: str) -> None:
    found = found_of(parameters, whole=True, **options)
    assert all(point.shorter is None for point in found.every)
    assert "whole command, start-up included" in str(found.note)
    assert words in str(found.note)


def test_what_is_called_ops_is_the_number_of_operations() -> None:
    swept = made({"ops": ["100", "200"]}, whole=True)
    assert [(p.ops, p.shorter) for p in swept] == [(100, 2), (200, 0), (50, None)]
    fixed = made({}, command=["./w", "{ops}"], difference="ops=20,60")
    assert [one.ops for one in settings_of(fixed)] == [40]


def test_a_command_without_numbers_needs_no_advice() -> None:
    said = "the counts are of the whole command, start-up included"
    assert found_of({}, command=["./build.sh", "all"], whole=True).note == said


def test_one_of_two_factors_is_the_length_if_it_is_named() -> None:
    both = {"size": ["4", "40"], "iters": ["100", "10"]}
    found = made(both, zipped=True, ops="{size} * {iters}", difference="iters")
    assert [one.ops for one in settings_of(found)] == [200, 200]
    alone = made({"iters": ["100"]}, difference="iters")
    assert [one.ops for one in settings_of(alone)] == [50]


def test_timed_runs_keep_the_length_that_was_asked_for() -> None:
    found = made({"iters": ["100", "10"]}, ops="{iters}", whole=True)
    both = m.replace(manifest(["a", "b"]), points=found, collectors=["exact", "timed"])
    assert points.recorded_at(both, "exact") == [0, 1, 2, 3]
    assert points.recorded_at(both, "timed") == [0, 1]
    assert points.recorded_at(m.replace(both, collectors=["timed"]), "timed") == [0, 1, 2, 3]


def test_operations_that_cancel_are_refused() -> None:
    """Else all of the difference would be taken for the cost of one."""
    with pytest.raises(InputError, match=r"--ops 40: .*multiply by \{N\}"):
        made({}, difference="N=100,300", command=["./w", "{N}"], ops="40")


@dataclass(frozen=True)
class Recorder:
    """A collector that is only asked for its name."""

    collector: Collector = registry.collector("exact")  # noqa: RUF009
    alone: bool = False


def pending(described: m.Manifest) -> list[schedule.PendingRun]:
    kernels = [KernelFiles(kernel.label, kernel.spec) for kernel in described.kernels]
    return schedule.missing_runs(described, kernels, [Recorder()])  # type: ignore[list-item]


def test_each_round_has_every_cell_in_a_drawn_order() -> None:
    described = m.replace(
        manifest(["a", "b", "c"]),
        runs=[],
        repeat=6,
        points=[m.Point({"n": str(n)}, 1) for n in range(3)],
    )
    order = [(run.kernel.label, run.point) for run in pending(described)]
    assert order == [(run.kernel.label, run.point) for run in pending(described)]
    rounds = [order[at : at + 9] for at in range(0, len(order), 9)]
    assert len(rounds) == 6
    assert all(len(set(one)) == 9 for one in rounds)
    assert len({tuple(one) for one in rounds}) > 1
    # No kernel is always first.
    assert len({one[0][0] for one in rounds}) > 1
    other = m.replace(described, order=m.Order(seed=1))
    assert order != [(run.kernel.label, run.point) for run in pending(other)]
    assert Counter(order) == Counter((run.kernel.label, run.point) for run in pending(other))


def test_only_what_is_missing_runs_and_failed_runs_are_numbered_on() -> None:
    described = manifest(["a", "b"], runs=2, failed=["b"])
    assert pending(described) == []
    more = pending(m.replace(described, repeat=3))
    assert sorted((run.kernel.label, run.repetition, run.id) for run in more) == [
        ("a", 3, "a-3"),
        ("b", 4, "b-4"),
    ]


def test_the_twin_has_repetitions_of_its_own() -> None:
    described = manifest(["a", "a.aa", "b"])
    twin = m.replace(described.kernels[1], twin_of="a")
    kernels = [described.kernels[0], twin, described.kernels[2]]
    described = m.replace(described, kernels=kernels, runs=[], repeat=2, twin_repeat=4)
    assert Counter(run.kernel.label for run in pending(described)) == {"a": 2, "a.aa": 4, "b": 2}


def test_time_left_rests_on_what_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    described = m.replace(manifest(["a", "b"]), repeat=3)
    first, second = described.runs
    runs = [m.replace(first, wall_seconds=4), m.replace(second, wall_seconds=9)]
    known = m.replace(described, runs=runs)
    found = schedule.estimate(known, pending(known), 2)
    # Four runs, two at a time; of two runs, others may take a third more, or less.
    wide = pytest.approx(4 * 9 * 4 / 3)
    assert (found.low, found.high * 2, found.basis) == (pytest.approx(4 * 4 * 3 / 4 / 2), wide, 2)
    alone = [replace(run, recorder=Recorder(alone=True)) for run in pending(known)]
    assert schedule.estimate(known, alone, 2).high == wide
    # An earlier recording counts only until this one has a run: it may have had less to share.
    later = schedule.estimate(known, pending(known), 1, since=1)
    assert later.low < 4 * 9 < later.high
    assert later.basis == 1
    assert schedule.estimate(known, pending(known), 1, since=2).basis == 2
    fresh = m.replace(described, runs=[])
    monkeypatch.setattr("os.getloadavg", lambda: (0.0, 0.0, 0.0))
    quiet = schedule.estimate(fresh, pending(fresh), 1)
    monkeypatch.setattr("os.getloadavg", lambda: (40.0, 0.0, 0.0))
    loaded = schedule.estimate(fresh, pending(fresh), 1)
    assert quiet.basis == loaded.basis == 0
    assert quiet.low < quiet.high < loaded.high


def test_time_left_is_that_of_the_points_that_are_left() -> None:
    """Points differ in how much they do: those that ran say nothing of the others if there is
    something better."""
    described = m.replace(
        manifest(["a", "b"]), points=[m.Point({"n": n}, 1) for n in ("1", "2")], repeat=2
    )
    runs = [
        m.replace(run, id=f"{run.id}-p{point}", point=point, wall_seconds=seconds)
        for run in described.runs
        for point, seconds in enumerate((5.0, 100.0))
    ]
    known = m.replace(described, runs=runs)
    left = [run for run in pending(known) if run.point == 0]
    assert schedule.estimate(known, left, 1).high == pytest.approx(5.0 * len(left) * 4 / 3)


@given(st.floats(0, 10**7), st.floats(0, 10**7))
def test_a_range_of_durations_names_both_ends(one: float, other: float) -> None:
    low, high = sorted((one, other))
    told = units.span(low, high)
    assert told == units.span(low, low) or " to " in told
    assert told.endswith(units.span(high, high).split()[1])


def test_durations() -> None:
    assert units.span(40, 40.4) == "40 s"
    assert units.span(230, 545) == "4 to 9 min"
    assert units.span(50, 170) == "50 s to 3 min"
    assert units.span(4000, 9000) == "67 min to 2.5 h"
