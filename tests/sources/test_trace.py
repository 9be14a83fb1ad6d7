"""Who added and who removed each line, against histories whose author is known."""

from collections.abc import Collection, Mapping
from pathlib import Path

import pytest
from made_repository import Made, MadeRepository, make, numbered, text

from profdiff.base.errors import InputError
from profdiff.sources.repository import Repository, SourceLine, Trace

BODY = numbered(1, 30)


def traced(made: MadeRepository, base: str, new: str, files: Collection[str]) -> Trace:
    """All lines of the files that differ."""
    repository = Repository.open(made.folder)
    same = repository.same_lines(base, new, files)
    sides = []
    for revision, find, has in (
        (new, same.in_base, same.has),
        (base, same.in_new, same.base_has),
    ):
        content = repository.files(revision, files)
        lines = {
            (file, line)
            for file, data in content.items()
            for line in range(1, data.count(b"\n") + 1)
            if find(file, line) is None
        }
        assert all(has(*line) for line in lines)
        sides.append(lines)
    return repository.trace(base, new, *sides, same)


def names(made: MadeRepository, found: Mapping[SourceLine, str]) -> dict[SourceLine, str]:
    """Commits by what the test calls them."""
    known = {value: key for key, value in made.commits.items()}
    return {line: known[commit] for line, commit in found.items()}


def test_each_line_of_a_line_of_commits(tmp_path: Path) -> None:
    changed = [*BODY[:4], "\tchanged();", *BODY[5:]]
    longer = [*changed[:20], "\tfirst();", "\tsecond();", *changed[20:]]
    shorter = [*longer[:9], *longer[10:]]
    reformatted = [line.replace("\t", "    ") for line in shorter]
    few = [*reformatted[:2], *shorter[2:]]
    made = make(
        tmp_path / "r",
        {
            "base": Made({"mm/a.c": text(*BODY)}),
            "change": Made({"mm/a.c": text(*changed)}, ["base"]),
            "add": Made({"mm/a.c": text(*longer)}, ["change"]),
            "remove": Made({"mm/a.c": text(*shorter)}, ["add"]),
            "reformat": Made({"mm/a.c": text(*few)}, ["remove"]),
            "rename": Made({"mm/b.c": text(*few)}, ["reformat"]),
            "other": Made({"mm/b.c": text(*few), "x": "y\n"}, ["rename"]),
            "all": Made({"mm/b.c": text(*reformatted), "x": "y\n"}, ["other"]),
        },
    )
    found = traced(made, "base", "other", ["mm/a.c", "mm/b.c"])
    assert names(made, found.added) == {
        ("mm/b.c", 5): "change",
        ("mm/b.c", 20): "add",
        ("mm/b.c", 21): "add",
    }
    assert names(made, found.removed) == {("mm/a.c", 5): "change", ("mm/a.c", 10): "remove"}
    assert not found.moved
    # The ends have no line in common, to the letter, and no end tells that it is the same file.
    same = traced(made, "base", "all", ["mm/a.c", "mm/b.c"])
    assert (same.added, same.removed) == (found.added, found.removed)
    assert same.moved[("mm/b.c", 31)] == ("mm/a.c", 30) and len(same.moved) == 28


def test_two_commits_in_one_line(tmp_path: Path) -> None:
    """The last one changed what the new kernel has, the first one what the base had."""
    versions = [text(*BODY[:9], f"\tvalue = {i};", *BODY[9:]) for i in range(3)]
    made = make(
        tmp_path / "r",
        {
            "base": Made({"a.c": versions[0]}),
            "first": Made({"a.c": versions[1]}, ["base"]),
            "second": Made({"a.c": versions[2]}, ["first"]),
        },
    )
    found = traced(made, "base", "second", ["a.c"])
    assert names(made, found.added) == {("a.c", 10): "second"}
    assert names(made, found.removed) == {("a.c", 10): "first"}


@pytest.mark.parametrize("few", [200, 0])
def test_moved_lines_are_neither_added_nor_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    """With git's -C and, as in a commit that changes very many files, without it."""
    monkeypatch.setattr("profdiff.sources.origins._MAX_FILES", few)
    moved = numbered(1, 12, "moved")
    made = make(
        tmp_path / "r",
        {
            "base": Made({"a.c": text(*BODY, *moved), "b.c": text(*numbered(1, 9, "b"))}),
            "move": Made({"a.c": text(*BODY), "b.c": text(*moved, *numbered(1, 9, "b"))}, ["base"]),
            "change": Made(
                {
                    "a.c": text(*BODY),
                    "b.c": text(*moved[:3], "\tnow();", *moved[4:], *numbered(1, 9, "b")),
                },
                ["move"],
            ),
        },
    )
    found = traced(made, "base", "change", ["a.c", "b.c"])
    assert found.moved == {("b.c", i): ("a.c", 30 + i) for i in range(1, 13) if i != 4}
    assert names(made, found.added) == {("b.c", 4): "change"}
    # Its line left the file with the move.
    assert names(made, found.removed) == {("a.c", 34): "move"}


def test_lines_from_a_file_that_nobody_asked_for(tmp_path: Path) -> None:
    """They were changed there before they were moved."""
    moved = numbered(1, 12, "moved")
    changed = [*moved[:5], "\tchanged_long_before_it_was_moved(at_another_place);", *moved[6:]]
    b = numbered(1, 9, "b")
    made = make(
        tmp_path / "r",
        {
            "base": Made({"far.c": text(*BODY, *moved), "b.c": text(*b)}),
            "change": Made({"far.c": text(*BODY, *changed), "b.c": text(*b)}, ["base"]),
            "between": Made({"far.c": text(*BODY, *changed), "b.c": text(*b), "x": ""}, ["change"]),
            "move": Made({"far.c": text(*BODY), "b.c": text(*b, *changed), "x": ""}, ["between"]),
        },
    )
    found = traced(made, "base", "move", ["b.c"])
    assert names(made, found.added) == {("b.c", 15): "change"}
    assert found.moved == {("b.c", 9 + i): ("far.c", 30 + i) for i in range(1, 13) if i != 6}


def test_a_copy_belongs_to_who_made_it(tmp_path: Path) -> None:
    made = make(
        tmp_path / "r",
        {
            "base": Made({"a.c": text(*BODY), "b.c": text("x")}),
            # git finds copies in files that the commit changes.
            "copy": Made({"a.c": text("\tnew();", *BODY), "b.c": text("x", *BODY[:12])}, ["base"]),
        },
    )
    found = traced(made, "base", "copy", ["a.c", "b.c"])
    assert names(made, found.added) == {("a.c", 1): "copy"} | {
        ("b.c", i): "copy" for i in range(2, 14)
    }
    assert not found.moved and not found.removed


def test_a_file_that_came_and_one_that_went(tmp_path: Path) -> None:
    made = make(
        tmp_path / "r",
        {
            "base": Made({"gone.c": text(*numbered(1, 3, "gone")), "k": ""}),
            "remove": Made({"k": ""}, ["base"]),
            "create": Made({"k": "", "came.c": text("int came;")}, ["remove"]),
            "extend": Made({"k": "", "came.c": text("int came;", "int more;")}, ["create"]),
        },
    )
    found = traced(made, "base", "extend", ["gone.c", "came.c"])
    assert names(made, found.added) == {("came.c", 1): "create", ("came.c", 2): "extend"}
    assert names(made, found.removed) == {("gone.c", i): "remove" for i in (1, 2, 3)}


def test_a_rename_with_a_change_of_another_name(tmp_path: Path) -> None:
    """a.c became b.c, lost a line, became c.c, and lost another."""
    made = make(
        tmp_path / "r",
        {
            "base": Made({"a.c": text(*BODY)}),
            "rename": Made({"b.c": text(*BODY[1:])}, ["base"]),
            "shorten": Made({"b.c": text(*BODY[1:9], *BODY[10:])}, ["rename"]),
            "again": Made({"c.c": text(*BODY[1:9], *BODY[10:], "\tend();")}, ["shorten"]),
        },
    )
    found = traced(made, "base", "again", ["a.c", "c.c"])
    assert names(made, found.removed) == {("a.c", 1): "rename", ("a.c", 10): "shorten"}
    assert names(made, found.added) == {("c.c", 29): "again"}


def test_merges_are_blamed_only_for_what_they_did(tmp_path: Path) -> None:
    """Line 5 goes on the branch, 15 on the trunk, 10 on both, and 20 in the merge itself, which
    also adds one; the branch adds line 25.5, and another branch touches nothing of it."""

    def without(*gone: int, more: bool = False, end: str = "") -> dict[str, str]:
        lines = [line for i, line in enumerate(BODY, 1) if i not in gone]
        if more:
            lines.insert(lines.index(BODY[24]) + 1, "\tmore();")
        return {"a.c": text(*lines, *([end] if end else []))}

    merged = without(5, 10, 15, 20, more=True, end="\tevil();")
    made = make(
        tmp_path / "r",
        {
            "base": Made(without()),
            "aside": Made({**without(), "x": "1\n"}, ["base"]),
            "branch5": Made(without(5), ["base"]),
            "branch10": Made(without(5, 10), ["branch5"]),
            "branch_more": Made(without(5, 10, more=True), ["branch10"]),
            "trunk15": Made(without(15), ["base"]),
            "trunk10": Made(without(10, 15), ["trunk15"]),
            "merge": Made(merged, ["trunk10", "branch_more"]),
            "harmless": Made({**merged, "x": "1\n"}, ["merge", "aside"]),
            "last": Made({**merged, "x": "2\n"}, ["harmless"]),
        },
    )
    found = traced(made, "base", "last", ["a.c"])
    removed = names(made, found.removed)
    assert removed.pop(("a.c", 10)) in {"branch10", "trunk10"}
    assert removed == {("a.c", 5): "branch5", ("a.c", 15): "trunk15", ("a.c", 20): "merge"}
    assert sorted(names(made, found.added).values()) == ["branch_more", "merge"]


def test_a_branch_that_is_older_than_the_base(tmp_path: Path) -> None:
    """It forked before the base and was merged after it: line 3 goes there. The base's own line 7,
    which the branch never had, goes in the merge."""
    whole = [*BODY[:6], "\tyoung();", *BODY[6:]]
    made = make(
        tmp_path / "r",
        {
            "root": Made({"a.c": text(*BODY)}),
            "base": Made({"a.c": text(*whole)}, ["root"]),
            "branch": Made({"a.c": text(*BODY[:2], *BODY[3:])}, ["root"]),
            "trunk": Made({"a.c": text(*whole, "\tend();")}, ["base"]),
            "merge": Made({"a.c": text(*BODY[:2], *BODY[3:], "\tend();")}, ["trunk", "branch"]),
        },
    )
    found = traced(made, "base", "merge", ["a.c"])
    assert names(made, found.removed) == {("a.c", 3): "branch", ("a.c", 7): "merge"}
    assert names(made, found.added) == {("a.c", 30): "trunk"}


def test_stable_branches(tmp_path: Path) -> None:
    """The base is no ancestor of the new revision: what its branch added is gone, and what its
    branch removed is back, because of the base's commits."""
    backport = [*BODY[:9], *BODY[10:], "\tonly_stable();"]
    mainline = [*BODY[:4], "\tmainline();", *BODY[5:]]
    made = make(
        tmp_path / "r",
        {
            "fork": Made({"a.c": text(*BODY)}),
            "stable": Made({"a.c": text(*backport)}, ["fork"]),
            "mainline": Made({"a.c": text(*mainline)}, ["fork"]),
        },
    )
    found = traced(made, "stable", "mainline", ["a.c"])
    assert names(made, found.added) == {("a.c", 5): "mainline", ("a.c", 10): "stable"}
    assert names(made, found.removed) == {("a.c", 5): "mainline", ("a.c", 30): "stable"}


def test_revisions_to_ignore(tmp_path: Path) -> None:
    changed = [line.replace("work_on", "work_with") for line in BODY]
    later = [*changed[:9], "\tlater();", *changed[10:]]
    made = make(
        tmp_path / "r",
        {
            "base": Made({"a.c": text(*BODY)}),
            "sweep": Made({"a.c": text(*changed)}, ["base"]),
            "later": Made({"a.c": text(*later)}, ["sweep"]),
        },
    )
    plain = traced(made, "base", "later", ["a.c"])
    assert sorted(set(names(made, plain.added).values())) == ["later", "sweep"]
    (made.folder / ".git-blame-ignore-revs").write_text(made.commits["sweep"] + "\n")
    made.git("config", "blame.ignoreRevsFile", ".git-blame-ignore-revs")
    ignoring = traced(made, "base", "later", ["a.c"])
    assert names(made, ignoring.added) == {("a.c", 10): "later"}
    assert ignoring.moved == {("a.c", i): ("a.c", i) for i in range(1, 31) if i != 10}


def test_odd_names_of_files(tmp_path: Path) -> None:
    odd = ['a "b".c', "tab\t.c", "-x.c", ":(top)*.c", "é/ü.c", "back\\slash.c", "f" * 40]
    made = make(
        tmp_path / "r",
        {
            "base": Made({name: text(*BODY) for name in odd}),
            "change": Made({name: text("\tx();", *BODY[1:]) for name in odd}, ["base"]),
        },
    )
    found = traced(made, "base", "change", odd)
    assert names(made, found.added) == {(name, 1): "change" for name in odd}
    assert names(made, found.removed) == {(name, 1): "change" for name in odd}


def test_no_history_in_common(tmp_path: Path) -> None:
    made = make(tmp_path / "r", {"a": Made({"a.c": "x\n"}), "b": Made({"a.c": "y\n"})})
    with pytest.raises(InputError, match="have no history in common"):
        traced(made, "a", "b", ["a.c"])


def test_a_shallow_clone(tmp_path: Path) -> None:
    versions = {"base": Made({"a.c": text(*BODY)})}
    for i in range(1, 5):
        before = f"c{i - 1}" if i > 1 else "base"
        versions[f"c{i}"] = Made({"a.c": text(*BODY[i:])}, [before])
    made = make(tmp_path / "r", versions)
    shallow = make(tmp_path / "shallow", {})
    shallow.commits.update(made.commits)
    both = ("base:refs/heads/base", "c4:refs/heads/c4")
    shallow.git("fetch", "-q", "--depth=1", f"file://{made.folder}", *both)
    with pytest.raises(InputError, match=r"shallow clone .* fetch --unshallow"):
        traced(shallow, "base", "c4", ["a.c"])
    repository = Repository.open(shallow.folder)
    with pytest.raises(InputError, match=r"has no revision 'v9'.*--unshallow"):
        repository.commit("v9")
    # What lies behind both ends is not needed.
    shallow.git("fetch", "-q", "--depth=2", f"file://{made.folder}", "c4")
    found = traced(shallow, made.commits["c3"], "c4", ["a.c"])
    assert names(made, found.removed) == {("a.c", 1): "c4"}


def test_a_few_words_are_not_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """git asks for 40 letters and digits of a move between files, and so does what stands in for
    it; a line that occurs often begins no move."""
    monkeypatch.setattr("profdiff.sources.origins._MAX_FILES", 0)
    short, common = ["\tshort(12345678);"], ["\tcommon_line_of_all(12345678);", "}"]
    long = ["\tif (one_long_condition(argument)) {", "\t\tand_what_follows(from_it);", "\t}"]
    b = numbered(1, 9, "b")
    made = make(
        tmp_path / "r",
        {
            "base": Made({"a.c": text(*short, *BODY, "}", *long, *common * 20), "b.c": text(*b)}),
            "move": Made({"a.c": text(*BODY), "b.c": text(*b, *short, *common, *long)}, ["base"]),
        },
    )
    found = traced(made, "base", "move", ["a.c", "b.c"])
    # With the brace before it, which alone says nothing.
    assert found.moved == {("b.c", 12 + i): ("a.c", 32 + i) for i in range(4)}
    assert names(made, found.added) == {("b.c", 10): "move", ("b.c", 11): "move"}
