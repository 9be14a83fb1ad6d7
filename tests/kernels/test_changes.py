"""Patches and reverts on top of a revision: ``git am`` and ``git revert`` say what is right."""

import re
import subprocess
from pathlib import Path

import pytest
import small_linux
from built_kernels import built, history
from made_repository import ENV, Made, MadeRepository, make, numbered, text

from profdiff.base.errors import InputError
from profdiff.collectors.kernels.build import DoesNotApply
from profdiff.collectors.kernels.building.prepared import Prepared, prepare
from profdiff.collectors.kernels.git_spec import GitSpec


@pytest.fixture
def repo(tmp_path: Path) -> MadeRepository:
    """A line of commits that change a long file here and there, and two that do the same."""
    lines = numbered(1, 60)

    def tree(*changed: int) -> dict[str, str]:
        body = [f"{line} /* faster */" if i in changed else line for i, line in enumerate(lines)]
        return {"mm/long.c": text(*body), "mm/short.c": "int x;\n"}

    return make(
        tmp_path / "linux",
        {
            "base": Made(tree(), subject="base"),
            "one": Made(tree(5), ["base"], "mm: speed up one"),
            "two": Made(tree(5, 30), ["one"], "mm: speed up two, ünïcode"),
            "three": Made(tree(5, 30, 55), ["two"], "mm: speed up three"),
            "side": Made(tree() | {"mm/new.c": "int y;\n"}, ["base"], "mm: a side branch"),
            "merge": Made(tree(5) | {"mm/new.c": "int y;\n"}, ["one", "side"], "Merge side"),
        },
    )


def prepared(repo: MadeRepository, rest: str) -> Prepared:
    """What ``git:REPO`` and ``rest`` will be."""
    return prepare(GitSpec.parse(f"git:{repo.folder}{rest}"))


def in_another_worktree(repo: MadeRepository, start: str, *words: str | Path) -> str:
    """The tree after git itself did ``words`` on ``start``."""
    place = repo.folder.parent / "another"
    repo.git("worktree", "add", "-q", "--detach", str(place), start)
    try:
        command = ["git", "-C", place, "-c", "user.name=n", "-c", "user.email=e", *words]
        subprocess.run(command, check=True, env=ENV, capture_output=True)
        said = subprocess.run(
            ["git", "-C", place, "rev-parse", "HEAD^{tree}"], check=True, capture_output=True
        )
        return said.stdout.decode().strip()
    finally:
        repo.git("worktree", "remove", "--force", str(place))


def mbox(repo: MadeRepository, where: Path, commits: str, *options: str) -> Path:
    """Commits as a file of mails."""
    where.write_text(repo.git("format-patch", "--stdout", *options, commits))
    return where


def test_a_mail_is_applied_as_git_am_does(repo: MadeRepository, tmp_path: Path) -> None:
    patch = mbox(repo, tmp_path / "two.patch", "one..two")
    made = prepared(repo, f"@base+{patch}")
    assert made.tree == in_another_worktree(repo, "base", "am", patch)
    assert made.patches == ("two.patch: mm: speed up two, ünïcode",)
    assert made.commit == repo.commits["base"] != made.built
    # The patch is a commit of its author.
    said = repo.git("log", "-1", "--format=%an <%ae> %at%n%s%n%P", made.built).splitlines()
    author = repo.git("log", "-1", "--format=%an <%ae> %at", "two").strip()
    assert said == [author, "mm: speed up two, ünïcode", repo.commits["base"]]


def test_a_series_with_a_cover_letter(repo: MadeRepository, tmp_path: Path) -> None:
    series = mbox(repo, tmp_path / "all.mbox", "base..three", "--cover-letter")
    assert "*** BLURB HERE ***" in series.read_text()
    made = prepared(repo, f"@base+{series}")
    assert made.tree == repo.git("rev-parse", "three^{tree}").strip()
    subjects = repo.git("log", "--format=%s", "--reverse", f"base..{made.built}").splitlines()
    assert subjects == ["mm: speed up one", "mm: speed up two, ünïcode", "mm: speed up three"]
    assert [name.partition(": ")[2] for name in made.patches] == subjects


def test_a_folder_of_patches(repo: MadeRepository, tmp_path: Path) -> None:
    folder = tmp_path / "patches"
    repo.git("format-patch", "-q", "-o", str(folder), "base..three")
    made = prepared(repo, f"@base+{folder}")
    assert made.tree == repo.git("rev-parse", "three^{tree}").strip()
    assert len(made.patches) == 3


def test_a_plain_diff(repo: MadeRepository, tmp_path: Path) -> None:
    patch = tmp_path / "plain.diff"
    patch.write_text(repo.git("diff", "two", "three"))
    made = prepared(repo, f"@base+{patch}")
    assert made.patches == ("plain.diff",)
    assert "mm/long.c" in repo.git("diff", "--stat", "base", made.built)
    # By patch(1), which knows nothing of git.
    (tmp_path / "mm").mkdir()
    (tmp_path / "mm/long.c").write_text(repo.git("show", "base:mm/long.c"))
    with patch.open() as file:
        subprocess.run(["patch", "-s", "-p1"], stdin=file, cwd=tmp_path, check=True)
    assert repo.git("show", f"{made.tree}:mm/long.c") == (tmp_path / "mm/long.c").read_text()


def test_a_patch_on_a_work_tree(repo: MadeRepository, tmp_path: Path) -> None:
    repo.git("checkout", "-q", "base")
    (repo.folder / "mm/short.c").write_text("int changed;\n")
    made = prepared(repo, f"+{mbox(repo, tmp_path / 'p', 'one..two')}")
    assert made.dirty
    assert repo.git("show", f"{made.tree}:mm/short.c") == "int changed;\n"
    assert repo.git("diff", "--name-only", "base", made.built).split() == [
        "mm/long.c",
        "mm/short.c",
    ]


@pytest.mark.parametrize("commit", ["one", "two", "three", "three^", "three~2"])
def test_a_commit_is_reverted_as_git_does(repo: MadeRepository, commit: str) -> None:
    whole = repo.git("rev-parse", commit).strip()
    made = prepared(repo, f"@three~{whole}")
    assert made.reverted == (whole,)
    assert made.tree == in_another_worktree(repo, "three", "revert", "--no-edit", whole)
    assert repo.git("log", "-1", "--format=%s", made.built).startswith('Revert "mm: speed up')


def test_a_merge_is_reverted_to_its_first_parent(repo: MadeRepository) -> None:
    made = prepared(repo, f"@merge~{repo.commits['merge']}")
    assert made.tree == repo.git("rev-parse", "one^{tree}").strip()


def test_changes_are_done_in_their_order(repo: MadeRepository, tmp_path: Path) -> None:
    two = mbox(repo, tmp_path / "two.patch", "one..two")
    made = prepared(repo, f"@three~{repo.commits['two']}+{two}~{repo.commits['one']}")
    assert made.tree == in_another_worktree(
        repo, "three", "revert", "--no-edit", repo.commits["one"]
    )
    assert len(repo.git("rev-list", f"three..{made.built}").split()) == 3


def test_the_same_changes_are_the_same_commit(repo: MadeRepository, tmp_path: Path) -> None:
    rest = f"@base+{mbox(repo, tmp_path / 'p', 'one..two')}"
    assert prepared(repo, rest).built == prepared(repo, rest).built


@pytest.mark.parametrize(
    ("rest", "kind", "said"),
    [
        ("@base+{}/gone.patch", InputError, "no such patch"),
        ("@base+{}/empty", InputError, "contains no patch"),
        ("@base+{}/words", InputError, "contains no patch"),
        ("@base+{}/cover", InputError, "contains no patch"),
        ("@base+{}/other.patch", DoesNotApply, "mm/absent.c"),
        (
            "@two+{}/two.patch",
            DoesNotApply,
            "(mm: speed up two, ünïcode) changes nothing",
        ),
        ("@base+{}/clash.patch", DoesNotApply, "does not apply to base: conflicts in mm/long.c"),
        ("@base~{two}", DoesNotApply, "does not revert: what it changes is not there"),
        ("@base~{base}", DoesNotApply, "cannot be reverted: it has no parent"),
        ("@clash~{one}", DoesNotApply, "does not revert: conflicts in mm/long.c"),
        ("@base~nonesuch", InputError, "has no revision 'nonesuch'"),
    ],
)
def test_what_does_not_apply(
    repo: MadeRepository, tmp_path: Path, rest: str, kind: type[Exception], said: str
) -> None:
    mbox(repo, tmp_path / "two.patch", "one..two")
    (tmp_path / "empty").mkdir()
    (tmp_path / "words").write_text("Only words.\n")
    (tmp_path / "cover").write_text("From: a\nSubject: [PATCH 0/1] cover\n\nWords.\n")
    absent = "--- a/mm/absent.c\n+++ b/mm/absent.c\n@@ -1 +1 @@\n-a\n+b\n"
    (tmp_path / "other.patch").write_text(absent)
    repo.git("checkout", "-q", "-b", "clash", "one")
    long = repo.folder / "mm/long.c"
    long.write_text(long.read_text().replace("faster", "slower"))
    repo.git("commit", "-qam", "mm: clash")
    mbox(repo, tmp_path / "clash.patch", "one..clash")
    repo.git("checkout", "-q", "base")
    with pytest.raises(kind, match=re.escape(said)) as caught:
        prepared(repo, rest.format(tmp_path, **repo.commits))
    assert "\n" not in str(caught.value)
    assert repo.git("status", "--porcelain") == ""


@pytest.mark.build
def test_a_patch_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROFDIFF_CACHE", str(tmp_path / "cache"))
    small = history(tmp_path / "small")
    patch = mbox(small, tmp_path / "fast.patch", "other..fast")
    patched = built(small, f"@base+{patch}")
    assert patched.source and patched.source.patches == ["fast.patch: mm: make it fast"]
    # base with fast is fast without other: one tree, one kernel.
    reverted = built(small, f"@fast~{small.commits['other']}")
    assert reverted.image == patched.image
    assert reverted.source and reverted.source.reverted == [small.commits["other"]]
    assert small.git("show", f"{patched.source.tree}:mm/mprotect.c") != small_linux.MPROTECT
