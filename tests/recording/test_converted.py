"""What scripts/convert-recordings makes of recordings of earlier formats."""

import json
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from support import ROOT, profdiff, unclaimed
from synthetic import manifest
from synthetic_session import exact_session

from profdiff.base.errors import SessionError
from profdiff.session import manifest as m
from profdiff.session.points import settings
from profdiff.session.session import Session
from profdiff.symbolization import column_file

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


def convert(folder: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, ROOT / "scripts/convert-recordings", folder]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def opened(folder: Path, content: dict[str, Any]) -> m.Manifest:
    """What is opened once it is converted, and not before."""
    (folder / "manifest.json").write_text(json.dumps(content))
    if content["schema"] != m.SCHEMA:
        with pytest.raises(SessionError, match="record again, or convert it with scripts/convert-"):
            Session.open(folder)
    done = convert(folder)
    assert done.stdout == f"{folder} has schema {m.SCHEMA}\n", done.stderr
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


@pytest.mark.parametrize("more", [{"call_tree": {}}, {"x": 1}, {"collectors": ["nonsense"]}])
def test_what_cannot_be_converted_is_said(tmp_path: Path, more: dict[str, Any]) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps(first(**more)))
    done = convert(tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"{tmp_path} cannot be converted: ")
    assert done.stderr.endswith(": record again\n") and done.stderr.count("\n") == 1


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


def test_files_of_earlier_formats(tmp_path: Path) -> None:
    """Counts without tables, chains without code: the report is the same; and what is converted
    stays as it is."""
    folder = tmp_path / "s.profdiff"
    made = exact_session(folder)
    shown = profdiff("report", folder).stdout
    for run in made.manifest.runs:
        path = folder / run.files["counts"]
        data = path.read_bytes()
        path.write_bytes(data[:8] + struct.pack("<I", 1) + data[12:48] + data[112:])
    for kernel in made.manifest.kernels:
        path = folder / (kernel.symbols or "")
        with np.load(path) as file:
            columns = {name: file[name] for name in file.files}
        for name in ("blind", "unread", "code"):
            del columns[name]
        columns |= {"format": np.array([1], np.uint32), "inlines_visible": np.array([True])}
        column_file.write(path, columns)
    unclaimed(folder)
    content = json.loads((folder / "manifest.json").read_text())
    for run in content["runs"]:
        del run["instructions"]["each_iteration"]
    content["functions"] = "symbols/functions.npz"
    (folder / "symbols/functions.npz").write_bytes(b"of another format")
    content |= {"schema": "profdiff.session/2", "checksum": None, "checksums": {}}
    (folder / "manifest.json").write_text(json.dumps(content))
    assert convert(tmp_path).returncode == 0
    assert profdiff("report", folder).stdout == shown
    found = Session.open(folder).manifest
    told = ["counts each iteration of a repeated string instruction"]
    assert [run.remarks for run in found.runs] == [told] * 2
    assert found.functions is None and found.checksums and found.checksum is None
    files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert convert(tmp_path).returncode == 0
    assert files == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_is_damaged_is_not_converted(tmp_path: Path) -> None:
    made = exact_session(tmp_path / "s.profdiff")
    path = made.folder / made.manifest.runs[0].files["counts"]
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    done = convert(tmp_path)
    assert done.returncode == 2 and "is damaged: its content is not what was written" in done.stderr
