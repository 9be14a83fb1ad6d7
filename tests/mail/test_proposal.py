"""Whom a mail may go to: the tree's own script and .mailmap say it, and nothing is added."""

import subprocess
from pathlib import Path

import pytest
from support import error_line, need_program, profdiff
from tars import unpack_session

from profdiff.base.errors import InputError
from profdiff.sources import maintainers
from profdiff.sources.maintainers import Contact
from profdiff.sources.repository import Repository

SENDER = ("--from", "A B <a@example.org>")
# Prints as Linux's own does, of the files that it is asked about, and how it was asked.
SCRIPT = r"""#!/usr/bin/perl
die "no MAINTAINERS\n" unless -f "MAINTAINERS";
my @files = map { $ARGV[$_ + 1] } grep { $ARGV[$_] eq "-f" } 0 .. $#ARGV;
for (@files) { die "$_: file not found\n" unless -f $_; }
print "Andrew Morton <akpm\@example.org> (maintainer:MEMORY MAPPING)\n";
print "\"J. R. Doe\" <doe\@example.org> (reviewer:MEMORY (CORE))\n";
print "Masked <m...\@example.org> (maintainer:NOBODY)\n";
print "linux-mm\@example.org (open list:" . join(" ", @files) . ")\n";
print join(" ", @ARGV), "\n";
"""


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=Old Name", "-c", "user.email=old@example.org"]
    return subprocess.run(
        ["git", *who, *words], cwd=folder, capture_output=True, text=True, check=True
    ).stdout


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    need_program("perl", "perl")
    folder = tmp_path / "linux"
    for name, text in {
        "scripts/get_maintainer.pl": SCRIPT,
        "MAINTAINERS": "x\n",
        ".mailmap": "New Name <new@example.org> <old@example.org>\n",
        "mm/mprotect.c": "int a;\n",
        "mm/memory.c": "int b;\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(tmp_path, "init", "-q", str(folder))
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "mm: begin")
    (folder / "mm/memory.c").write_text("int c;\n")
    message = "mm: do more\n\nText-by: nobody\nReviewed-by: R <r@example.org>\nSigned-off-by: Old"
    git(folder, "commit", "-qam", f"{message} <old@example.org>")
    return folder


def test_the_trees_own_script_is_asked(tree: Path) -> None:
    files = ["mm/mprotect.c", "mm/gone.c", "../../etc/passwd", "-x"]
    found = maintainers.of_files(Repository.open(tree), "HEAD", files)
    assert found == [
        Contact("Andrew Morton <akpm@example.org>", "maintainer: MEMORY MAPPING"),
        Contact('"J. R. Doe" <doe@example.org>', "reviewer: MEMORY (CORE)"),
        Contact("Masked <m...@example.org>", "maintainer: NOBODY"),
        Contact("linux-mm@example.org", "open list: mm/mprotect.c"),
    ]
    assert maintainers.command(["a.c"]) == [
        "scripts/get_maintainer.pl",
        "--nogit",
        "--nogit-fallback",
        "--nor",
        "-f",
        "a.c",
    ]


def test_a_commits_author_and_signers_have_their_new_addresses(tree: Path) -> None:
    repository = Repository.open(tree)
    commit = git(tree, "rev-parse", "HEAD").strip()[:12]
    assert maintainers.of_commit(repository, "HEAD") == [
        Contact("New Name <new@example.org>", f"author of {commit}"),
        Contact("R <r@example.org>", f"Reviewed-by of {commit}"),
        Contact("New Name <new@example.org>", f"Signed-off-by of {commit}"),
    ]
    assert maintainers.changed_by(repository, "HEAD") == ["mm/memory.c"]


def test_a_tree_without_the_script_is_named(tree: Path) -> None:
    git(tree, "rm", "-q", "--cached", "MAINTAINERS")
    git(tree, "commit", "-qm", "x")
    with pytest.raises(InputError, match=r"has no scripts/get_maintainer\.pl: name a tree"):
        maintainers.of_files(Repository.open(tree), "HEAD", ["mm/memory.c"])


def test_a_script_that_fails_is_said(tree: Path) -> None:
    (tree / "scripts/get_maintainer.pl").write_text('die "broken\\n";\n')
    git(tree, "commit", "-qam", "x")
    with pytest.raises(InputError, match="failed: broken"):
        maintainers.of_files(Repository.open(tree), "HEAD", ["mm/memory.c"])


def test_a_mail_proposes_and_adds_nobody(tree: Path, tmp_path: Path) -> None:
    session = tmp_path / "old.profdiff"
    unpack_session(session)
    alone = profdiff("mail", session, *SENDER)
    assert "whom to ask: in a tree of Linux, scripts/get_maintainer.pl --nogit" in alone.stderr
    assert " -f mm/mprotect.c" in alone.stderr
    git(tree, "tag", "v1.0")
    blamed = ("--repo", tree, "--base", "v1.0", "--new", "v1.0")
    told = profdiff("mail", session, *SENDER, *blamed, "--to", "akpm@example.org")
    lines = told.stderr.partition("whom to ask; --to and --cc add them:\n")[2].splitlines()
    assert lines[0] == '  "J. R. Doe" <doe@example.org>   (reviewer: MEMORY (CORE))'
    assert lines[1].startswith("  linux-mm@example.org   (open list: mm/m")
    assert "doe@example.org" not in told.stdout
    assert "Masked" not in told.stderr
    broken = ("--repo", tmp_path / "nothing", "--base", "v1.0", "--new", "v1.0")
    assert "nothing" in error_line(profdiff("mail", session, *SENDER, *broken, status=2))
