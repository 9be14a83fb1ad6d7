"""What a lab answers, as ``kernelci.runtime.pull_labs.Callback`` of kernelci-core reads it."""

import base64
import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from profdiff.base import bounded
from profdiff.base.errors import in_line
from profdiff.commands.lab.counting import Counted
from profdiff.commands.lab.job import Job

OWN = "profdiff"
"""The type of tests that conditions are, and the name of one that the job did not ask for."""
_LOG = 1 << 20
_STATUSES = {"PASS": "pass", "FAIL": "fail", "DONE": "skip", "MISS": "error"}


class _Number(msgspec.Struct):
    value: float


class _Row(msgspec.Struct):
    path: str
    comment: str
    status: str
    number: _Number | None = None


class _Submitted(msgspec.Struct):
    tests: Annotated[list[_Row], msgspec.Meta(max_length=10**6)]


def made(job: Job, counted: Counted, judged: Path | None, log: Path, milliseconds: int) -> bytes:
    """The answer to a job. ``judged``: the submission to KCIDB that ``check`` wrote, None if
    nothing could be judged."""
    conditions = _conditions(judged)
    tests: dict[str, dict[str, object]] = {}
    for test in job.tests:
        if test.type == OWN:
            tests[test.id] = conditions
        elif test.type == "boot":
            status = {True: "pass", False: "fail", None: "error"}[counted.booted]
            tests[test.id] = {"status": status, "duration_ms": milliseconds}
        else:
            tests[test.id] = {"status": "skip"}
    if not any(test.type == OWN for test in job.tests):
        tests[OWN] = conditions
    statuses = [one["status"] for one in tests.values()]
    found: dict[str, object] = {
        "tests": tests,
        "summary": {
            "total": len(statuses),
            "passed": statuses.count("pass"),
            "failed": statuses.count("fail"),
            "skipped": statuses.count("skip"),
        },
        "metadata": {"system": job.environment.platform},
        "artifacts": {"log": _packed(log)},
    }
    if counted.booted is None:
        found |= {"error_code": "Infrastructure", "error_msg": in_line(counted.why)}
    return msgspec.json.encode(found)


def _conditions(judged: Path | None) -> dict[str, object]:
    """A test with one below it for each condition, by its path in KCIDB."""
    if judged is None:
        return {"status": "error"}
    rows = msgspec.json.decode(bounded.read_json(judged, 256 << 20), type=_Submitted).tests
    below: dict[str, dict[str, object]] = {}
    for row in rows:
        number = 2
        name = row.path
        while name in below:
            name, number = f"{row.path}~{number}", number + 1
        below[name] = {"status": _STATUSES[row.status]}
        if row.number is not None:
            below[name]["metrics"] = {"value": row.number.value}
    return {"status": _worst([one["status"] for one in below.values()]), "subtests": below}


def _worst(statuses: Sequence[object]) -> str:
    return next((one for one in ("fail", "error", "pass") if one in statuses), "skip")


def _packed(log: Path) -> str:
    """The end of a log, as the protocol carries it: gzip in base64."""
    try:
        with log.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _LOG))
            data = file.read(_LOG)
    except FileNotFoundError:
        return ""
    return f"base64:{base64.b64encode(gzip.compress(data, mtime=0)).decode()}"
