"""Kernels are added to a session behind those that it has, and no label changes its kernel."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic import manifest

from profdiff.base.errors import InputError
from profdiff.base.temporary import temporary_folder
from profdiff.recording.plan import command_line, continued, refuse_other_series
from profdiff.session import manifest as m
from profdiff.session.session import Session

BASE = ("base", "00")


def planned(kernels: Sequence[tuple[str, str]]) -> m.Manifest:
    """A plan for kernels with these images; "" is a hole."""
    described = [
        m.Kernel(
            label=label, spec=label, image_sha256=image or None, hole="" if image else "x.c: no"
        )
        for label, image in kernels
    ]
    return m.replace(manifest(["base"]), kernels=described, runs=[])


def told(found: m.Manifest) -> list[tuple[str, str]]:
    return [(kernel.label, kernel.image_sha256 or "") for kernel in found.kernels]


def test_new_kernels_stand_behind_known_ones(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    Session.create(folder, planned([BASE, ("a", "01"), ("b", "")]))
    # The base and what is new are enough; a hole may be there by now.
    assert told(continued(folder, planned([BASE, ("c", "03")]))) == [
        BASE,
        ("a", "01"),
        ("b", ""),
        ("c", "03"),
    ]
    found = continued(folder, planned([BASE, ("d", ""), ("b", "02"), ("a", "01")]))
    assert told(found) == [BASE, ("a", "01"), ("b", "02"), ("d", "")]
    assert [kernel.hole for kernel in found.kernels] == ["", "", "", "x.c: no"]
    # One that ran once is what it was, even if it does not build today.
    assert told(continued(folder, planned([BASE, ("a", "")])))[:2] == [BASE, ("a", "01")]


def test_kernels_are_added_to_the_options_of_a_command_line(tmp_path: Path) -> None:
    """Behind the workload they would be its arguments."""
    folder = tmp_path / "s"
    words = ["profdiff", "record", "--kernel", "base=base", "./work", "1"]
    first = command_line(words, ["./work", "1"])
    assert first == [*words[:4], "--", *words[4:]] == command_line(first, ["./work", "1"])
    assert command_line(["profdiff", "record", "-o", "s"], []) == ["profdiff", "record", "-o", "s"]
    Session.create(folder, m.replace(planned([BASE]), command=first))
    more = m.replace(planned([BASE, ("c", "03")]), command=["profdiff", "record", "-o", "s"])
    assert continued(folder, more).command == [*words[:4], "--kernel", "c=c", "--", *words[4:]]


@pytest.mark.parametrize(
    ("kernels", "message"),
    [
        ([("other", "00")], r"other kernels \(base, a\)"),
        ([("a", "01"), BASE], r"other kernels \(base, a\)"),
        ([("base", "07"), ("a", "01")], "another kernel called base"),
        ([BASE, ("a", "07")], "another kernel called a"),
    ],
)
def test_another_kernel_of_the_same_label_is_refused(
    tmp_path: Path, kernels: list[tuple[str, str]], message: str
) -> None:
    Session.create(tmp_path / "s", planned([BASE, ("a", "01")]))
    with pytest.raises(InputError, match=message):
        continued(tmp_path / "s", planned(kernels))


_OTHERS = st.dictionaries(
    st.sampled_from(["a", "b", "c", "d"]), st.sampled_from(["", "01", "02"]), max_size=4
)


@given(_OTHERS, _OTHERS)
def test_a_session_keeps_what_it_had(old: dict[str, str], new: dict[str, str]) -> None:
    """What either recording knows of a kernel stays; only two images of one label do not fit."""
    clash = any(old.get(name) and image and old[name] != image for name, image in new.items())
    with temporary_folder() as folder:
        Session.create(folder / "s", planned([BASE, *old.items()]))
        try:
            found = told(continued(folder / "s", planned([BASE, *new.items()])))
        except InputError:
            assert clash
            return
    assert not clash
    assert [name for name, _ in found[: len(old) + 1]] == ["base", *old]
    assert dict(found) == {"base": "00", **new, **{k: v or new.get(k, "") for k, v in old.items()}}


def test_what_a_kernel_was_built_from_is_added(tmp_path: Path) -> None:
    digits = "01234567" * 5
    source = m.BuiltFrom(
        repository="/x", commit=digits, described="v1", subject="s", tree=digits, built=digits
    )
    plan = planned([BASE, ("a", "01")])
    Session.create(tmp_path / "s", plan)
    kernels = [plan.kernels[0], m.replace(plan.kernels[1], source=source)]
    found = continued(tmp_path / "s", m.replace(plan, kernels=kernels))
    assert [kernel.source for kernel in found.kernels] == [None, source]


@given(st.permutations("abcd"), st.permutations("abcd"), st.integers(0, 4), st.integers(0, 4))
def test_a_series_goes_on_where_the_session_ends(
    old: list[str], new: list[str], had: int, has: int
) -> None:
    """What is not at the same place, or not there any more, was rebased."""
    known, labels = ["base", *old[:had]], ["base", *new[:has]]
    plan = planned([(name, "01") for name in known])
    # A twin is no kernel of anybody's series.
    twin = m.replace(plan.kernels[0], label="base.aa", twin_of="base")
    with temporary_folder() as folder:
        session = Session.create(folder / "s", m.replace(plan, kernels=[*plan.kernels, twin]))
        try:
            refuse_other_series(session, labels)
        except InputError as error:
            assert " ".join(labels).find(" ".join(known)) != 0
            assert "name another folder" in str(error)
            return
    assert " ".join(labels).startswith(" ".join(known))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["base", "1-x", "2-z"], "where it has 2-y, kernel 3 of 4, the series now has 2-z: name"),
        (["base", "1-x", "2-y"], "where it has 3-z, kernel 4 of 4, the series ends before: name"),
    ],
)
def test_what_a_rebase_changed_is_said(tmp_path: Path, labels: list[str], message: str) -> None:
    kernels = [BASE, ("1-x", "01"), ("2-y", ""), ("3-z", "03")]
    session = Session.create(tmp_path / "s", planned(kernels))
    with pytest.raises(InputError, match=message):
        refuse_other_series(session, labels)
