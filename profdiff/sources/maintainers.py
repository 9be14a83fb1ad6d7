"""Whom a tree of Linux names for files and for a commit: scripts/get_maintainer.pl on MAINTAINERS,
authors and signers through .mailmap."""

import re
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from profdiff.base.errors import InputError
from profdiff.base.temporary import temporary_folder
from profdiff.sources.blobs import inside
from profdiff.sources.repository import Repository

SCRIPT = "scripts/get_maintainer.pl"
# No history of git, and no roles of people who only reviewed: who maintains a file, and its lists.
FLAGS = ("--nogit", "--nogit-fallback", "--nor")
_SECONDS, _MOST_FILES, _MOST_TOLD = 60, 20, 256 * 1024
# "Andrew Morton <akpm@linux-foundation.org> (maintainer:MEMORY MAPPING)"
_LINE = re.compile(r"(.{3,200}?) \(((?:[^()]|\([^()]*\)){2,200})\)")
_SIGNED = re.compile(r"(?i)[a-z-]{2,30}-by: *([^@]{1,200}@.{1,200})")


class Contact(NamedTuple):
    """``why``: the role that the tree or the commit gives, in its words."""

    address: str
    why: str


def command(files: Sequence[str]) -> list[str]:
    """What finds them by hand, in a tree."""
    return [SCRIPT, *FLAGS, *(word for file in files for word in ("-f", file))]


def of_files(repository: Repository, revision: str, files: Iterable[str]) -> list[Contact]:
    """Those of the files that the revision has, by its own script, which runs in an empty folder
    that has MAINTAINERS and these files' names. Raises InputError where the tree has no such
    script, or it fails."""
    asked = [file for file in files if inside(file)][:_MOST_FILES]
    commit = repository.commit(revision)
    own = repository.files(commit, (SCRIPT, "MAINTAINERS", *asked))
    there = [file for file in asked if file in own]
    if not there or SCRIPT not in own or "MAINTAINERS" not in own:
        raise InputError(f"{repository.git.shown} has no {SCRIPT}: name a tree of Linux")
    with temporary_folder() as folder:
        for name in (SCRIPT, "MAINTAINERS", *there):
            place = folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(b"" if name in there else own[name])
        return list(_parsed(_run(folder, there)))


def _run(folder: Path, files: Sequence[str]) -> str:
    words = ["perl", *command(files), "--no-tree"]
    try:
        done = subprocess.run(words, cwd=folder, capture_output=True, check=False, timeout=_SECONDS)
    except FileNotFoundError as error:
        raise InputError(f"{SCRIPT}: perl is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise InputError(f"{SCRIPT} did not end within {_SECONDS} s") from error
    if done.returncode:
        lines = done.stderr.decode(errors="replace").split("\n")
        raise InputError(f"{SCRIPT} failed: {next(filter(None, lines), 'it does not say why')}")
    return done.stdout[:_MOST_TOLD].decode(errors="replace")


def _parsed(text: str) -> Iterable[Contact]:
    for line in text.splitlines():
        if (told := _LINE.fullmatch(line)) and line.isprintable():
            yield Contact(told[1], told[2].replace(":", ": ", 1))


def changed_by(repository: Repository, revision: str) -> list[str]:
    """The files that a commit changes."""
    commit = repository.commit(revision)
    words = ("diff-tree", "--no-commit-id", "--name-only", "-r", "-z", "--root", commit)
    return [
        name for name in repository.git.run(*words).decode(errors="replace").split("\0") if name
    ]


def of_commit(repository: Repository, revision: str) -> list[Contact]:
    """The author, and who signed, reviewed or tested it; addresses are those of .mailmap."""
    commit = repository.commit(revision)
    words = ("log", "-1", "--use-mailmap", "--format=%aN <%aE>%n%B", commit)
    author, _, body = repository.git.run(*words).decode(errors="replace").partition("\n")
    roles = {author.strip(): "author"}
    for line in body.splitlines():
        if told := _SIGNED.fullmatch(line.strip()):
            roles.setdefault(told[1].strip(), line.partition(":")[0])
    return [
        Contact(mapped, f"{role} of {commit[:12]}")
        for mapped, role in zip(_mapped(repository, list(roles)), roles.values(), strict=True)
        if mapped.isprintable()
    ]


def _mapped(repository: Repository, named: Sequence[str]) -> list[str]:
    """Names with addresses through .mailmap; git takes one without brackets for a mistake."""
    good = [one if "<" in one and ">" in one else f"<{one}>" for one in named]
    said = repository.git.run(
        "check-mailmap", "--stdin", stdin="".join(f"{one}\n" for one in good).encode()
    ).decode(errors="replace")
    lines = said.splitlines()
    return lines if len(lines) == len(named) else list(named)
