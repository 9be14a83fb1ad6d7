"""What a repository says of itself, and what is said where it cannot be read."""

import os
from pathlib import Path

import pytest
from made_repository import Made, make, numbered, text

from profdiff.base.errors import InputError, MissingError
from profdiff.sources.repository import Commit, Repository

BODY = numbered(1, 20)


def test_commits(tmp_path: Path) -> None:
    subject = "mm: a subject with ü, a \ttab\nand a body"
    made = make(
        tmp_path / "r",
        {"base": Made({"a": "1"}), "new": Made({"a": "2"}, ["base"], subject)},
    )
    repository = Repository.open(made.folder)
    found = repository.commits([made.commits["new"], made.commits["new"]])
    (commit,) = found.values()
    assert commit == Commit(
        made.commits["new"],
        "mm: a subject with ü, a \ttab and a body",
        "A U Thor",
        "2023-11-14T22:13:22+00:00",
    )
    assert repository.commits([]) == {}
    with pytest.raises(InputError):
        repository.commits(["0" * 40])
    assert repository.commit("new") == repository.commit(made.commits["new"][:10]) == commit.hash


def test_a_subfolder_and_a_worktree(tmp_path: Path) -> None:
    made = make(
        tmp_path / "r",
        {"base": Made({"mm/a.c": "x\n"}), "new": Made({"mm/a.c": "y\n"}, ["base"])},
    )
    made.checked_out("new")
    made.git("worktree", "add", "-q", str(tmp_path / "w"), "base")
    for folder in (made.folder / "mm", made.folder / ".git", tmp_path / "w"):
        repository = Repository.open(folder)
        same = repository.same_lines("base", "new", ["mm/a.c"])
        found = repository.trace("base", "new", [("mm/a.c", 1)], [], same)
        assert found.added == {("mm/a.c", 1): made.commits["new"]}, folder


def test_which_lines_are_the_same(tmp_path: Path) -> None:
    made = make(
        tmp_path / "r",
        {
            "base": Made(
                {"a.c": text(*BODY), "old.c": text(*BODY, "end"), "e.c": "", "n.c": "a\nb"}
            ),
            "new": Made(
                {
                    "a.c": text("first", *BODY[:5], "   " + BODY[5], *BODY[8:]),
                    "new.c": text(*BODY[1:], "end"),
                    "e.c": "now\n",
                    "n.c": "a\nb\n",
                },
                ["base"],
            ),
        },
    )
    repository = Repository.open(made.folder)
    same = repository.same_lines("base", "new", ["a.c", "new.c", "e.c", "n.c", "none.c"])
    expected = [None, *range(1, 7), *range(9, 21)]
    found = [same.in_base("a.c", line) for line in range(1, 20)]
    assert found == [line and ("a.c", line) for line in expected]
    back = [same.in_new("a.c", line) for line in range(1, 21)]
    assert back == [("a.c", expected.index(i) + 1) if i in expected else None for i in range(1, 21)]
    # Renamed, though only the new name was asked for.
    assert same.in_base("new.c", 1) == ("old.c", 2) and same.in_new("old.c", 1) is None
    assert same.in_base("e.c", 1) is None and same.has("e.c") and not same.base_has("e.c")
    assert same.in_base("n.c", 2) == ("n.c", 2)
    assert not same.has("none.c") and same.in_base("none.c", 1) is None
    assert same.has("a.c", 19) and not same.has("a.c", 20) and not same.has("a.c", 0)
    assert same.in_base("a.c", 20) is None and same.in_new("a.c", 0) is None
    assert same.added("a.c", 1) == range(1, 2) and same.removed("a.c", 7) == range(7, 9)
    # And where only the old one was.
    assert repository.same_lines("base", "new", ["old.c"]).in_new("old.c", 2) == ("new.c", 1)


def test_what_is_no_repository(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such folder"):
        Repository.open(tmp_path / "missing")
    with pytest.raises(InputError, match=f"^{tmp_path}: not a git repository$"):
        Repository.open(tmp_path)
    (tmp_path / ".git").mkdir()
    with pytest.raises(InputError, match="not a git repository"):
        Repository.open(tmp_path)


def test_a_file_of_revisions_that_is_missing(tmp_path: Path) -> None:
    made = make(tmp_path / "r", {"base": Made({"a": "x\n"})})
    with pytest.raises(InputError, match="no such file of revisions to ignore"):
        Repository.open(made.folder, tmp_path / "missing")
    # git itself refuses to blame then.
    made.git("config", "blame.ignoreRevsFile", "missing")
    assert Repository.open(made.folder).ignored == ()


def test_git_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = make(tmp_path / "r", {"base": Made({"a": "x\n"})})
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingError, match="apt-get install git"):
        Repository.open(made.folder)


def test_a_repository_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = make(tmp_path / "r", {"base": Made({"a": "x\n"})})
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", "/dev/null")
    try:
        for path in [made.folder, *made.folder.rglob("*")]:
            os.chown(path, 12345, 12345)
    except PermissionError:
        pytest.skip("giving files away needs root")
    with pytest.raises(InputError, match=r"belongs to another user.*safe.directory"):
        Repository.open(made.folder)


def test_a_partial_clone(tmp_path: Path) -> None:
    """Its missing objects are not fetched unasked."""
    made = make(
        tmp_path / "r",
        {"base": Made({"a.c": text(*BODY)}), "new": Made({"a.c": text(*BODY[1:])}, ["base"])},
    )
    made.git("config", "uploadpack.allowFilter", "true")
    made.git("config", "uploadpack.allowAnySHA1InWant", "true")
    clone = ("clone", "-q", "--bare", "--filter=blob:none", f"file://{made.folder}")
    made.git(*clone, str(tmp_path / "partial"))
    repository = Repository.open(tmp_path / "partial")
    with pytest.raises(InputError, match="partial clone, and objects are missing: git fetch"):
        repository.same_lines("base", "new", ["a.c"])
    with pytest.raises(InputError, match="partial clone, and objects are missing: git fetch"):
        repository.files("base", ["a.c"])
