"""Experiment files, as far as they are read before anything is looked for or run."""

import warnings
from pathlib import Path

from support import ROOT

from fuzz.commands import REFUSALS
from fuzz.structured import in_lines
from fuzz.target import Target
from profdiff.collectors.workload.metrics import Wanted
from profdiff.commands.plan import plan
from profdiff.recording import sweep

_TOML = """\
kernel = { base = "debian:trixie", new = "./linux" }
collector = ["exact", "timed"]
sweep = { size = ["4", "8", "16"], mode = ["a", "b"] }
metric = ["latency:ns:lower=values:latency", "fio"]
ops = "100*{size}"
cpus = [2, 3]
copies = 2
repeat = 5
memory = "2G"
settle = 1.5
verify = true
call-tree = false
command = ["./work", "{size}", "{mode}"]
"""


def _toml_seeds() -> list[bytes]:
    real = sorted((ROOT / "examples").glob("*/profdiff.toml"))
    return [_TOML.encode(), *(file.read_bytes() for file in real)]


def _read_toml(data: bytes, folder: Path) -> None:
    """All that is done with an experiment file before anything is looked for or run."""
    (folder / "e.toml").write_bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        context = plan.make_context("plan", ["--experiment", str(folder / "e.toml")])
    given = context.params
    for text in given["metrics"]:
        Wanted.parse(text)
    names = ("sweep", "zipped", "difference", "ops", "cpus", "copies")
    asked = sweep.Sweep(*(given[name] for name in names))
    sweep.points(asked, given["command"], in_guests=True, whole=True)


TARGETS = (
    Target(
        "experiment-file",
        _toml_seeds,
        _read_toml,
        cases=600,
        refusals=REFUSALS,
        mutations=[in_lines],
        words=[
            b"[",
            b"]",
            b"=",
            b'"',
            b"{}",
            b'"""',
            b"1979-05-27",
            b"inf",
            b"0x",
            b"[[a]]\n",
            b"\\u",
        ],
    ),
)
