"""A series is its base and each of its commits, oldest first, as kernels with labels that tell."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_repository import Made, MadeRepository, make
from synthetic import manifest

from profdiff.base.errors import InputError
from profdiff.collectors.kernels.kinds.registry import KernelArgument, parse_arguments
from profdiff.recording import series
from profdiff.recording.series import Series, as_in, label
from profdiff.session import manifest as m
from profdiff.session.session import Session


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> MadeRepository:
    """v1 - one - two - merge (of side) - three; other is a root of its own."""
    commits = {
        "v1": Made({"a": "1"}),
        "one": Made({"a": "2"}, ["v1"], "mm/mprotect, mm: hoist the check out of change_pte_range"),
        "side": Made({"a": "1", "b": "1"}, ["v1"], "x: side"),
        "two": Made({"a": "3"}, ["one"], "mm: mprotect: [RFC] skip = nothing: here"),
        "merge": Made({"a": "3", "b": "1"}, ["two", "side"], "Merge branch 'side'"),
        "three": Made({"a": "4", "b": "1"}, ["merge"], "日本"),
        "other": Made({"c": "1"}),
    }
    return make(tmp_path_factory.mktemp("series") / "li@nux..x", commits)


def told(repository: MadeRepository, text: str) -> list[tuple[str, str]]:
    """Labels and specs behind the folder's name."""
    found = parse_arguments(Series.parse(f"git:{repository.folder}@{text}").kernels())
    return [(one.label, one.spec.text.removeprefix(f"git:{repository.folder}@")) for one in found]


def test_each_commit_is_a_kernel_and_what_was_merged_is_one(repository: MadeRepository) -> None:
    of = repository.commits
    assert told(repository, "v1..three,cc=gcc-13,config=x") == [
        ("base", f"{of['v1']},cc=gcc-13,config=x"),
        (f"{of['one'][:7]}-hoist-the-check", f"{of['one']},cc=gcc-13,config=x"),
        (f"{of['two'][:7]}-RFC-skip-nothing", f"{of['two']},cc=gcc-13,config=x"),
        (f"{of['merge'][:7]}-Merge-branch", f"{of['merge']},cc=gcc-13,config=x"),
        (of["three"][:7], f"{of['three']},cc=gcc-13,config=x"),
    ]
    assert told(repository, "v1..two~1") == [
        ("base", of["v1"]),
        (f"{of['one'][:7]}-hoist-the-check", of["one"]),
    ]


def test_without_a_repository_it_is_this_folders_and_without_a_tip_head(
    repository: MadeRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository.checked_out("two"))
    assert Series.parse("one..").kernels() == [
        f"base=git:.@{repository.commits['one']}",
        f"{repository.commits['two'][:7]}-RFC-skip-nothing=git:.@{repository.commits['two']}",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("v1..nothing", "no revision 'nothing'"),
        ("v1..--output=x", "no revision '--output=x'"),
        ("three..v1", "there is no commit"),
        ("v1..v1", "there is no commit"),
        ("side..two", "does not begin on side: write {v1}..two"),
        ("other..two", "does not begin on other$"),
        ("v1", "write BASE..TIP"),
        ("..two", "write BASE..TIP"),
        ("v1...two", "write BASE..TIP"),
        ("", "write BASE..TIP"),
    ],
)
def test_what_is_no_series_is_refused(repository: MadeRepository, text: str, message: str) -> None:
    wanted = message.format(v1=repository.commits["v1"][:12])
    with pytest.raises(InputError, match=wanted) as error:
        told(repository, text)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["git:/no/such@a..b", "git:", "git:@a..b", "git:x\0@a..b"])
def test_a_repository_that_is_no_folder_is_named(text: str) -> None:
    with pytest.raises(InputError, match="is not a folder"):
        Series.parse(text)


def test_a_folder_in_no_repository_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(InputError, match=r"not a git repository: write git:REPO@BASE\.\.TIP"):
        Series.parse("a..b").kernels()


def test_too_many_commits_are_refused(
    repository: MadeRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(series, "_MAX_COMMITS", 3)
    with pytest.raises(InputError, match="has 4 commits: at most 3"):
        told(repository, "v1..three")


@given(st.text("0123456789abcdef", min_size=7, max_size=40), st.text(max_size=80))
def test_labels_are_labels_and_begin_with_their_commit(commit: str, subject: str) -> None:
    found = label(commit, subject)
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}", found)
    assert len(found) <= max(24, len(commit))
    assert found == commit or found.startswith(f"{commit}-") or len(commit) >= 24
    words = found.split("-")[1:]
    assert all(word in subject for word in words)


def test_an_id_has_so_many_digits_that_each_is_one() -> None:
    hashes = [f"{start}{'0' * (40 - len(start))}" for start in ("abcdef01", "abcdef02", "1234567")]
    assert series._digits(hashes) == 8
    assert series._digits(hashes[1:]) == 7


def kernels(texts: list[str]) -> list[KernelArgument]:
    """As the command line has them."""
    return parse_arguments(texts, repeated=True)


def test_a_session_keeps_its_labels(tmp_path: Path) -> None:
    """Of the time when labels were numbers: what was recorded goes on under its names."""
    made = manifest(["base", "1-hoist", "2-a-helper"], runs=1)
    sources = ["a" * 40, "b" * 40, ""]
    recorded = [
        m.replace(
            one,
            source=m.BuiltFrom(
                repository="/linux",
                commit=commit,
                described=commit[:12],
                subject="mm: x",
                tree=commit,
                built=commit,
            )
            if commit
            else None,
            hole="" if commit else "mm/x.c:1: error",
            spec=f"git:{tmp_path}@{'c' * 40}",
        )
        for one, commit in zip(made.kernels, sources, strict=True)
    ]
    session = Session(tmp_path / "s", m.replace(made, kernels=recorded))
    named = [f"base=git:{tmp_path}@{'a' * 40}"]
    named += [f"{one * 7}-x=git:{tmp_path}@{one * 40},cc=gcc-13" for one in "bcd"]
    series_labels = frozenset(f"{one * 7}-x" for one in "bcd")
    kernels_, labels_ = as_in([session], kernels([*named, "7=other"]), series_labels)
    assert [one.label for one in kernels_] == [
        "base",
        "1-hoist",
        "2-a-helper",
        "ddddddd-x",
        "7",
    ]
    assert kernels_[1].spec.text == f"git:{tmp_path}@{'b' * 40},cc=gcc-13"
    assert labels_ == {"1-hoist", "2-a-helper", "ddddddd-x"}
    # Another commit in its place is another kernel: what is refused then names both.
    moved = kernels([named[0], named[2], named[1]])
    assert as_in([session], moved, series_labels)[0] == moved
