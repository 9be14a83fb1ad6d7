"""git, run on a repository that a stranger may have made: nothing that its configuration names is
started, nothing is fetched, and what comes back is bounded."""

import contextlib
import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from profdiff.base.atomic import naming
from profdiff.base.bounded import read
from profdiff.base.errors import InputError, MissingError
from profdiff.base.terminal import printable

_MIB = 2**20
LIMIT = 512 * _MIB
"""The most that one process may say, in bytes."""
IDLE_SECONDS = 30.0
"""How long a process may neither say anything nor take processor time: it waits for a pipe that a
repository has in place of a file."""
LIMIT_SECONDS = 3600.0
"""How long a process may take in all."""
_LOOK_SECONDS = 1.0
_ERRORS = 64 * 1024
# A configuration with more names of drivers is not a configuration; a command line takes 128 KiB.
_MOST_DRIVERS = 500
_MOST_WORDS = 64 * 1024
_SHALLOW = 16 * _MIB
_STEP = _MIB
# What could start a program: fsmonitor and hooks do for an index, showSignature starts gpg, and
# another git in a submodule runs what that one's configuration names.
_SETTINGS = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.quotePath": "false",
    "core.commitGraph": "true",
    "log.showSignature": "false",
    "diff.renames": "false",
    "diff.algorithm": "myers",
    "diff.orderFile": os.devnull,
    "advice.graftFileDeprecated": "false",
    "submodule.recurse": "false",
    "diff.ignoreSubmodules": "dirty",
    "diff.submodule": "short",
}
# What a driver runs; instead, nothing is filtered, nothing fails for that, and git itself merges.
_DRIVERS = r"^(filter\..*\.(clean|smudge|process|required)|merge\..*\.driver)$"
_INSTEAD = {
    "clean": "",
    "smudge": "",
    "process": "",
    "required": "false",
    "driver": "git merge-file --quiet %A %O %B",
}
# The user's own configuration, which also holds safe.directory.
_KEPT = ("GIT_CONFIG_", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM")
# What git's message means for a user of profdiff.
_MEANINGS = {
    "not a git repository": "not a git repository",
    "dubious ownership": (
        "it belongs to another user, and git reads it only if you trust it: git config --global "
        "--add safe.directory FOLDER"
    ),
    "promisor": "it is a partial clone, and objects are missing: git fetch --refetch --no-filter",
}


@dataclass(frozen=True)
class Git:
    """How git is started for one repository. ``top``: the folder that paths are relative to, or the
    git folder where no files are checked out. ``shown``: as the user named it."""

    shown: str
    top: Path
    bare: bool = False
    environment: Mapping[str, str] = field(default_factory=dict, compare=False)
    more_settings: tuple[str, ...] = ()

    def configured(self, *settings: str) -> "Git":
        """The same with more settings, NAME=VALUE, over those of the configuration."""
        return replace(self, more_settings=(*self.more_settings, *settings))

    def without_drivers(self) -> "Git":
        """The same without the filters and merge drivers that the configuration names: files are
        taken as they are, and merged as text. For what adds, checks out or merges files. Raises
        InputError for a name that git's command line cannot override."""
        output = self.succeeds("config", "--name-only", "-z", "--get-regexp", _DRIVERS) or b""
        names = dict.fromkeys(output.decode(errors="surrogateescape").split("\0")[:-1])
        if len(names) > _MOST_DRIVERS or sum(map(len, names)) > _MOST_WORDS:
            raise InputError(
                f"{self.shown}: its configuration names {len(names):,} filters and merge drivers, "
                f"more than {_MOST_DRIVERS} or too long ones: remove them"
            )
        if odd := next((name for name in names if "=" in name), None):
            raise InputError(
                f"{self.shown}: its configuration has {printable(odd)[:200]}: remove that, a name "
                "with = cannot be overridden"
            )
        instead = (f"{name}={_INSTEAD[name.rpartition('.')[2]]}" for name in names)
        return self.configured(*instead)

    def given(self, **environment: str) -> "Git":
        """The same, with more in its environment: another index, who commits."""
        return replace(self, environment={**self.environment, **environment})

    @staticmethod
    def open(path: Path) -> "Git":
        """The repository that ``path`` lies in. Raises InputError where there is none, or git does
        not trust it."""
        if not path.is_dir():
            raise InputError(f"{path}: there is no such folder")
        here = Git(str(path), path.resolve())
        said = here.run("rev-parse", "--is-inside-work-tree", "--absolute-git-dir")
        inside, folder = said.decode(errors="surrogateescape").rstrip("\n").split("\n", 1)
        if inside != "true":
            return Git(str(path), Path(folder), bare=True)
        top = here.run("rev-parse", "--show-toplevel").decode(errors="surrogateescape")
        return Git(str(path), Path(top.rstrip("\n")))

    def shallow(self) -> frozenset[str]:
        """Commits whose parents a shallow clone left out."""
        output = self.run("rev-parse", "--path-format=absolute", "--git-path", "shallow")
        path = Path(output.decode(errors="surrogateescape").rstrip("\n"))
        try:
            return frozenset(read(path, _SHALLOW).decode(errors="replace").split())
        except FileNotFoundError:
            return frozenset()

    def setting(self, name: str) -> list[str]:
        """The values of a path in the configuration."""
        output = self.succeeds("config", "--type=path", "-z", "--get-all", name) or b""
        values = output.decode(errors="surrogateescape").split("\0")[:-1]
        # An empty one takes back those before it.
        return values[len(values) - values[::-1].index("") if "" in values else 0 :]

    def run(self, *arguments: str, stdin: bytes = b"", limit: int = LIMIT) -> bytes:
        """What git says. Raises InputError where it fails, in one line."""
        (said,) = self.run_all([arguments], stdin=stdin, limit=limit)
        return said

    def succeeds(self, *arguments: str, fine: Container[int] = (0,)) -> bytes | None:
        """What git says, None where it fails: for questions that may have no answer. ``fine``: exit
        statuses that are not failures."""
        with self._start(arguments) as running, self._told(arguments[0]):
            said = running.read(LIMIT)
            return said if running.status() in fine else None

    @contextlib.contextmanager
    def _told(self, verb: str) -> Iterator[None]:
        """Raise InputError of a process that is stuck."""
        try:
            yield
        except Stuck as error:
            raise InputError(f"{self.shown}: git {verb} {error}") from None

    def run_all(
        self, commands: Sequence[Sequence[str]], *, stdin: bytes = b"", limit: int = LIMIT
    ) -> Iterator[bytes]:
        """What git says to each of ``commands``, in their order; as many run at a time as there
        are processors. Raises InputError where one fails."""
        width = os.cpu_count() or 1
        with contextlib.ExitStack() as stack:
            waiting = [stack.enter_context(self._start(c, stdin)) for c in commands[:width]]
            for i, command in enumerate(commands):
                with waiting[i] as running, self._told(command[0]):
                    said = running.read(limit)
                    if said is None:
                        raise InputError(
                            f"{self.shown}: git {command[0]} says more than {limit // _MIB} MiB"
                        )
                    if running.status():
                        raise InputError(f"{self.shown}: {running.failure(command[0])}")
                if i + width < len(commands):
                    following = self._start(commands[i + width], stdin)
                    waiting.append(stack.enter_context(following))
                yield said

    def _start(self, arguments: Sequence[str], stdin: bytes = b"") -> "_Running":
        return _Running(self.command(*arguments), stdin, self.environment)

    def command(self, *arguments: str) -> list[str]:
        """The words with which git is started; whoever starts it gives it ``environment()``."""
        folder = ["--git-dir", str(self.top)] if self.bare else []
        settings = [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
        settings += [word for setting in self.more_settings for word in ("-c", setting)]
        always = [
            "--no-pager",
            "--no-optional-locks",
            "--literal-pathspecs",
            "--no-replace-objects",
        ]
        return ["git", "-C", str(self.top), *folder, *always, *settings, *arguments]


class Stuck(Exception):  # noqa: N818  # who starts git says which it is
    """A process that does nothing any more, or takes too long."""


class Watch:
    """Whether the processes of a group go on: they say something, or take processor time."""

    def __init__(self, group: int) -> None:
        self._group = group
        self._began = self._heard = self._looked = time.monotonic()
        self._taken = 0

    def heard(self) -> None:
        """They said something."""
        self._heard = time.monotonic()

    def look(self) -> None:
        """Raises Stuck."""
        now = time.monotonic()
        if now - self._began > LIMIT_SECONDS:
            raise Stuck(f"takes more than {LIMIT_SECONDS / 60:g} minutes")
        if now - self._looked > _LOOK_SECONDS:
            self._looked = now
            if (taken := _ticks(self._group)) != self._taken:
                self._taken, self._heard = taken, now
        if now - self._heard > IDLE_SECONDS:
            raise Stuck(
                f"did nothing for {IDLE_SECONDS:g} s: a pipe may be in place of a file of the "
                "repository or of its configuration"
            )


def _ticks(group: int) -> int:
    """The processor time of a group of processes, proc_pid_stat(5): fields 5, 14 and 15."""
    total = 0
    for name in os.listdir("/proc"):  # noqa: PTH208  # a Path for each is slow
        if name.isdecimal():
            with contextlib.suppress(OSError, ValueError, IndexError):
                fields = Path("/proc", name, "stat").read_bytes().rpartition(b")")[2].split()
                if int(fields[2]) == group:
                    total += int(fields[11]) + int(fields[12])
    return total


class _Running:
    """One process of git, which ends with the block that it is used in."""

    def __init__(self, command: list[str], stdin: bytes, more: Mapping[str, str]) -> None:
        with contextlib.ExitStack() as stack:
            # Files, so that no pipe but the one that is read can fill.
            self._errors: IO[bytes] = stack.enter_context(tempfile.TemporaryFile())
            asked = stack.enter_context(tempfile.TemporaryFile())
            with naming(Path(tempfile.gettempdir())):
                asked.write(stdin)
                asked.seek(0)
            try:
                process = subprocess.Popen(
                    command,
                    stdin=asked,
                    stdout=subprocess.PIPE,
                    stderr=self._errors,
                    env={**environment(), **more},
                    # What it starts ends with it.
                    process_group=0,
                )
            except FileNotFoundError:
                raise MissingError("git is not installed: apt-get install git") from None
            asked.close()
            self._process = process
            self._watch = Watch(process.pid)
            self._said = process.stdout
            self._files = stack.pop_all()

    def __enter__(self) -> "_Running":
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            if self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._said:
            self._said.close()
        self._files.close()

    def read(self, limit: int) -> bytes | None:
        """All that it says; None for more than ``limit`` bytes. Raises Stuck."""
        parts: list[bytes] = []
        left = limit
        assert self._said  # noqa: S101
        with selectors.DefaultSelector() as selector:
            selector.register(self._said, selectors.EVENT_READ)
            while True:
                if not selector.select(_LOOK_SECONDS):
                    self._watch.look()
                    continue
                # What is there, which a read() of so many bytes would wait to be more.
                part = os.read(self._said.fileno(), _STEP)
                if not part:
                    return b"".join(parts)
                self._watch.heard()
                left -= len(part)
                if left < 0:
                    return None
                parts.append(part)

    def status(self) -> int:
        """Raises Stuck."""
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return self._process.wait(_LOOK_SECONDS)
            self._watch.look()

    def failure(self, verb: str) -> str:
        """Why it failed, in one line."""
        self._errors.seek(0)
        said = self._errors.read(_ERRORS).decode(errors="replace").splitlines()
        whole = " ".join(said)
        for sign, meaning in _MEANINGS.items():
            if sign in whole:
                return meaning
        fatal = [line for line in said if line.startswith(("fatal:", "error:"))] or said[-1:]
        why = printable(fatal[0].split(":", 1)[-1].strip()) if fatal else "it gives no reason"
        return f"git {verb} fails: {why[:300]}"


def environment() -> dict[str, str]:
    """This process's, without what would lead git to another repository or to a program; no
    protocol is allowed, so that a partial clone fetches nothing."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.startswith(_KEPT)
    }
    own = {"GIT_ALLOW_PROTOCOL": "", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}
    return kept | own | {"LC_ALL": "C"}
