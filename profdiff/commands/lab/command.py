"""``profdiff lab``: kernels that KernelCI wants tested, counted here."""

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import click

from profdiff.base.errors import ProfdiffError, in_line
from profdiff.base.terminal import tell
from profdiff.commands.command import command
from profdiff.commands.output_types import OUTPUT_FOLDER

if TYPE_CHECKING:
    from profdiff.commands.lab.job import Announced
    from profdiff.commands.lab.server import Servers

_FIRST = "1970-01-01T00:00:00.000000"
# Of a list of events: a server may have a newer one each time.
_PAGES, _SECONDS, _JOBS = 100, 1800.0, 10_000
_ENDLESS = "the list of events has no end yet: what it has so far is done first"


@command()
@click.argument("experiment", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--server",
    required=True,
    metavar="URL",
    help="Poll this API for jobs: https://api.kernelci.org/latest.",
)
@click.option(
    "--allow",
    "allowed",
    multiple=True,
    metavar="URL",
    help="Talk to this server, too: fetch job definitions and kernels there, and send answers "
    "there. Can be repeated.",
)
@click.option("--base", required=True, metavar="SPEC", help="Compare each job's kernel with this.")
@click.option(
    "--fail-if",
    "conditions",
    multiple=True,
    required=True,
    metavar="CONDITION",
    help="Report a failure if this condition of profdiff check holds. Can be repeated.",
)
@click.option(
    "--origin",
    required=True,
    metavar="NAME",
    help="What KernelCI calls this lab in its results database.",
)
@click.option("--platform", metavar="NAME", help="Take only jobs for this platform.")
@click.option("--runtime", metavar="NAME", help="Take only jobs for this runtime (lab).")
@click.option(
    "--timeout",
    type=click.FloatRange(1),
    default=3600.0,
    show_default=True,
    metavar="SECONDS",
    help="End a recording that takes longer, even if the job allows more.",
)
@click.option(
    "--interval",
    type=click.FloatRange(1),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="Wait so long where nothing is new.",
)
@click.option("--once", is_flag=True, help="Do the jobs that wait now, and end.")
@click.option(
    "-o",
    "--output",
    type=OUTPUT_FOLDER,
    default=Path("lab"),
    show_default=True,
    metavar="DIR",
    help="Keep each job in a folder of its own below this one.",
)
def lab(
    experiment: Path,
    server: str,
    allowed: tuple[str, ...],
    base: str,
    conditions: tuple[str, ...],
    origin: str,
    platform: str | None,
    runtime: str | None,
    timeout: float,
    interval: float,
    once: bool,
    output: Path,
) -> None:
    """Run a pull lab for KernelCI: poll its API for jobs, boot each job's kernel beside the base,
    count the workload of EXPERIMENT on both, and send the answer to the job's callback.

    EXPERIMENT is an experiment file or a suite's, without kernels. The lab runs nothing that a job
    brings but its kernel, in a guest. PROFDIFF_LAB_TOKEN is the token for callbacks. Each job's
    folder keeps the session, the log, the answer, and a submission to KCIDB; a job that has an
    answer is not done again.
    """
    from profdiff.commands.lab.bench import Bench
    from profdiff.commands.lab.counting import TOKEN
    from profdiff.commands.lab.server import Servers
    from profdiff.evidence.conditions.condition import Condition
    from profdiff.reports.checks.kcidb import Submission

    # What is wrong with the command line shows before the first job.
    for text in conditions:
        Condition.parse(text)
    Submission.parse(origin, [])
    servers = Servers([server, *allowed], os.environ.get(TOKEN, ""))
    bench = Bench(servers, output, experiment, base, conditions, origin, timeout)
    since = _FIRST
    while True:
        jobs, since = _waiting(servers, server, since, patient=not once)
        for job in jobs:
            mine = platform in (None, job.platform) and runtime in (None, job.runtime)
            if mine:
                bench.do(job)
        if once:
            return
        time.sleep(interval)


def _waiting(
    servers: "Servers", server: str, since: str, *, patient: bool
) -> "tuple[list[Announced], str]":
    """The jobs that wait, and the time of the last event: of all pages, or of as many as there may
    be. ``patient``: a server that does not answer is only told. Raises ProfdiffError otherwise."""
    from profdiff.commands.lab.job import announced
    from profdiff.commands.lab.server import EVENTS

    found: list[Announced] = []
    began = time.monotonic()
    for _ in range(_PAGES):
        asked = {"state": "done", "kind": "job", "limit": 1000, "recursive": "true", "from": since}
        page = f"{server.rstrip('/')}/events?{urlencode(asked)}"
        try:
            jobs, last = announced(servers.read(page, EVENTS))
        except ProfdiffError as error:
            if not patient:
                raise
            tell(in_line(str(error)))
            break
        found += jobs
        if last <= since:
            break
        since = last
        if time.monotonic() - began > _SECONDS or len(found) > _JOBS:
            tell(_ENDLESS)
            break
    else:
        tell(_ENDLESS)
    return found, since
