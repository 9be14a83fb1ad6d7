"""A pull lab for KernelCI: poll its API for jobs, boot each job's kernel beside the base, count the
workload of EXPERIMENT on both, and send the answer to the job's callback.

The lab runs nothing that a job brings but its kernel, in a guest. PROFDIFF_LAB_TOKEN is the token
for callbacks. A job that has an answer is not done again.
"""

import argparse
import base64
import gzip
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from .counting import TOKEN, Counted, counted, run
from .jobs import Announced, Job, announced, decoded
from .kcidb import UsageError, named_builds
from .servers import DEFINITION, EVENTS, LabError, Servers, line

OWN = "profdiff"
"""The type of tests that conditions are, and the name of one that the job did not ask for."""
STATUSES = {"PASS": "pass", "FAIL": "fail", "DONE": "skip", "MISS": "error"}
# Bytes of a log's end; seconds that a check may take.
LOG, CHECKING = 1 << 20, 600.0
# Of a list of events: a server may have a newer one each time.
PAGES, LISTING, JOBS = 100, 1800.0, 10_000
KCIDB = Path(__file__).resolve().with_name("kcidb.py")


def main(words: Sequence[str] | None = None) -> int:
    asked = parsed(words)
    try:
        servers = Servers([asked.server, *asked.allow], os.environ.get(TOKEN, ""))
        lab = Lab(servers, asked)
        since = "1970-01-01T00:00:00.000000"
        while True:
            try:
                jobs, since = waiting(servers, asked.server, since)
            except LabError as error:
                if asked.once:
                    raise
                say(str(error))
                jobs = []
            for job in jobs:
                if asked.platform in (None, job.platform) and asked.runtime in (None, job.runtime):
                    lab.do(job)
            if asked.once:
                return 0
            time.sleep(asked.interval)
    except (LabError, UsageError) as error:
        say(str(error))
        return 2


def parsed(words: Sequence[str] | None) -> argparse.Namespace:
    first, _, more = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(prog="pull_lab", description=first, epilog=more)
    say = parser.add_argument
    say("experiment", type=Path, help="an experiment file or a suite's")
    say("--server", required=True, metavar="URL", help="poll this API for jobs")
    say(
        "--allow",
        action="append",
        default=[],
        metavar="URL",
        help="talk to this server, too: fetch job definitions and kernels there, and send answers",
    )
    say("--base", required=True, metavar="SPEC", help="compare each job's kernel with this")
    say(
        "--fail-if",
        action="append",
        required=True,
        metavar="CONDITION",
        help="report a failure if this condition of profdiff check holds",
    )
    say("--origin", required=True, metavar="NAME", help="what KernelCI calls this lab in KCIDB")
    say("--platform", metavar="NAME", help="take only jobs for this platform")
    say("--runtime", metavar="NAME", help="take only jobs for this runtime (lab)")
    say("--timeout", type=float, default=3600.0, help="seconds that a recording may take")
    say("--interval", type=float, default=30.0, help="seconds to wait where nothing is new")
    say("--once", action="store_true", help="do the jobs that wait now, and end")
    say("-o", "--output", type=Path, default=Path("lab"), help="the folder of all jobs")
    return parser.parse_args(words)


def waiting(servers: Servers, server: str, since: str) -> tuple[list[Announced], str]:
    """The jobs that wait, and the time of the last event: of all pages, or of as many as there may
    be."""
    found: list[Announced] = []
    began = time.monotonic()
    for _ in range(PAGES):
        asked = {"state": "done", "kind": "job", "limit": 1000, "recursive": "true", "from": since}
        page = f"{server.rstrip('/')}/events?{urlencode(asked)}"
        jobs, last = announced(servers.read(page, EVENTS))
        found += jobs
        if last <= since:
            return found, since
        since = last
        if time.monotonic() - began > LISTING or len(found) > JOBS:
            break
    say("the list of events has no end yet: what it has so far is done first")
    return found, since


class Lab:
    """One job after the other, each in a folder of its own."""

    def __init__(self, servers: Servers, asked: argparse.Namespace) -> None:
        """Raises LabError or UsageError for conditions or an origin that nobody can read: before
        the first job, not behind it."""
        self._servers, self._asked = servers, asked
        named_builds(asked.origin, [])
        asked.output.mkdir(parents=True, exist_ok=True)
        log = asked.output / "log"
        # What is not there cannot be judged, which is another status.
        words = ["-m", "profdiff", "check", str(asked.output / "none"), *self._conditions]
        if run(words, log, CHECKING) == 2:
            raise LabError(log.read_text().splitlines()[-1])

    def do(self, announced: Announced) -> None:
        """Do a job, unless it is done, and send its answer. What goes wrong with one job is told,
        and does not end the lab."""
        folder: Path = self._asked.output / announced.node
        if (folder / "sent").exists():
            return
        try:
            folder.mkdir(exist_ok=True)
            definition = self._servers.read(announced.definition, DEFINITION)
            job = decoded(definition, Job, "the job definition")
            if not (folder / "answer.json").exists():
                say(f"{announced.node}: {job.environment.platform}")
                (folder / "job.json").write_bytes(definition)
                written = folder / "part"
                written.write_bytes(self._answer(job, folder))
                written.replace(folder / "answer.json")
            self._servers.post(job.callback.url, (folder / "answer.json").read_bytes())
            (folder / "sent").touch()
        except (LabError, OSError) as error:
            say(f"{announced.node}: {error}")

    def _answer(self, job: Job, folder: Path) -> bytes:
        started = time.monotonic()
        asked, longest = self._asked, self._asked.timeout
        tests: list[dict[str, Any]] = []
        try:
            kernel, digest = job.artifacts.kernel, job.integrity.sha256.kernel
            self._servers.fetch(kernel, folder / "kernel", digest)
        except LabError as error:
            found = Counted(None, str(error))
        else:
            seconds = min(max((test.timeout_s for test in job.tests), default=longest), longest)
            found, session = counted(folder, asked.experiment, asked.base, seconds, longest)
            judged = folder / "kcidb.json"
            words = [str(KCIDB), str(session), *self._conditions, f"--origin={asked.origin}"]
            if found.ran and run(words, folder / "log", CHECKING, judged) in (0, 1, 125):
                tests = json.loads(judged.read_bytes())["tests"]
        said = {True: "boots", False: "fails", None: "nothing is known"}[found.ran]
        say(f"{folder.name}: {said}{f': {found.why}' if found.why else ''}")
        milliseconds = int(1000 * (time.monotonic() - started))
        return answer(job, found, tests, folder / "log", milliseconds)

    @property
    def _conditions(self) -> list[str]:
        return [f"--fail-if={one}" for one in self._asked.fail_if]


def answer(
    job: Job, found: Counted, rows: Sequence[dict[str, Any]], log: Path, milliseconds: int
) -> bytes:
    """What ``kernelci.runtime.pull_labs.Callback`` of kernelci-core reads. ``rows``: the tests of
    the submission to KCIDB, none if nothing could be judged."""
    conditions = judged_tests(rows)
    tests: dict[str, Any] = {}
    for test in job.tests:
        if test.type == OWN:
            tests[test.id] = conditions
        elif test.type == "boot":
            status = {True: "pass", False: "fail", None: "error"}[found.ran]
            tests[test.id] = {"status": status, "duration_ms": milliseconds}
        else:
            tests[test.id] = {"status": "skip"}
    if not any(test.type == OWN for test in job.tests):
        tests[OWN] = conditions
    statuses = [test["status"] for test in tests.values()]
    told: dict[str, Any] = {
        "tests": tests,
        "summary": {
            "total": len(statuses),
            "passed": statuses.count("pass"),
            "failed": statuses.count("fail"),
            "skipped": statuses.count("skip"),
        },
        "metadata": {"system": job.environment.platform},
        "artifacts": {"log": packed(log)},
    }
    if found.ran is None:
        told |= {"error_code": "Infrastructure", "error_msg": line(found.why)[:1000]}
    return json.dumps(told).encode()


def judged_tests(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A test with one below it for each condition, by its path in KCIDB."""
    if not rows:
        return {"status": "error"}
    below: dict[str, dict[str, Any]] = {}
    for row in rows:
        number, name = 2, row["path"]
        while name in below:
            name, number = f"{row['path']}~{number}", number + 1
        below[name] = {"status": STATUSES[row["status"]]}
        if "number" in row:
            below[name]["metrics"] = {"value": row["number"]["value"]}
    statuses = {one["status"] for one in below.values()}
    worst = next((one for one in ("fail", "error", "pass") if one in statuses), "skip")
    return {"status": worst, "subtests": below}


def packed(log: Path) -> str:
    """The end of a log, as the protocol carries it: gzip in base64."""
    if not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - LOG))
        data = file.read(LOG)
    return f"base64:{base64.b64encode(gzip.compress(data, mtime=0)).decode()}"


def say(text: str) -> None:
    print(line(text)[:1000], file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
