"""A machine that is not ours to boot: this one, or another over ssh. Runs a script, gets files,
and asks for the environment."""

import contextlib
import io
import shutil
import stat
import subprocess
import tarfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from profdiff.base import processes
from profdiff.base.errors import MissingError
from profdiff.base.temporary import temporary_folder
from profdiff.base.terminal import short
from profdiff.collectors.guest.archive import ArchiveError, receive
from profdiff.collectors.guest.delivery import MEMBERS, phase_of
from profdiff.collectors.guest.initramfs import guest_resources
from profdiff.collectors.kernels.address import Address
from profdiff.collectors.machine.environment import Environment
from profdiff.collectors.programs import find_program
from profdiff.collectors.records import Failure
from profdiff.collectors.workload.root import GUEST_FOLDER
from profdiff.collectors.workload.workload import PreparedWorkload

# All that goes wrong with a connection, ssh says with this status (ssh(1)).
_SSH_FAILED = 255
# A recording can be large.
_MAX_ARCHIVE = 65 << 30
# How much of standard error is kept.
_MAX_LINE = 4096

# The one command that the other machine's shell is given; nothing is put into it. It unpacks as
# many bytes as the first line says, runs the script, sends what that left, and cleans up, also
# when the connection breaks: then its standard input ends, and its process group with it.
_REMOTE = """\
d=$(mktemp -d "${TMPDIR:-/tmp}/profdiff.XXXXXX") || exit 1
trap 'rm -rf "$d"' EXIT
trap 'trap "" TERM; kill -TERM 0; wait "$m"; exit 129' HUP INT TERM PIPE
read -r n && head -c "$n" | tar -xf - -C "$d" || exit 1
exec 3<&0
sh "$d/SCRIPT" "$d" "$d/work" < /dev/null >&2 &
m=$!
(cat <&3 > /dev/null; kill -TERM $$) 2> /dev/null &
w=$!
wait "$m"
kill "$w" 2> /dev/null
mkdir -p "$d/out" && cd "$d/out" && tar -cf - .
cd /
"""


class MachineRun:
    """``script``, one of ``files``, running there. ``files``: what is put into its folder, by name;
    ``programs``: executable files, by name. ``folder`` gets what it leaves in ``out``.

    The script is given its folder and the folder to work in: ``work`` below it, or on this machine
    ``work_folder``.
    """

    def __init__(
        self,
        address: Address,
        *,
        script: str,
        files: Mapping[str, bytes],
        programs: Mapping[str, Path],
        folder: Path,
        timeout: float,
        work_folder: Path | None = None,
    ) -> None:
        self._address, self._folder, self._timeout = address, folder, timeout
        self._errors: list[str] = []
        self.phase = "boot"
        self._timed_out = self._flooded = False
        self._started = time.monotonic()
        self.wall_seconds = 0.0
        self._temporary = contextlib.ExitStack()
        self._place = self._temporary.enter_context(temporary_folder())
        self._archive = self._place / "archive.tar"
        self._threads: list[threading.Thread] = []
        packed = pack(files, programs)
        try:
            if address.host:
                self.command = [*ssh_command(address), _REMOTE.replace("SCRIPT", script)]
                self._process = self._start(self.command, self._archive.open("wb"))
                self._thread(self._send, packed)
            else:
                unpack(packed, self._place)
                work = work_folder or self._place / "work"
                self.command = ["sh", str(self._place / script), str(self._place), str(work)]
                self._process = self._start(self.command, None)
        except BaseException:
            self._temporary.close()
            raise
        self._thread(self._listen)

    def _start(self, command: list[str], output: IO[bytes] | None) -> subprocess.Popen[bytes]:
        program = [str(find_program(command[0])), *command[1:]]
        process = subprocess.Popen(
            program,
            stdin=subprocess.PIPE if output else subprocess.DEVNULL,
            stdout=output or subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        if output:
            output.close()
        return process

    def _thread(self, work: object, *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)  # type: ignore[arg-type]
        thread.start()
        self._threads.append(thread)

    def _send(self, archive: bytes) -> None:
        # The pipe stays open: its end tells the other side that we are gone.
        pipe = self._process.stdin
        if pipe:
            with contextlib.suppress(BrokenPipeError):
                pipe.write(b"%d\n" % len(archive) + archive)
                pipe.flush()

    def _listen(self) -> None:
        stream = self._process.stderr
        if stream is None:
            return
        with stream:
            while line := stream.readline(_MAX_LINE):
                words = line.decode(errors="replace").strip()
                if phase := phase_of(words):
                    self.phase = phase
                elif words:
                    self._errors = [*self._errors[-20:], words]

    def poll(self) -> bool:
        """Look after the run; True when it has ended."""
        ended = self._process.poll() is not None
        self.wall_seconds = time.monotonic() - self._started
        if not ended:
            self._timed_out = self.wall_seconds > self._timeout
            self._flooded = bool(self._address.host and self._archive.stat().st_size > _MAX_ARCHIVE)
            if self._timed_out or self._flooded:
                self.stop()
                ended = True
        return ended

    def stop(self) -> None:
        """End it early; what it made over there is removed there."""
        processes.end(self._process, 5)
        self._temporary.close()

    def result(self, members: Mapping[str, int]) -> set[str] | Failure:
        """The names of those of ``members`` that it left, which are in the folder now, or why there
        are none. Call once it has ended. Raises OSError."""
        status = self._process.wait()
        for thread in self._threads:
            thread.join(5)
        if self._process.stdin:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
        try:
            if failure := self._failure(status):
                return failure
            if not self._address.host:
                return _take(self._place / "out", self._folder, members)
            with self._archive.open("rb") as stream:
                return receive(stream, self._folder, members, _MAX_ARCHIVE)
        except ArchiveError as error:
            message = f"cannot read the files that the run on {self._address} left: {error}"
            return Failure("protocol", message)
        finally:
            self._temporary.close()

    def _failure(self, status: int) -> Failure | None:
        last = short(self._errors[-1]) if self._errors else ""
        if self._timed_out:
            return Failure(
                "timeout", f"the run did not finish within {self._timeout:g} s: raise --timeout"
            )
        if self._flooded:
            most = _MAX_ARCHIVE >> 30
            return Failure("protocol", f"{self._address} sends more than {most} GiB")
        if self._address.host and status == _SSH_FAILED:
            return Failure("connection", connection_message(self._address, self._errors))
        if status != 0:
            return Failure("protocol", f"the run on {self._address} failed: {last or status}")
        return None


def workload_there(
    address: Address, workload: PreparedWorkload, argv: Sequence[str]
) -> tuple[list[str], dict[str, Path]]:
    """``argv`` (as a guest would run it) as the machine runs it, and the programs that travel."""
    program, *arguments = argv
    programs: dict[str, Path] = {}
    if address.host:
        # Libraries and interpreters are the other machine's own.
        own = [f for f in workload.files if f.guest_path.startswith(f"{GUEST_FOLDER}/")]
        programs = {file.guest_path.lstrip("/"): file.source for file in own}
        there = f"{GUEST_FOLDER}/"
        program = f"./{program.removeprefix(there)}" if program.startswith(there) else program
    else:
        local = next((file for file in workload.files if file.guest_path == program), None)
        program = str(local.source.resolve()) if local else program
    return [program, *arguments], programs


def ssh_command(address: Address) -> list[str]:
    """The system's ssh, which asks nothing: a password has no place in a recording."""
    command = ["ssh", "-T", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=15"]
    command += ["-p", str(address.port)] if address.port else []
    command += ["-l", address.user] if address.user else []
    return [*command, "--", address.host]


def connection_message(address: Address, errors: list[str]) -> str:
    """What ssh complained of, and what to do."""
    text = " ".join(errors)
    last = short(errors[-1]) if errors else "no reason given"
    if "Host key verification failed" in text or "HOST IDENTIFICATION HAS CHANGED" in text:
        return f"{address}: its host key is unknown or has changed: connect once with ssh yourself"
    if "Permission denied" in text:
        return f"{address} refused the login ({last}): load a key into the agent, or see ssh_config"
    if "refused" in text or "Could not resolve" in text or "timed out" in text:
        return f"{address} cannot be reached ({last})"
    return f"the connection to {address} broke ({last}): run the same command again"


def pack(files: Mapping[str, bytes], programs: Mapping[str, Path]) -> bytes:
    """A tar of ``files`` and ``programs``, and of the folder ``work``."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        work = tarfile.TarInfo("work")
        work.type, work.mode = tarfile.DIRTYPE, 0o755
        archive.addfile(work)
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(data), 0o644
            archive.addfile(member, io.BytesIO(data))
        for name, path in programs.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = path.stat().st_size, 0o755
            with path.open("rb") as file:
                archive.addfile(member, file)
    return buffer.getvalue()


def unpack(archive: bytes, folder: Path) -> None:
    """Unpack what ``pack`` made."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as members:
        # An argument of extractall() from Python 3.11.4 on; Debian 12 has 3.11.2.
        members.extraction_filter = getattr(tarfile, "data_filter", None)
        members.extractall(folder)  # noqa: S202 - our own archive


def _take(source: Path, folder: Path, members: Mapping[str, int]) -> set[str]:
    """Move those of ``members`` that are there to ``folder``; a workload may have left other things
    there, to which no link is followed. Raises ArchiveError, OSError."""
    found: set[str] = set()
    for name, most in members.items():
        path = source / name
        try:
            status = path.lstat()
        except FileNotFoundError:
            continue
        if not stat.S_ISREG(status.st_mode):
            continue
        if status.st_size > most:
            raise ArchiveError(f"its {name} is larger than {most:,} bytes")
        shutil.move(path, folder / name)
        found.add(name)
    return found


_SECONDS = 60.0


def environment_of(address: Address) -> Environment:
    """Raises MissingError when the machine cannot be reached, or its shell is of another kind."""
    script = guest_resources() / "environment.sh"
    if not address.host:
        result = subprocess.run(["sh", str(script)], capture_output=True, check=False)
        return Environment.parse(result.stdout.decode(errors="replace"))
    with temporary_folder() as folder:
        wrapper = b'mkdir -p "$1/out" && sh "$1/environment.sh" > "$1/out/environment"\n'
        run = MachineRun(
            address,
            script="doctor.sh",
            files={"doctor.sh": wrapper, "environment.sh": script.read_bytes()},
            programs={},
            folder=folder,
            timeout=_SECONDS,
        )
        while not run.poll():
            time.sleep(0.05)
        left = run.result(MEMBERS)
        if isinstance(left, Failure):
            raise MissingError(left.message)
        if "environment" not in left:
            raise MissingError(f"{address} reported nothing about itself")
        return Environment.parse((folder / "environment").read_text(errors="replace"))
