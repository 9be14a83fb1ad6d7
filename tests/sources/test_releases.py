"""Which revision a release was built from."""

from pathlib import Path

import pytest
from made_repository import Made, MadeRepository, make

from profdiff.base.errors import InputError
from profdiff.sources.repository import Repository, candidates, revision


@pytest.fixture
def tagged(tmp_path: Path) -> MadeRepository:
    names = ["first", "second", "third"]
    made = make(
        tmp_path / "r",
        {name: Made({"a": name}, names[:i][-1:]) for i, name in enumerate(names)},
    )
    made.git("tag", "v6.12.107", "first")
    made.git("tag", "-a", "-m", "annotated", "v6.18", "second")
    made.git("tag", "v7.1-rc3", "third")
    made.git("tag", "debian/6.12.38-1_bpo12+1", "third")
    return made


@pytest.mark.parametrize(
    ("release", "commit"),
    [
        ("6.12.107-profdiff", "first"),
        ("6.12.107", "first"),
        ("6.18.0-profdiff", "second"),
        ("6.18.0+deb13-amd64", "second"),
        ("7.1.0-rc3", "third"),
        ("7.1-rc3-amd64", "third"),
        ("6.12.38-1~bpo12+1", "third"),
    ],
)
def test_tags(tagged: MadeRepository, release: str, commit: str) -> None:
    assert revision(Repository.open(tagged.folder), release) == tagged.commits[commit]


def test_a_commit_in_the_release(tagged: MadeRepository) -> None:
    short = tagged.commits["second"][:12]
    found = revision(Repository.open(tagged.folder), f"6.12.107-00003-g{short}-dirty")
    assert found == tagged.commits["second"]


@pytest.mark.parametrize(
    ("release", "said"),
    [
        ("6.12.38+deb12-amd64", "has no tag v6.12.38: git -C .* fetch --tags, or name revisions"),
        ("6.18.0-rc1", "has no tag v6.18-rc1: "),
        ("6.1", "has no tag v6.1: "),
        ("next", "no release can be derived from 'next': name revisions: --base REV --new REV"),
        ("6.12.107-g0123456789ab", "has no revision '0123456789ab'"),
    ],
)
def test_what_cannot_be_told(tagged: MadeRepository, release: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        revision(Repository.open(tagged.folder), release)


def test_two_tags_that_disagree(tagged: MadeRepository) -> None:
    tagged.git("tag", "debian/6.12.107-1", "third")
    with pytest.raises(InputError, match=r"has several tags for 6.12.107-1: debian/6.12.107-1, v6"):
        revision(Repository.open(tagged.folder), "6.12.107-1")
    tagged.git("tag", "--force", "debian/6.12.107-1", "first")
    found = revision(Repository.open(tagged.folder), "6.12.107-1")
    assert found == tagged.commits["first"]


def test_candidates() -> None:
    assert candidates("6.12.38-1~bpo12+1") == ["debian/6.12.38-1_bpo12+1", "v6.12.38"]
    assert candidates("6.12.107-profdiff") == ["v6.12.107"]
    assert candidates("") == candidates("v6") == []
