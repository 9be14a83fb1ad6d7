"""A repository that a stranger made starts nothing, and leads nowhere else."""

import os
import subprocess
from pathlib import Path

import pytest
from made_repository import ENV, Made, MadeRepository, make, numbered, text

from profdiff.base import git as git_module
from profdiff.base.errors import InputError
from profdiff.sources.repository import Repository
from profdiff.sources.sources import Sources

BODY = numbered(1, 30)


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A program that leaves ``sprung`` behind when it is started."""
    path = tmp_path / "trap"
    path.write_text(f'#!/bin/sh\necho "$0" "$@" >> {tmp_path}/sprung\ncat "$1" 2>/dev/null\n')
    path.chmod(0o755)
    return path


def hostile(tmp_path: Path, trap: Path) -> MadeRepository:
    """All that a configuration can name to be started."""
    attributes = "* diff=trap filter=trap merge=trap\n"
    made = make(
        tmp_path / "r",
        {
            "base": Made({"a.c": text(*BODY), ".gitattributes": attributes}),
            "new": Made({"b.c": text("x();", *BODY[2:]), ".gitattributes": attributes}, ["base"]),
        },
    )
    made.checked_out("new")
    settings = {
        "core.fsmonitor": trap,
        "core.pager": trap,
        "core.sshCommand": trap,
        "core.editor": trap,
        "pager.blame": trap,
        "pager.log": trap,
        "diff.external": trap,
        "diff.trap.command": trap,
        "diff.trap.textconv": trap,
        "filter.trap.clean": trap,
        "filter.trap.smudge": trap,
        "filter.trap.required": "true",
        "filter.trap.process": trap,
        "merge.trap.driver": f"{trap} %A",
        "log.showSignature": "true",
        "gpg.program": trap,
        "gpg.x509.program": trap,
        "credential.helper": trap,
        "uploadpack.packObjectsHook": trap,
        "core.alternateRefsCommand": trap,
        "diff.orderFile": trap,
        "alias.blame": f"!{trap}",
        "alias.rev-parse": f"!{trap}",
        "protocol.ext.allow": "always",
        "extensions.partialClone": "origin",
        "remote.origin.url": f"ext::{trap} %S",
        "remote.origin.promisor": "true",
    }
    for name, value in settings.items():
        made.git("config", name, str(value))
    hooks = made.folder / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-index-change", "post-checkout", "pre-auto-gc", "reference-transaction"):
        (hooks / name).symlink_to(trap)
    return made


def test_nothing_that_it_names_is_started(tmp_path: Path, trap: Path) -> None:
    made = hostile(tmp_path, trap)
    repository = Repository.open(made.folder)
    same = repository.same_lines("base", "new", ["a.c", "b.c"])
    assert same.in_base("b.c", 3) == ("a.c", 4)
    found = repository.trace("base", "new", [("b.c", 1)], [("a.c", 1)], same)
    assert (found.added, found.removed) == (
        {("b.c", 1): made.commits["new"]},
        {("a.c", 1): made.commits["new"]},
    )
    assert repository.commits(made.commits.values())[made.commits["new"]].subject == "new"
    sources = Sources.open("k", str(made.folder))
    (made.folder / "b.c").write_text("changed\n")
    assert sources.lines("b.c") == ("changed",)
    assert (sources.note() or "").endswith("in b.c; k may have been built without them")
    assert not (tmp_path / "sprung").exists()
    # The traps work.
    for command in (["diff", "base", "new"], ["blame", "base", "--", "a.c"]):
        plain = ["git", "-C", str(made.folder), *command]
        subprocess.run(plain, check=False, capture_output=True, env=ENV)
        assert (tmp_path / "sprung").exists(), command
        (tmp_path / "sprung").unlink()


def test_a_missing_object_is_not_fetched(tmp_path: Path, trap: Path) -> None:
    made = hostile(tmp_path, trap)
    name = made.git("rev-parse", "base:a.c").strip()
    _loose(made)
    (made.folder / ".git/objects" / name[:2] / name[2:]).unlink()
    repository = Repository.open(made.folder)
    with pytest.raises(InputError) as error:
        repository.same_lines("base", "new", ["a.c", "b.c"])
    assert "\n" not in str(error.value) and str(made.folder) in str(error.value)
    assert not (tmp_path / "sprung").exists()


def _loose(made: MadeRepository) -> None:
    """Each object in a file of its own."""
    for pack in (made.folder / ".git/objects/pack").glob("*.pack"):
        content = pack.read_bytes()
        for part in pack.parent.glob(f"{pack.stem}.*"):
            part.unlink()
        command = ["git", "-C", str(made.folder), "unpack-objects", "-q"]
        subprocess.run(command, input=content, check=True, env=ENV)


def test_the_environment_leads_to_no_other_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trap: Path
) -> None:
    """As when a hook of another repository starts profdiff."""
    mine = make(tmp_path / "mine", {"base": Made({"a.c": "mine\n"})})
    other = make(tmp_path / "other", {"base": Made({"a.c": "other\n"})})
    monkeypatch.setenv("GIT_DIR", str(other.folder / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other.folder))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(trap))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "safe.directory")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "*")
    assert Repository.open(mine.folder).files("base", ["a.c"]) == {"a.c": b"mine\n"}
    assert os.environ["GIT_DIR"]


def test_no_file_leaves_the_tree(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret\n")
    tree = tmp_path / "tree"
    (tree / "mm").mkdir(parents=True)
    (tree / "mm/a.c").write_text("one\ntwo")
    (tree / "link.c").symlink_to("../secret")
    (tree / "up").symlink_to("..")
    (tree / "inner.c").symlink_to("mm/a.c")
    (tree / "circle").symlink_to("circle")
    os.mkfifo(tree / "fifo")
    sources = Sources.open("k", str(tree))
    assert sources.lines("mm/a.c") == sources.lines("inner.c") == ("one", "two")
    outside = [str(tmp_path / "secret"), "../secret", "mm/../../secret", "link.c", "up/secret"]
    for name in [*outside, "circle", "fifo", "mm", "", "./mm/a.c", "mm//a.c", "a\0b", "x" * 5000]:
        assert sources.lines(name) is None, name
    made = make(tmp_path / "r", {"base": Made({"mm/a.c": "one\n", "b.c": "x\n"})})
    inside = Sources.open("k", f"{made.folder}@base")
    for name in [*outside, "mm", "", "a\nb", "b.c\nHEAD:mm/a.c", "-p", ":(glob)*", "mm/a.c\0"]:
        assert inside.lines(name) is None, name
    assert inside.lines("mm/a.c") == ("one",)


def test_output_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = make(tmp_path / "r", {"base": Made({"a.c": "x\n" * 5000})})
    repository = Repository.open(made.folder)
    with pytest.raises(InputError, match="git cat-file says more than 0 MiB"):
        repository.git.run("cat-file", "-p", "base:a.c", limit=1000)
    monkeypatch.setattr("profdiff.sources.blobs.LARGEST", 100)
    assert repository.files("base", ["a.c"]) == {}
    assert git_module.LIMIT == 512 * 2**20
