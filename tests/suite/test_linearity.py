"""What the suite counts between two kernels: the same per op with twice the ops, and the regression
of examples/mprotect-pte-batching.

A sample of the cells, of which a nightly run has 32 times as many. With PROFDIFF_WHOLE_SUITE, all
of them: a quarter of an hour.
"""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import extent
import pytest
import whole_run
from suite_cells import FOLDER, cells, files, workloads
from support import need_kernel, profdiff

WITHIN = 0.01
KERNELS = ("v6.12.107", "v7.1.8")
WHOLE = "PROFDIFF_WHOLE_SUITE" in os.environ
# Each so manyth cell is in the sample; one call records so many cells.
STEP, PART = 1 if WHOLE else 17 if extent.is_nightly() else 32 * 17, 100


def _toml(value: object) -> str:
    """What files of the suite hold is written in TOML as in JSON, but for tables."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(one)}" for key, one in value.items()) + " }"
    return json.dumps(value)


def _written(entries: list[dict[str, Any]]) -> str:
    return "\n".join(
        "[[workload]]\n" + "\n".join(f"{key} = {_toml(value)}" for key, value in entry.items())
        for entry in entries
    )


def _twice(workload: dict[str, Any]) -> dict[str, Any]:
    return workload | {"name": workload["name"] + ".twice", "ops": 2 * workload["ops"]}


def _entries() -> list[dict[str, Any]]:
    return [entry for file in files() for entry in workloads(file)]


def _recorded() -> dict[str, dict[str, Any]]:
    """Cells of the suite by name and, with ``.twice`` behind the workload's name, the same with
    twice the ops; recorded once for all tests."""
    kernels = [word for name in KERNELS for word in ("--kernel", f"{name}={need_kernel(name)}")]

    def record(folder: Path) -> None:
        shutil.copytree(FOLDER, folder / "suite", ignore=shutil.ignore_patterns("*.toml"))
        entries = [both for entry in _entries() for both in (entry, _twice(entry))]
        (folder / "suite/both.toml").write_text(_written(entries))
        common = ["--suite", "suite/both.toml", *kernels, "--no-call-tree", "--no-observe"]
        common += ["--vary-state", "0"]
        # The sample is of both lengths of a cell.
        every = [
            tuple(f"{name}/{values}" if values else name for name in (one["name"], two["name"]))
            for one, two in zip(entries[::2], entries[1::2], strict=True)
            for values, _ in cells(one)
        ]
        chosen = [
            pair
            for number, pair in enumerate(every)
            if number % STEP == 0 or pair[0] in ("mprotect/tmpfs,2m", "mprotect/anon,2m")
        ]
        # In parts, which continue each other: where much else runs, one call would take too long.
        for start in range(0, len(chosen), PART):
            names = [name for pair in chosen[start : start + PART] for name in pair]
            only = [word for name in names for word in ("--only", name)]
            profdiff("record", *common, "-o", "both.profdiff", *only, cwd=folder)
        profdiff("report", "both.profdiff", "--json", "both.json", cwd=folder)

    folder = whole_run.once("suite-at-two-lengths", record)
    document = json.loads((folder / "both.json").read_text())
    return {
        cell["name"]: cell
        for cell in document["cells"]
        if all(one["kind"] != "not recorded" for one in cell["missing"].values())
    }


@pytest.mark.usefixtures("qemu")
def test_counts_per_op_are_the_same_with_twice_the_ops() -> None:
    found = _recorded()
    nonlinear = {entry["name"] for entry in _entries() if "nonlinear" in entry}
    wrong: dict[str, float] = {}
    measured = 0
    for name, once in found.items():
        workload, slash, point = name.partition("/")
        if workload.endswith(".twice"):
            continue
        twice = found[f"{workload}.twice{slash}{point}"]
        for kernel in KERNELS:
            missing = [cell["missing"].get(kernel) for cell in (once, twice)]
            if any(missing):
                assert [one and one["kind"] for one in missing] == ["not there"] * 2, name
                continue
            measured += 1
            assert once["per_op"]
            relative = twice["values"][kernel] / once["values"][kernel] - 1
            if abs(relative) > WITHIN and workload not in nonlinear:
                wrong[f"{name} {kernel}"] = round(relative, 4)
    assert wrong == {}
    # Most of what the suite measures is in these kernels.
    assert measured >= 0.5 * len(found)
    assert len(found) >= (900 if WHOLE else 850 // STEP)


@pytest.mark.usefixtures("qemu")
def test_mprotect_is_among_the_first_rows() -> None:
    """Nobody named it: it is what got dearest."""
    changes = {
        name: cell["changes"][KERNELS[1]]["relative"]
        for name, cell in _recorded().items()
        if KERNELS[1] in cell["changes"] and ".twice" not in name
    }
    first = sorted(changes, key=lambda name: -changes[name])[: min(5, len(changes) // 2)]
    assert "mprotect/tmpfs,2m" in first
    # Writable file mappings lose most, since the kernel looks up each page's folio.
    assert changes["mprotect/tmpfs,2m"] > 0.3
    assert changes["mprotect/anon,2m"] > 0.05
