"""``git:`` specs: what they mean, and that writing one down does not change it."""

import re
from pathlib import Path

import made_repository
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profdiff.base.errors import InputError
from profdiff.collectors.architecture import ARCHITECTURES, ARM64
from profdiff.collectors.kernels.git_spec import Change, GitSpec
from profdiff.collectors.kernels.kinds.registry import derive_label, parse, parse_arguments


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A folder, which is all that a parser looks for."""
    folder = tmp_path / "linux"
    folder.mkdir()
    return folder


def test_a_folder_alone_is_its_work_tree(repo: Path) -> None:
    assert GitSpec.parse(f"git:{repo}") == GitSpec(repo)


@pytest.mark.parametrize(
    ("rest", "revision", "changes"),
    [
        ("@v6.16", "v6.16", []),
        ("@v6.16+fast.patch", "v6.16", ["+fast.patch"]),
        ("@v6.17-rc1~cac1db8c3aad", "v6.17-rc1", ["~cac1db8c3aad"]),
        ("@v6.16+a.patch~cac1db8+b.mbox", "v6.16", ["+a.patch", "~cac1db8", "+b.mbox"]),
        ("+fast.patch", None, ["+fast.patch"]),
        ("~cac1db8c3aad", None, ["~cac1db8c3aad"]),
        # A parent is git's, at most six digits are.
        ("@HEAD~3", "HEAD~3", []),
        ("@HEAD~", "HEAD~", []),
        ("@HEAD~3^2~1", "HEAD~3^2~1", []),
        ("@HEAD~3+a.patch", "HEAD~3", ["+a.patch"]),
        ("@HEAD~+a.patch", "HEAD~", ["+a.patch"]),
        ("@HEAD~~", "HEAD~~", []),
        ("@HEAD~123456", "HEAD~123456", []),
        ("@HEAD~1234567", "HEAD", ["~1234567"]),
        ("@HEAD~2~v6.16", "HEAD~2", ["~v6.16"]),
        ("@HEAD~3a", "HEAD", ["~3a"]),
        ("@main@{1}", "main@{1}", []),
        ("@feature/a-b", "feature/a-b", []),
    ],
)
def test_revision_and_changes(
    repo: Path, rest: str, revision: str | None, changes: list[str]
) -> None:
    spec = GitSpec.parse(f"git:{repo}{rest}")
    assert (spec.repository, spec.revision) == (repo, revision)
    assert list(map(str, spec.changes)) == changes
    assert GitSpec.parse(str(spec)) == spec


def test_options(repo: Path) -> None:
    spec = GitSpec.parse(f"git:{repo}@v6.16,arch=arm64,config=distribution,cc=clang-18")
    assert (spec.config, spec.compiler, spec.architecture) == ("distribution", "clang-18", ARM64)
    assert str(spec) == f"git:{repo}@v6.16,config=distribution,cc=clang-18,arch=arm64"


def test_a_comma_that_begins_no_option_is_of_the_file(repo: Path) -> None:
    spec = GitSpec.parse(f"git:{repo}@v6.16+a,b.patch,config=/c,d")
    assert spec.changes == (Change("patch", "a,b.patch"),)
    assert spec.config == "/c,d"


def test_the_shortest_folder_is_the_repository(tmp_path: Path) -> None:
    for name in ("linux", "linux@v6", "c++"):
        (tmp_path / name).mkdir()
    assert GitSpec.parse(f"git:{tmp_path}/linux@v6").revision == "v6"
    assert GitSpec.parse(f"git:{tmp_path}/c++@v6").repository == tmp_path / "c++"
    assert GitSpec.parse(f"git:{tmp_path}/c++").revision is None


def test_a_repository_comes_before_a_folder(tmp_path: Path) -> None:
    # Beside linux, which is only a folder with patches, repositories with signs in their names.
    for name in ("linux", "linux+x/.git", "tree@v6/objects", "tree@v6/refs", "tree@v6/HEAD"):
        (tmp_path / name).mkdir(parents=True)
    assert GitSpec.parse(f"git:{tmp_path}/linux+x@v6") == GitSpec(tmp_path / "linux+x", "v6")
    assert GitSpec.parse(f"git:{tmp_path}/tree@v6@HEAD") == GitSpec(tmp_path / "tree@v6", "HEAD")
    # Of two, the shorter.
    (tmp_path / "linux/.git").mkdir()
    spec = GitSpec.parse(f"git:{tmp_path}/linux+x@v6")
    assert (spec.repository, list(map(str, spec.changes))) == (tmp_path / "linux", ["+x@v6"])


def test_a_patch_whose_name_has_signs_is_found(repo: Path, tmp_path: Path) -> None:
    patch = tmp_path / "a+b~c.patch"
    patch.touch()
    spec = GitSpec.parse(f"git:{repo}@v6.16+{patch}~cac1db8")
    assert spec.changes == (Change("patch", str(patch)), Change("revert", "cac1db8"))


def test_home(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    spec = GitSpec.parse("git:~/linux@v6.16+~/fast.patch~cac1db8")
    assert spec.repository == repo
    assert [one.what for one in spec.changes] == ["~/fast.patch", "cac1db8"]
    assert spec.absolute().changes[0].what == str(tmp_path / "fast.patch")


def test_absolute_means_the_same_from_anywhere(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c").touch()
    made = str(parse("git:linux@HEAD~3+a.patch~cac1db8c,config=c,cc=gcc-13").absolute())
    assert made == f"git:{repo}@HEAD~3+{tmp_path}/a.patch~cac1db8c,config={tmp_path}/c,cc=gcc-13"
    assert (
        str(parse("git:linux,config=distribution").absolute()) == f"git:{repo},config=distribution"
    )


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("git:", "write git:REPO"),
        ("git:{}@", "no revision"),
        ("git:{}@+a.patch", "no revision"),
        ("git:{}-gone@v6.16", "is not a folder"),
        ("git:{}@v6.16+", "nothing follows +"),
        ("git:{}@v6.16+a.patch~", "nothing follows ~"),
        ("git:{}@v6.16+a.patch~3", "write @HEAD~3"),
        ("git:{}~3", "write @HEAD~3"),
        ("git:{}@v6.16,c=gcc-13", "did you mean cc"),
        ("git:{}@v6.16,cc=a,cc=b", "is given twice"),
        ("git:{}@v6.16,cc=", "has no value"),
        ("git:{}@v6.16,arch=sparc", "profdiff boots x86_64, arm64 and riscv64, not sparc"),
    ],
)
def test_what_is_malformed(repo: Path, spec: str, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)) as caught:
        GitSpec.parse(spec.format(repo))
    assert "\n" not in str(caught.value)


WORDS = st.from_regex(r"[A-Za-z][A-Za-z0-9._/-]{0,12}", fullmatch=True)
COMMITS = st.from_regex(r"[0-9a-f]{7,40}|v[0-9.]{1,5}[0-9]", fullmatch=True)
CHANGES = st.one_of(
    st.builds(Change, st.just("patch"), WORDS), st.builds(Change, st.just("revert"), COMMITS)
)
SPECS = st.builds(
    GitSpec,
    st.just(Path("/")),
    st.one_of(st.none(), WORDS, WORDS.map("{}~3".format), WORDS.map("{}~2^{{}}".format)),
    st.lists(CHANGES, max_size=4).map(tuple),
    st.one_of(st.just(""), st.just("distribution"), WORDS.filter(lambda one: one != "debian")),
    st.one_of(st.just(""), WORDS),
    st.sampled_from([None, *ARCHITECTURES]),
)


@given(SPECS)
def test_a_spec_that_is_written_down_means_the_same(spec: GitSpec) -> None:
    assert GitSpec.parse(str(spec)) == spec


@given(st.text(max_size=40))
def test_any_text_is_a_spec_or_an_error_in_one_line(text: str) -> None:
    try:
        spec = GitSpec.parse(f"git:/{text}")
    except InputError:
        return
    assert GitSpec.parse(str(spec)) == spec


def test_labels(repo: Path) -> None:
    assert derive_label(f"git:{repo}") == "linux"
    assert derive_label(f"git:{repo}@v6.16,cc=gcc-13") == "v6.16"
    assert derive_label(f"git:{repo}@v6.16+/a/fast.patch~cac1db8c3aad0") == (
        "v6.16+fast-without-cac1db8c3aad"
    )
    assert derive_label(f"git:{repo}@next/master~3") == "next-master-3"
    arguments = parse_arguments([f"base=git:{repo}@v6.16", f"git:{repo}@v6.16,config=distribution"])
    assert [one.label for one in arguments] == ["base", "v6.16"]
    assert all(one.spec.is_built for one in arguments)


def test_what_was_meant_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A revision, or a repository, as people write it first."""
    repository = made_repository.make(tmp_path / "linux", {"v1": made_repository.Made({"a": "1"})})
    monkeypatch.chdir(repository.folder)
    says = {
        "v1": "did you mean git:.@v1?",
        "git:v1": "did you mean git:.@v1?",
        f"{repository.folder}@v1": f"did you mean git:{repository.folder}@v1?",
        ".": "or git:. builds it",
        "v2": "profdiff kernel add v2 FOLDER",
        "--all": "see profdiff record --help",
    }
    for text, said in says.items():
        with pytest.raises(InputError, match=re.escape(said)):
            parse(text).locate("k")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="profdiff kernel add v1 FOLDER"):
        parse("v1").locate("k")
