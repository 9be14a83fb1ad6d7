"""The suite that comes along: its files, and the cells of each workload."""

import itertools
import math
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support import ROOT

FOLDER = ROOT / "examples/suite"


def files() -> list[Path]:
    """What ``--suite syscalls`` is made of."""
    return [
        FOLDER / name for name in tomllib.loads((FOLDER / "syscalls.toml").read_text())["include"]
    ]


def workloads(file: Path) -> list[dict[str, Any]]:
    return list(tomllib.loads(file.read_text())["workload"])


def cells(workload: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Each cell's values, joined by commas, and the command that it runs."""
    sweep = workload.get("sweep", {})
    for values in itertools.product(*sweep.values()):
        words = dict(zip(sweep, map(str, values), strict=True)) | {"ops": str(workload["ops"])}
        yield ",".join(map(str, values)), [word.format(**words) for word in workload["command"]]


def count(workload: dict[str, Any]) -> int:
    return math.prod(len(values) for values in workload.get("sweep", {}).values())
