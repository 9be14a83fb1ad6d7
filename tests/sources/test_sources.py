"""Source trees: which are opened, whether they are the right ones, and what is said if not."""

from pathlib import Path

import pytest
from made_repository import Made, make, text

from profdiff.base.errors import InputError
from profdiff.sources.sources import Sources

MAKEFILE = "# SPDX\nVERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 107\nEXTRAVERSION =\n"
CODE = text(
    "#include <x.h>",
    "",
    "static int change_pte(int n)",
    "{",
    "\treturn n;",
    "}",
    "SYSCALL_DEFINE1(mincore, int, n)",
    "{",
    "\treturn change_pte(n);",
    "}",
    "static __always_inline unsigned long",
    "softleaf_type(int n)",
    "{ return n; }",
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "linux-6.12"
    (folder / "mm").mkdir(parents=True)
    (folder / "Makefile").write_text(MAKEFILE)
    (folder / "Kbuild").write_text("")
    (folder / "mm/a.c").write_text(CODE)
    return folder


def test_a_folder_and_a_revision_give_the_same_lines(tmp_path: Path, tree: Path) -> None:
    made = make(
        tmp_path / "r",
        {
            "old": Made({"Makefile": MAKEFILE, "mm/a.c": CODE}),
            "new": Made({"mm/a.c": "int x;\n"}, ["old"]),
        },
    )
    folder = Sources.open("k", str(tree))
    revision = Sources.open("k", f"{made.folder}@old")
    assert folder.revision is None and revision.revision == made.commits["old"]
    assert folder.lines("mm/a.c") == revision.lines("mm/a.c") == tuple(CODE.splitlines())
    assert revision.lines("mm/missing.c") is folder.lines("mm/missing.c") is None
    newer = Sources.open("k", f"{made.folder}@{made.commits['new'][:12]}")
    newer.read(["mm/a.c", "mm/missing.c"])
    assert (newer.lines("mm/a.c"), newer.lines("mm/missing.c")) == (("int x;",), None)


def test_bare_repositories_and_odd_folders(tmp_path: Path) -> None:
    made = make(tmp_path / "r", {"base": Made({"a.c": "x\r\n\fy\n"})})
    made.git("clone", "-q", "--bare", str(made.folder), str(tmp_path / "b@re.git"))
    bare = Sources.open("k", f"{tmp_path}/b@re.git@base")
    # Lines end as for the compiler: with a line feed alone.
    assert bare.lines("a.c") == ("x", "\fy")
    (tmp_path / "tree@v6").mkdir()
    (tmp_path / "tree@v6/a.c").write_text("folder\n")
    assert Sources.open("k", f"{tmp_path}/tree@v6").lines("a.c") == ("folder",)
    with pytest.raises(InputError, match=r"bare repository: name a revision, k=.*@REV"):
        Sources.open("k", f"{tmp_path}/b@re.git")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("missing", "there is no such folder; name a source tree or REPO@REV"),
        ("missing@v6.12", "there is no such folder; name a source tree or REPO@REV"),
        ("linux-6.12@v6.12", "not a git repository"),
        ("r@", "name a revision after the @"),
        ("r@v6.13", "has no revision 'v6.13': did you mean v6.12?"),
        ("r@--help", "has no revision '--help'"),
        ("r@base:a.c", "has no revision 'base:a.c'"),
        ("linux.tar.xz", "it is a file: unpack it (tar xf"),
        (".", "the source tree is the folder in it: k="),
    ],
)
def test_what_cannot_be_opened(tmp_path: Path, tree: Path, spec: str, said: str) -> None:
    made = make(tmp_path / "r", {"base": Made({"a.c": "x\n"})})
    made.git("tag", "v6.12", "base")
    (tmp_path / "linux.tar.xz").write_text("")
    with pytest.raises(InputError) as error:
        Sources.open("k", f"{tmp_path}/{spec}")
    assert said in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("release", ["6.12.107", "6.12.107-profdiff", "6.12.107+deb13-amd64", "x"])
def test_a_tree_of_the_kernels_version(tree: Path, release: str) -> None:
    Sources.open("k", str(tree)).check_release(release)


@pytest.mark.parametrize("release", ["6.12.106", "6.12", "7.1.8-profdiff", "6.12.1070"])
def test_a_tree_of_another_version(tree: Path, release: str) -> None:
    with pytest.raises(InputError, match=f"the sources of 6.12.107, and the kernel is {release}"):
        Sources.open("k", str(tree)).check_release(release)


def test_a_tree_without_a_version(tree: Path) -> None:
    (tree / "Makefile").write_text("all:\n\tcc a.c\n")
    Sources.open("k", str(tree)).check_release("6.12.107")


def test_a_file_that_was_compiled(tree: Path) -> None:
    sources = Sources.open("k", str(tree))
    functions = {"change_pte": 3, "__do_sys_mincore": 7, "softleaf_type": 11}
    assert sources.misfit("mm/a.c", 13, functions) is None
    assert sources.misfit("mm/missing.c", 99, {"f": 3}) is None
    assert sources.misfit("mm/a.c", 0, {}) is None
    # One that a macro names otherwise is no proof.
    assert sources.misfit("mm/a.c", 13, functions | {"made_by_a_macro": 5}) is None


def test_a_file_of_another_version(tree: Path) -> None:
    sources = Sources.open("k", str(tree))
    assert sources.misfit("mm/a.c", 14, {}) == (
        f"mm/a.c of {tree} is not what k was built from: it has 13 lines, and the debug "
        "information names line 14"
    )
    shifted = {"change_pte": 5, "__do_sys_mincore": 9, "softleaf_type": 13}
    assert sources.misfit("mm/a.c", 13, shifted) == (
        f"mm/a.c of {tree} is not what k was built from: it has no __do_sys_mincore in line 9"
    )


def test_changes_that_are_not_committed(tmp_path: Path) -> None:
    made = make(tmp_path / "r", {"base": Made({"a.c": "a\n", "b.c": "b\n", "c.c": "c\n"})})
    folder = made.checked_out("base")
    sources = Sources.open("k", str(folder))
    assert sources.note() is None
    (folder / "b.c").write_text("changed\n")
    (folder / "new.c").write_text("in no commit\n")
    assert sources.lines("a.c") and sources.note() is None
    assert sources.lines("b.c") == ("changed",) and sources.lines("new.c")
    assert sources.note() == (
        f"{folder} has changes that are not committed, in b.c; k may have been built without them"
    )
    (folder / "c.c").write_text("changed\n")
    assert sources.lines("c.c")
    assert "in b.c and 1 more;" in (sources.note() or "")
