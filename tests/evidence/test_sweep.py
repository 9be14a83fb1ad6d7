"""Points of a sweep, their order, and settings made of them."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic import manifest

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


def made(parameters: Any, cpus: Any = (1,), **options: Any) -> list[m.Point]:
    words = options.pop("command", command(parameters))
    texts = [f"{name}={','.join(values)}" for name, values in parameters.items()]
    chosen = {"zipped": False, "ops": None, "difference": None, **options}
    asked = sweep.Asked(texts, cpus=cpus, **chosen)
    return sweep.points(asked, words, in_guests=True)


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
        (lambda: made({"size_kib": ["4"]}, command=["./w", "{size_kb}"]), "it has {size_kb}"),
        (lambda: made({"size": ["4"]}, command=["./w"]), "does not use {size}"),
        (lambda: made({"size": ["x"]}, ops="{size}*2"), "'x' is not a number"),
        (lambda: made({}, ops="9" * 19), "not a number"),
        (lambda: made({}, ops="999999999999*999999999999"), "more than can be counted"),
        (lambda: made({}, ops="0"), "not a number"),
        (lambda: sweep.parse_difference("N=2,1"), "SHORT,LONG"),
        (lambda: sweep.parse_difference("N=1"), "SHORT,LONG"),
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


def test_a_difference_pairs_points() -> None:
    difference = sweep.parse_difference("N=100,300")
    parameters = {"size": ["4", "40"]}
    found = made(
        parameters,
        (1, 2),
        difference="N=100,300",
        command=["./w", "{size}", "{N}"],
        ops="{size} * {N}",
    )
    assert len(found) == 8
    described = m.replace(manifest(["a", "b"]), points=found, difference=difference)
    pairs = points.settings(described)
    assert [(one.parameters, one.cpus) for one in pairs] == [
        ({"size": "4"}, 1),
        ({"size": "4"}, 2),
        ({"size": "40"}, 1),
        ({"size": "40"}, 2),
    ]
    for one in pairs:
        assert found[one.short].parameters["N"] == "100"  # type: ignore[index]
        assert found[one.point].parameters["N"] == "300"
    assert [one.ops for one in pairs] == [800, 800, 8000, 8000]
    assert all(pair.varied == ["size", "vCPUs"] for pair in pairs)
    assert pairs[-1].title == "size 40, vCPUs 2"


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


def test_time_left_rests_on_what_ran() -> None:
    described = m.replace(manifest(["a", "b"]), repeat=3)
    seconds, known = schedule.seconds_left(described, pending(described), 2)
    assert seconds == pytest.approx(4 * 6.5 / 2)
    assert known == 2
    fresh = m.replace(described, runs=[])
    assert schedule.seconds_left(fresh, pending(fresh), 1)[1] == 0
    alone = [replace(run, recorder=Recorder(alone=True)) for run in pending(described)]
    assert schedule.seconds_left(described, alone, 2)[0] == pytest.approx(4 * 6.5)
