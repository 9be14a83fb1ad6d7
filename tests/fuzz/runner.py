"""Runs the cases of a target in children with bounded memory and time.

A child takes every Nth case. Before each it writes the case's number into memory that it shares
with its parent, so that whatever ends it is a finding of that case, and a new child goes on behind.
"""

import contextlib
import faulthandler
import mmap
import os
import pickle
import resource
import signal
import struct
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from fuzz.attempt import Place, address_space, attempt
from fuzz.findings import Finding, Log, Outcome, digest, merged
from fuzz.mutation import case
from fuzz.target import Target

# A child that lives long would hide what one case leaves behind in the next.
_CASES_OF_A_CHILD = 2000
# Native code does not notice the end of its processor time: the parent ends it, in a wall time that
# a busy machine, too, gives a case.
_PATIENCE = 8
_POLL = 0.01
_OWN_ERROR = 70


@dataclass(frozen=True)
class Plan:
    """The cases ``first`` to ``last`` (None: no end) of a target until ``deadline`` (monotonic), by
    ``jobs`` children. Inputs of findings go to ``folder``. ``given``: one input that is tried
    instead of mutations."""

    target: Target
    seeds: Sequence[bytes]
    seed: int
    folder: Path
    first: int = 0
    last: int | None = None
    deadline: float | None = None
    jobs: int = 1
    given: bytes | None = None

    def input(self, number: int) -> bytes:
        """The bytes of a case."""
        if self.given is not None:
            return self.given
        return case(self.target, self.seeds, self.seed, number)

    def file(self, number: int, signature: str) -> Path:
        """Where the input of a finding goes."""
        return self.folder / f"{self.target.name}-{self.seed}-{number}-{digest(signature)}"


@dataclass
class Tally:
    """What the cases of a target came to. ``slowest``: processor seconds of a case; ``peak``: bytes
    that a case took."""

    cases: int = 0
    refused: int = 0
    slowest: float = 0.0
    slowest_case: int = 0
    peak: int = 0
    seconds: float = 0.0
    findings: list[Finding] = field(default_factory=list)


def seeds_of(target: Target) -> list[bytes]:
    """A target's seeds, made in a child: threads of native code would not survive a fork. Skips
    where a program is absent."""
    with tempfile.TemporaryDirectory(prefix="profdiff-fuzz-") as folder:
        file = Path(folder) / "seeds"
        child = os.fork()
        if child == 0:
            try:
                os.chdir(folder)
                try:
                    made: list[bytes] | str = target.seeds()
                except pytest.skip.Exception as error:
                    made = str(error)
                file.write_bytes(pickle.dumps(made))
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        if not file.exists():
            raise RuntimeError(f"{target.name}: its seeds cannot be made")
        result = pickle.loads(file.read_bytes())  # noqa: S301 - written above
    if isinstance(result, str):
        pytest.skip(result)
    seeds: list[bytes] = result
    return seeds


def run(plan: Plan, progress: Callable[[int], None] = lambda cases: None) -> Tally:
    """Run a plan to its end."""
    began = time.monotonic()
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="profdiff-fuzz-") as scratch:
        workers = [_Worker(plan, number, Path(scratch)) for number in range(plan.jobs)]
        try:
            while sum(worker.watch() for worker in workers):
                progress(sum(worker.slot.cases for worker in workers))
                time.sleep(_POLL)
        finally:
            for worker in workers:
                worker.end()
        for slot in (worker.slot for worker in workers):
            tally.cases += slot.cases
            tally.refused += slot.refused
            tally.peak = max(tally.peak, slot.peak)
            if slot.slowest > tally.slowest:
                tally.slowest, tally.slowest_case = slot.slowest, slot.slowest_case
        tally.findings = merged(worker.log for worker in workers)
    tally.seconds = time.monotonic() - began
    return tally


def _resident() -> int:
    """Bytes of this process in memory; from now on the most is measured anew (proc(5))."""
    Path("/proc/self/clear_refs").write_text("5")
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


def _most_resident() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) << 10


class _Slot:
    """What a child tells its parent. ``started`` is 0 between cases."""

    _LAYOUT = struct.Struct("<qdqqdqq")
    _FIELDS = ("case", "started", "cases", "refused", "slowest", "slowest_case", "peak")

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, mmap.PAGESIZE)
        self.case, self.started, self.cases, self.refused = -1, 0.0, 0, 0
        self.slowest, self.slowest_case, self.peak = 0.0, 0, 0

    def write(self) -> None:
        values = (getattr(self, name) for name in self._FIELDS)
        self._LAYOUT.pack_into(self._memory, 0, *values)

    def read(self) -> None:
        values = self._LAYOUT.unpack_from(self._memory)
        for name, value in zip(self._FIELDS, values, strict=True):
            setattr(self, name, value)


class _Worker:
    """One child after another, each for the cases that the one before left."""

    def __init__(self, plan: Plan, number: int, scratch: Path) -> None:
        self.plan = plan
        self.slot = _Slot()
        self.log = Log(scratch / f"findings-{number}")
        self._trace = scratch / f"trace-{number}"
        self._place = scratch / str(number)
        self._place.mkdir()
        self._next = plan.first + number
        self._child: int | None = None
        self._abandoned = 0.0

    def watch(self) -> bool:
        """Start a child, or see how it is. False when there is nothing left to do."""
        if self._child is None:
            if self._done():
                return False
            self._start()
            return True
        ended, status = os.waitpid(self._child, os.WNOHANG)
        self.slot.read()
        if not ended:
            self._hurry(self._child)
            return True
        self._child = None
        if self.slot.started:
            self._ended_within(os.waitstatus_to_exitcode(status))
        elif status:
            raise RuntimeError(f"{self.plan.target.name}: {self._trace.read_text()}")
        self._next = self.slot.case + self.plan.jobs
        return True

    def end(self) -> None:
        """Leave no child behind."""
        if self._child is not None:
            os.kill(self._child, signal.SIGKILL)
            os.waitpid(self._child, 0)

    def _done(self) -> bool:
        plan = self.plan
        past = plan.last is not None and self._next > plan.last
        return past or (plan.deadline is not None and time.monotonic() >= plan.deadline)

    def _hurry(self, child: int) -> None:
        """End a child whose case does not end."""
        now = time.monotonic()
        if not self.slot.started or now - self.slot.started < _PATIENCE * self.plan.target.seconds:
            return
        if not self._abandoned:
            self._abandoned = now
            os.kill(child, signal.SIGABRT)  # faulthandler says where it is
        elif now - self._abandoned > 1:
            os.kill(child, signal.SIGKILL)

    def _start(self) -> None:
        self._abandoned = 0.0
        self.slot.started, self.slot.case = 0.0, self._next
        self.slot.write()
        sys.stdout.flush()  # else the child could write it as well
        self._child = os.fork()
        if self._child == 0:
            status = _OWN_ERROR
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            try:
                self._cases()
                status = 0
            except BaseException:
                with contextlib.suppress(BaseException):
                    traceback.print_exc()
            finally:
                os._exit(status)

    def _ended_within(self, code: int) -> None:
        """A case ended the process, or had to be ended."""
        if self._abandoned:
            what = f"goes on for more than {_PATIENCE * self.plan.target.seconds:g} s"
        elif code < 0:
            what = f"ends the process with {signal.Signals(-code).name}"
        else:
            what = f"ends the process with status {code}"
        trace = self._trace.read_text(errors="replace")
        _, _, python = trace.rpartition("Fatal Python error")
        frames = [line for line in python.splitlines() if line.startswith("  File")]
        if frames:
            what += " in " + frames[0].strip().rpartition("/")[2].replace('"', "")
        self.slot.cases += 1
        number = self.slot.case
        outcome = Outcome(what=what, signature=what, detail=trace)
        self.log.add(number, outcome, self.plan.input(number), self.plan.file(number, what))

    def _cases(self) -> None:
        """In the child: cases up to the last one, the deadline, or enough of them."""
        plan, slot = self.plan, self.slot
        with self._trace.open("wb") as trace:
            os.dup2(trace.fileno(), 2)
        faulthandler.enable(2)
        place = Place(self._place)
        os.chdir(self._place)
        # Whatever a reader keeps, it keeps in the case's folder.
        tempfile.tempdir = str(self._place)
        for name in ("TMPDIR", "HOME", "PROFDIFF_CACHE", "MPLCONFIGDIR", "XDG_CACHE_HOME"):
            os.environ[name] = str(self._place)
        enough = address_space() + plan.target.memory
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for _ in range(_CASES_OF_A_CHILD):
            # What cases leave behind is not the next one's, nor may it fill the machine.
            if self._done() or address_space() > enough:
                break
            data = plan.input(self._next)
            slot.case, slot.started = self._next, time.monotonic()
            slot.write()
            resident, before = _resident(), time.process_time()
            outcome = attempt(plan.target, data, place)
            took = time.process_time() - before
            if took > slot.slowest:
                slot.slowest, slot.slowest_case = took, self._next
            slot.peak = max(slot.peak, _most_resident() - resident)
            slot.cases += 1
            slot.refused += outcome.refused
            if outcome.refused and plan.given is None and self._next < len(plan.seeds):
                outcome = replace(outcome, what="refuses its own seed", signature="seed")
            if outcome.what:
                self.log.add(self._next, outcome, data, plan.file(self._next, outcome.signature))
            slot.started = 0.0
            slot.write()
            self._next += plan.jobs
