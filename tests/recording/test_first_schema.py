"""Sessions of the first schema: what they left to command lines is stated, the rest is the same."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from synthetic import manifest

from profdiff.base.errors import SessionError
from profdiff.session import manifest as m
from profdiff.session.folder import Session

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
