"""What a repository's configuration names is not started when its source is prepared and checked
out; and nothing of a work tree is overlooked."""

import subprocess
from pathlib import Path

import pytest
from made_repository import ENV, Made, MadeRepository, make, numbered, text

from profdiff.base.errors import InputError
from profdiff.collectors.kernels.building.prepared import prepare
from profdiff.collectors.kernels.building.slots import slot_for
from profdiff.collectors.kernels.git_spec import GitSpec

LINES = numbered(1, 40)


def changed(*lines: int) -> str:
    """The lines, some of them others."""
    return text(*(f"{line} faster" if i in lines else line for i, line in enumerate(LINES)))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of its own."""
    monkeypatch.setenv("PROFDIFF_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def trapped(tmp_path: Path) -> MadeRepository:
    """``base``; ``one`` and ``two`` change a file in different places. Its filters and its merge
    driver spoil the file, and leave ``sprung`` behind."""
    attributes = {".gitattributes": "*.c filter=trap merge=trap\n"}
    made = make(
        tmp_path / "r",
        {
            "base": Made({"a.c": changed()} | attributes),
            "one": Made({"a.c": changed(5)} | attributes, ["base"]),
            "two": Made({"a.c": changed(5, 30)} | attributes, ["one"]),
        },
    )
    made.git("checkout", "-q", "one")
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\necho spoilt\n")
    trap.chmod(0o755)
    for name in ("filter.trap.clean", "filter.trap.smudge", "merge.trap.driver"):
        made.git("config", name, str(trap))
    made.git("config", "filter.trap.required", "true")
    return made


def test_a_work_tree(trapped: MadeRepository, tmp_path: Path) -> None:
    (trapped.folder / "a.c").write_text("int x;\n")
    prepared = prepare(GitSpec.parse(f"git:{trapped.folder}"))
    assert trapped.git("show", f"{prepared.tree}:a.c") == "int x;\n"
    assert not (tmp_path / "sprung").exists()
    # The trap works.
    trapped.git("add", "a.c")
    assert (tmp_path / "sprung").exists()
    assert trapped.git("show", ":a.c") == "spoilt\n"


def test_a_revert_is_merged_as_text(trapped: MadeRepository, tmp_path: Path) -> None:
    one = trapped.commits["one"]
    prepared = prepare(GitSpec.parse(f"git:{trapped.folder}@two~{one}"))
    assert trapped.git("show", f"{prepared.tree}:a.c") == changed(30)
    assert not (tmp_path / "sprung").exists()


def test_a_patch_with_other_lines_around_is_merged_as_text(
    trapped: MadeRepository, tmp_path: Path
) -> None:
    # It does not apply to base as it stands, where line 5 is other: only a merge brings it in.
    patch = tmp_path / "wide.patch"
    patch.write_text(trapped.git("diff", "-U30", "--full-index", "one", "two"))
    prepared = prepare(GitSpec.parse(f"git:{trapped.folder}@base+{patch}"))
    assert trapped.git("show", f"{prepared.tree}:a.c") == changed(30)
    assert not (tmp_path / "sprung").exists()


def test_a_checkout(trapped: MadeRepository, tmp_path: Path) -> None:
    prepared = prepare(GitSpec.parse(f"git:{trapped.folder}@two"))
    with slot_for(prepared, "x") as slot:
        slot.check_out(prepared.git, prepared.built)
        assert (slot.tree / "a.c").read_text() == changed(5, 30)
    assert not (tmp_path / "sprung").exists()
    place = tmp_path / "plain"
    command = ["git", "-C", str(trapped.folder), "worktree", "add", "-q", str(place), "two"]
    subprocess.run(command, check=True, env=ENV, capture_output=True)
    assert (tmp_path / "sprung").exists()


def test_a_driver_that_cannot_be_overridden_is_refused(trapped: MadeRepository) -> None:
    trapped.git("config", "filter.a=b.clean", "x")
    with pytest.raises(InputError, match=r"its configuration has filter\.a=b\.clean: remove"):
        prepare(GitSpec.parse(f"git:{trapped.folder}"))


def test_files_that_git_is_to_take_as_unchanged(trapped: MadeRepository) -> None:
    trapped.git("update-index", "--assume-unchanged", "a.c")
    trapped.git("update-index", "--skip-worktree", ".gitattributes")
    (trapped.folder / "a.c").write_text("int x;\n")
    (trapped.folder / ".gitattributes").write_text("")
    prepared = prepare(GitSpec.parse(f"git:{trapped.folder}"))
    assert trapped.git("show", f"{prepared.tree}:a.c") == "int x;\n"
    assert trapped.git("show", f"{prepared.tree}:.gitattributes") == ""
    said = trapped.git("ls-files", "-v").split()
    assert said == ["S", ".gitattributes", "h", "a.c"]


def test_an_index_in_parts_stays_as_it_is(trapped: MadeRepository) -> None:
    trapped.git("config", "core.splitIndex", "true")
    trapped.git("update-index", "--split-index")
    before = sorted(path.name for path in (trapped.folder / ".git").glob("*index*"))
    assert len(before) == 2
    (trapped.folder / "new.c").write_text("int y;\n")
    prepared = prepare(GitSpec.parse(f"git:{trapped.folder}"))
    assert trapped.git("show", f"{prepared.tree}:new.c") == "int y;\n"
    assert sorted(path.name for path in (trapped.folder / ".git").glob("*index*")) == before


def test_a_repository_in_a_work_tree_is_left_out(trapped: MadeRepository) -> None:
    inner = make(trapped.folder / "inner", {"base": Made({"b.c": "int z;\n"})})
    make(trapped.folder / "other", {"base": Made({"b.c": "int z;\n"})})
    inner.git("checkout", "-q", "base")
    prepared = prepare(GitSpec.parse(f"git:{trapped.folder}"))
    assert prepared.left_out == ("inner", "other")
    assert not prepared.dirty


def test_nothing_runs_in_a_submodule(trapped: MadeRepository, tmp_path: Path) -> None:
    """A folder that the tree has as another repository's commit, with that repository in it."""
    inner = make(trapped.folder / "drivers", {"base": Made({"b.c": "int z;\n"})})
    inner.git("checkout", "-q", "base")
    inner.git("config", "filter.x.clean", f"touch {tmp_path}/sprung; cat")
    (inner.folder / ".git/info").mkdir(exist_ok=True)
    (inner.folder / ".git/info/attributes").write_text("*.c filter=x\n")
    link = f"160000,{inner.commits['base']},drivers"
    trapped.git("update-index", "--add", "--cacheinfo", link)
    trapped.git("config", "submodule.recurse", "true")
    (inner.folder / "b.c").write_text("int a;\n")
    (trapped.folder / "a.c").write_text("int x;\n")
    # What made the repository has sprung the other trap.
    (tmp_path / "sprung").unlink(missing_ok=True)
    prepared = prepare(GitSpec.parse(f"git:{trapped.folder}"))
    assert trapped.git("show", f"{prepared.tree}:a.c") == "int x;\n"
    assert trapped.git("rev-parse", f"{prepared.tree}:drivers").strip() == inner.commits["base"]
    with slot_for(prepared, "x") as slot:
        slot.check_out(prepared.git, prepared.built)
    assert not (tmp_path / "sprung").exists()
    # The trap works.
    subprocess.run(
        ["git", "-C", str(trapped.folder), "-c", "filter.trap.clean=cat", "add", "--update"],
        check=False,
        env=ENV,
        capture_output=True,
    )
    assert (tmp_path / "sprung").exists()


def test_what_went_and_what_became_a_folder(trapped: MadeRepository) -> None:
    trapped.git("checkout", "-q", "-f", "two")
    for name in ("gone.c", "was-a-file"):
        (trapped.folder / name).write_text("x\n")
        trapped.git("add", name)
    (trapped.folder / "gone.c").unlink()
    (trapped.folder / "was-a-file").unlink()
    (trapped.folder / "was-a-file").mkdir()
    (trapped.folder / "was-a-file/inner.c").write_text("y\n")
    prepared = prepare(GitSpec.parse(f"git:{trapped.folder}"))
    names = trapped.git("ls-tree", "-r", "--name-only", prepared.tree).split()
    assert names == [".gitattributes", "a.c", "was-a-file/inner.c"]


def test_many_filters_are_told(trapped: MadeRepository) -> None:
    with (trapped.folder / ".git/config").open("a") as file:
        file.writelines(f'[filter "f{number}"]\n\tclean = cat\n' for number in range(60_000))
    with pytest.raises(InputError, match=r"its configuration names 60,00\d filters") as error:
        prepare(GitSpec.parse(f"git:{trapped.folder}"))
    assert "\n" not in str(error.value)


def mail(subject: str, date: str, diff: str = "") -> str:
    return (
        f"From {'0' * 40} Mon Sep 17 00:00:00 2001\nFrom: A <a@example.org>\nDate: {date}\n"
        f"Subject: [PATCH] {subject}\n\nText.\n---\n{diff}\n"
    )


def test_an_mbox_of_many_mails_is_refused_at_once(trapped: MadeRepository, tmp_path: Path) -> None:
    box = tmp_path / "many.mbox"
    box.write_text(mail("", "Mon, 1 Jan 2024 00:00:00 +0000").replace("Text.\n---\n", "") * 30_000)
    with pytest.raises(InputError, match=r"many\.mbox holds 30,000 mails, more than 1,000"):
        prepare(GitSpec.parse(f"git:{trapped.folder}@base+{box}"))
    folder = tmp_path / "patches"
    folder.mkdir()
    for number in range(1001):
        (folder / f"{number:04}.patch").touch()
    with pytest.raises(InputError, match=r"patches holds 1,001 patches, more than 1,000"):
        prepare(GitSpec.parse(f"git:{trapped.folder}@base+{folder}"))


def test_a_date_that_is_none_is_told_of_the_patch(trapped: MadeRepository, tmp_path: Path) -> None:
    diff = trapped.git("diff", "--full-index", "base", "one")
    patch = tmp_path / "bad.patch"
    patch.write_text(mail("faster", "the day after", diff))
    with pytest.raises(InputError) as error:
        prepare(GitSpec.parse(f"git:{trapped.folder}@base+{patch}"))
    assert str(error.value).startswith(f"{patch} (faster) makes no commit (invalid date format")
    patch.write_text(mail("faster", "Mon, 1 Jan 2024 00:00:00 +0000", diff))
    assert prepare(GitSpec.parse(f"git:{trapped.folder}@base+{patch}")).patches
