"""git that waits for a pipe is ended: no file of a repository or a configuration stops profdiff."""

import os
import subprocess
import time
from pathlib import Path

import pytest
from made_repository import Made, MadeRepository, make
from support import error_line, profdiff

from profdiff.base import git as git_module
from profdiff.base.errors import InputError
from profdiff.base.git import Git
from profdiff.sources.repository import Repository

# Less than it would take to wait for the limits that users have.
SOON = 20.0


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_module, "IDLE_SECONDS", 1.5)
    monkeypatch.setattr(git_module, "_LOOK_SECONDS", 0.2)


@pytest.fixture
def made(tmp_path: Path) -> MadeRepository:
    return make(
        tmp_path / "r", {"base": Made({"a.c": "x\n"}), "new": Made({"a.c": "y\n"}, ["base"])}
    )


def _include(made: MadeRepository, pipe: Path) -> None:
    with (made.folder / ".git/config").open("a") as file:
        file.write(f"[include]\n\tpath = {pipe}\n")


def _attributes(made: MadeRepository, pipe: Path) -> None:
    made.git("config", "core.attributesFile", str(pipe))


def _head(made: MadeRepository, pipe: Path) -> None:
    (made.folder / ".git/HEAD").unlink()
    os.mkfifo(made.folder / ".git/HEAD")


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("harm", [_include, _attributes, _head])
def test_a_pipe_in_place_of_a_file(made: MadeRepository, tmp_path: Path, harm) -> None:  # type: ignore[no-untyped-def]
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    harm(made, pipe)
    began = time.monotonic()
    with pytest.raises(InputError) as error:
        repository = Repository.open(made.folder)
        same = repository.same_lines("base", "new", ["a.c"])
        repository.trace("base", "new", [("a.c", 1)], [("a.c", 1)], same)
    assert time.monotonic() - began < SOON
    assert "did nothing for 1.5 s: a pipe may be in place of a file" in str(error.value)
    assert not _left(made.folder)


def _left(folder: Path) -> list[str]:
    """The git processes that still run there."""
    said = subprocess.run(
        ["pgrep", "-af", str(folder)], capture_output=True, text=True, check=False
    )
    return [line for line in said.stdout.splitlines() if " git " in line]


@pytest.mark.slow
@pytest.mark.usefixtures("impatient")
def test_what_works_or_talks_is_not_ended(
    made: MadeRepository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A program in place of git, which computes now and then for four seconds, and then says a
    word at a time."""
    slow = tmp_path / "bin/git"
    slow.parent.mkdir()
    slow.write_text(
        "#!/bin/sh\nend=$(($(date +%s) + 4))\nwhile [ $(date +%s) -lt $end ]; do sleep 0.1\n"
        "  n=0; while [ $n -lt 20000 ]; do n=$((n + 1)); done\ndone\n"
        "for word in 1 2 3 4; do echo $word; sleep 1; done\n"
    )
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow.parent}:{os.environ['PATH']}")
    assert Git("r", made.folder).run("log") == b"1\n2\n3\n4\n"
    monkeypatch.setattr(git_module, "LIMIT_SECONDS", 2.0)
    with pytest.raises(InputError, match="git log takes more than"):
        Git("r", made.folder).run("log")


def _configured(folder: Path) -> str:
    """A user's configuration that includes a pipe."""
    pipe, config = folder / "pipe", folder / "gitconfig"
    os.mkfifo(pipe)
    config.write_text(f"[include]\n\tpath = {pipe}\n")
    return str(config)


@pytest.mark.usefixtures("impatient")
def test_the_users_own_configuration(
    tmp_path: Path, made: MadeRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", _configured(tmp_path))
    with pytest.raises(InputError, match=r"did nothing for 1\.5 s"):
        Repository.open(made.folder)
    assert not _left(made.folder)


@pytest.mark.nightly
def test_as_a_user_sees_it(tmp_path: Path, made: MadeRepository) -> None:
    """With the limit that there is."""
    words = ("kernel", "build", f"git:{made.folder}@new")
    env = {"GIT_CONFIG_GLOBAL": _configured(tmp_path)}
    line = error_line(profdiff(*words, env=env, status=2))
    assert f"did nothing for {git_module.IDLE_SECONDS:g} s" in line
