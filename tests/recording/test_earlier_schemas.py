"""Sessions of earlier schemas: what they said elsewhere is stated, the rest is the same."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from synthetic import manifest

from profdiff.base.errors import SessionError
from profdiff.session import manifest as m
from profdiff.session.points import settings
from profdiff.session.session import Session

QEMU = {
    "version": "QEMU emulator version 7.2.22",
    "arguments": ["/usr/bin/qemu-system-aarch64", "-accel", "tcg", "-icount", "shift=0"],
    "plugin_api": None,
}
PERF = {
    "version": "6.1",
    "command": ["/usr/bin/perf", "record", "-e", "cycles", "-c", "10007", "--", "true"],
    "events": ["cycles"],
    "fallback": None,
    "virtual_time": True,
}


def first(**more: Any) -> dict[str, Any]:
    """A manifest as the first schema had it."""
    made: dict[str, Any] = msgspec.to_builtins(manifest(["base", "new"]))
    del made["options"]
    for run in made["runs"]:
        del run["sampling"]
        run |= {"qemu": QEMU, "perf": PERF}
    return {**made, "schema": "profdiff.session/1", **more}


def opened(folder: Path, content: dict[str, Any]) -> m.Manifest:
    (folder / "manifest.json").write_text(json.dumps(content))
    return Session.open(folder).manifest


def test_facts_come_from_command_lines(tmp_path: Path) -> None:
    perf = {"events": ["cycles"], "period": 7, "call_graph": "lbr", "arguments": ["-a"]}
    old = first(call_tree=False, boot_runs=3, metrics=["values:x"], perf=perf)
    found = opened(tmp_path, old)
    assert found.schema == m.SCHEMA
    assert found.boot_runs == 3
    assert found.options == {
        "call_tree": False,
        "boot_runs": 3,
        "metrics": ["values:x"],
        "events": ["cycles"],
        "count": 7,
        "frequency": None,
        "call_graph": "lbr",
        "perf_args": ["-a"],
    }
    (run, _) = found.runs
    assert run.qemu
    assert (run.qemu.accelerator, run.qemu.architecture) == ("tcg", "aarch64")
    assert run.qemu.virtual_clock
    assert run.sampling
    assert run.sampling.command == PERF["command"]
    assert (run.sampling.events, run.sampling.virtual_time) == (["cycles"], True)
    assert [one.label for one in found.kernels] == ["base", "new"]


def test_what_perf_samples_unless_it_is_told(tmp_path: Path) -> None:
    found = opened(tmp_path, first(perf={"events": ["cycles", "instructions"], "frequency": 99}))
    assert (found.options["events"], found.options["frequency"]) == (None, 99)


@pytest.mark.parametrize("more", [{"options": 1}, {"call_tree": "x"}, {"perf": 3}, {"x": 1}])
def test_reading_is_as_strict(tmp_path: Path, more: dict[str, Any]) -> None:
    with pytest.raises(SessionError, match="damaged"):
        opened(tmp_path, first(**more))


def test_a_collector_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="there is no collector nonsense"):
        opened(tmp_path, first(collectors=["nonsense"]))


def second(points: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A manifest as the second schema had it."""
    made: dict[str, Any] = msgspec.to_builtins(manifest(["base", "new"]))
    return {**made, "schema": "profdiff.session/2", "points": points, **more}


@pytest.mark.parametrize(("ops", "found_ops"), [(None, 2), (300, 600)])
def test_lengths_that_were_said_once_are_said_by_points(
    tmp_path: Path, ops: int | None, found_ops: int
) -> None:
    """An op was an iteration where --ops did not say otherwise."""
    listed = [
        {"parameters": {"size": size, "N": length}, "cpus": 1, "ops": ops and ops * int(length)}
        for size in ("4", "40")
        for length in ("1", "3")
    ]
    lengths = {"parameter": "N", "short": 1, "long": 3}
    found = opened(tmp_path, second(listed, difference=lengths))
    assert found.schema == m.SCHEMA
    assert [point.shorter for point in found.points] == [None, 0, None, 2]
    assert [one.ops for one in settings(found)] == [found_ops] * 2
    assert [one.title for one in settings(found)] == ["size 4", "size 40"]
    # A length is no number of operations if that number is none.
    started = [{"parameters": {"N": "0"}, "cpus": 1}, {"parameters": {"N": "9"}, "cpus": 1}]
    lengths = {"parameter": "N", "short": 0, "long": 9}
    (only,) = settings(opened(tmp_path, second(started, difference=lengths)))
    assert (only.point, only.short, only.ops) == (1, 0, 9)


def test_without_lengths_points_are_what_they_were(tmp_path: Path) -> None:
    for fields in ({}, {"difference": None}):
        found = opened(tmp_path, second([{"parameters": {}, "cpus": 2, "ops": 5}], **fields))
        assert found.points == [m.Point(cpus=2, ops=5)]


@pytest.mark.parametrize("shorter", [0, 1, 2, 9])
def test_lengths_that_do_not_fit_are_refused(tmp_path: Path, shorter: int) -> None:
    """Of itself, of as many operations, of more, of no point."""
    listed = [
        m.Point({"n": "5"}, 1, 5, shorter=shorter),
        m.Point({"n": "5"}, 2, 5),
        m.Point({"n": "6"}, 1, 6),
    ]
    made = msgspec.to_builtins(m.replace(manifest(["base", "new"]), points=listed))
    with pytest.raises(SessionError, match="lengths do not fit"):
        opened(tmp_path, made)
