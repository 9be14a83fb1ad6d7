"""git repositories made for tests, from what each commit holds."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from support import need_program

Files = Mapping[str, str]


@dataclass(frozen=True)
class Made:
    """A commit: all of its files, and the names of its parents."""

    files: Files
    parents: Sequence[str] = ()
    subject: str = ""


@dataclass(frozen=True)
class MadeRepository:
    """``commits``: hashes by name, which is also a branch's."""

    folder: Path
    commits: dict[str, str] = field(default_factory=dict)

    def git(self, *arguments: str) -> str:
        """What git says there."""
        command = ["git", "-C", str(self.folder), "-c", "user.name=n", "-c", "user.email=e"]
        done = subprocess.run([*command, *arguments], check=True, capture_output=True, env=ENV)
        return done.stdout.decode()

    def checked_out(self, name: str) -> Path:
        """The folder, with the files of a commit."""
        self.git("checkout", "--quiet", "--detach", name)
        return self.folder


# Neither the user's settings, nor a repository that surrounds this one.
ENV = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")} | {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


def make(folder: Path, commits: Mapping[str, Made]) -> MadeRepository:
    """A repository of ``commits``, parents before their children; a second's time between them."""
    need_program("git")
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True, env=ENV)
    numbers = {name: i for i, name in enumerate(commits, 1)}
    stream = b"feature done\n"
    for name, made in commits.items():
        stream += f"commit refs/heads/{name}\nmark :{numbers[name]}\n".encode()
        stream += (
            f"committer A U Thor <a@example.org> {1700000000 + numbers[name]} +0000\n".encode()
        )
        stream += _data(made.subject or name)
        for i, parent in enumerate(made.parents):
            stream += f"{'merge' if i else 'from'} :{numbers[parent]}\n".encode()
        stream += b"deleteall\n"
        for path, content in made.files.items():
            stream += f"M 100644 inline {_quoted(path)}\n".encode() + _data(content)
    marks = folder / ".git/made-marks"
    command = ["git", "-C", str(folder), "fast-import", "--quiet", f"--export-marks={marks}"]
    subprocess.run(command, input=stream + b"done\n", check=True, env=ENV)
    by_number = dict(line.split() for line in marks.read_text().splitlines())
    return MadeRepository(folder, {name: by_number[f":{i}"] for name, i in numbers.items()})


def _data(text: str) -> bytes:
    raw = text.encode()
    return b"data %d\n%s\n" % (len(raw), raw)


def _quoted(path: str) -> str:
    escaped = "".join({"\\": "\\\\", '"': '\\"', "\n": "\\n"}.get(sign, sign) for sign in path)
    return f'"{escaped}"'


def text(*lines: str) -> str:
    """A file of these lines."""
    return "".join(f"{line}\n" for line in lines)


def numbered(first: int, last: int, word: str = "counted") -> list[str]:
    """Lines that differ, each long enough for git to see when it is moved."""
    return [f"\t{word}_{i} = work_on(value_{i}, {i * 7919});" for i in range(first, last + 1)]
