"""One job after the other, each in a folder of its own."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from profdiff.base.atomic import write_atomic
from profdiff.base.errors import ProfdiffError, in_line, told
from profdiff.base.terminal import tell
from profdiff.collectors.architecture import named
from profdiff.commands.lab import answer, counting
from profdiff.commands.lab.job import Announced, Job
from profdiff.commands.lab.server import DEFINITION, ServerError, Servers


@dataclass(frozen=True)
class Bench:
    """What every job's kernel is put on: the ``base`` (a SPEC) beside it, the workload of
    ``experiment``, and ``conditions`` on what changed. ``origin``: the lab in KCIDB; ``longest``:
    seconds that a recording may take; ``folder``: of all jobs."""

    servers: Servers
    folder: Path
    experiment: Path
    base: str
    conditions: Sequence[str]
    origin: str
    longest: float

    def do(self, announced: Announced) -> None:
        """Do a job, unless it is done, and send its answer. What goes wrong with one job is told,
        and does not end the lab."""
        folder = self.folder / announced.node
        if (folder / "sent").exists():
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
            definition = self.servers.read(announced.definition, DEFINITION)
            job = Job.parse(definition)
            if not (folder / "answer.json").exists():
                tell(f"{announced.node}: {job.environment.platform}")
                write_atomic(folder / "job.json", definition)
                write_atomic(folder / "answer.json", self._answer(job, folder))
            self.servers.post(job.callback.url, (folder / "answer.json").read_bytes())
            (folder / "sent").touch()
        except (ProfdiffError, OSError) as error:
            tell(f"{announced.node}: {in_line(told(error))}")

    def _answer(self, job: Job, folder: Path) -> bytes:
        started = time.monotonic()
        counted = self._counted(job, folder)
        judged = None
        if counted.booted:
            session = counting.session_of(folder, self.experiment)
            judged = counting.check(session, self.conditions, self.origin)
        spent = int(1000 * (time.monotonic() - started))
        said = (
            "nothing is known" if counted.booted is None else "boots" if counted.booted else "fails"
        )
        tell(f"{folder.name}: {said}{f': {in_line(counted.why)}' if counted.why else ''}")
        return answer.made(job, counted, judged, folder / "log", spent)

    def _counted(self, job: Job, folder: Path) -> counting.Counted:
        if named(job.environment.arch) is None:
            return counting.Counted(None, "profdiff does not know the architecture")
        try:
            digest = job.integrity.sha256.get("kernel")
            self.servers.fetch(job.artifacts["kernel"], folder / "kernel", digest)
        except ServerError as error:
            return counting.Counted(None, str(error))
        asked = max((test.timeout_s for test in job.tests), default=self.longest)
        seconds = min(asked, self.longest)
        return counting.record(folder, self.experiment, self.base, seconds, self.longest)
