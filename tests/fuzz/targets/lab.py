"""What a pull lab reads of servers: events, and job definitions."""

import json
from pathlib import Path

from pull_labs_server import Server

from fuzz.target import Target
from profdiff.examples.kernelci.jobs import Job, announced, decoded
from profdiff.examples.kernelci.servers import LabError

_NODE = "65a1f0c2d3"


def _jobs() -> list[bytes]:
    return [json.dumps(Server("http://127.0.0.1").job(_NODE)).encode()]


def _events() -> list[bytes]:
    server = Server("http://127.0.0.1")
    server.announce(_NODE, server.job(_NODE), platform="qemu-x86_64", runtime="lab")
    return [json.dumps(server.events).encode()]


def _read_job(data: bytes, folder: Path) -> None:
    assert decoded(data, Job, "the job").artifacts.kernel


def _read_events(data: bytes, folder: Path) -> None:
    for job in announced(data)[0]:
        assert set(job.node) <= set("0123456789abcdef")


TARGETS = (
    Target("lab-job", _jobs, _read_job, cases=1000, refusals=(LabError,)),
    Target("lab-events", _events, _read_events, cases=1000, refusals=(LabError,)),
)
