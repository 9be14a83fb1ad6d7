"""How SPECs say that code is made, in reports: as what was meant to differ."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from support import profdiff, unclaimed
from synthetic_session import exact_session

from profdiff.collectors.records import BuiltFrom
from profdiff.session import manifest as m
from profdiff.session.facts import Facts
from profdiff.session.kernel_config import OptionDifference
from profdiff.views.kernels.facts import compared


def session(folder: Path, options: Sequence[Sequence[str]], compilers: Sequence[str]) -> Path:
    """A session of ``base`` and ``new``, built with these."""
    made = exact_session(folder)
    kernels = [
        m.replace(
            kernel,
            compiler=compiler,
            source=BuiltFrom(
                repository="/linux",
                commit="1" * 40,
                described="v7.3.4",
                subject="Linux 7.3.4",
                tree="2" * 40,
                built="1" * 40,
                compiler=compiler,
                options=list(own),
            ),
        )
        for kernel, own, compiler in zip(made.manifest.kernels, options, compilers, strict=True)
    ]
    made.save(m.replace(made.manifest, kernels=kernels))
    return unclaimed(folder)


def test_they_are_intended_and_no_difference(tmp_path: Path) -> None:
    own = [["cc=gcc-12"], ["cc=clang-19", "lto=thin"]]
    folder = session(tmp_path / "s", own, ["gcc 12", "clang 19"])
    said = profdiff("report", folder, "--width", "200").stdout
    assert "differs in: cc=clang-19, lto=thin" in said
    assert "compiler differs" not in said
    assert "cc=clang-19, lto=thin" in said
    document = json.loads(profdiff("report", folder, "--json", "-").stdout)
    assert document["facts"]["intended"] == {"new": ["cc=clang-19", "lto=thin"]}
    assert "compiler" not in {one["what"] for one in document["facts"]["differences"]}
    assert [one["source"]["options"] for one in document["kernels"]] == own


def test_a_compiler_that_nobody_asked_for_differs(tmp_path: Path) -> None:
    folder = session(tmp_path / "s", [[], ["opt=size"]], ["gcc 12", "gcc 13"])
    document = json.loads(profdiff("report", folder, "--json", "-").stdout)
    assert "compiler" in {one["what"] for one in document["facts"]["differences"]}
    assert document["facts"]["intended"] == {"new": ["opt=size"]}


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (["lto=thin"], [], ["without lto=thin"]),
        (["lto=thin"], ["lto=full"], ["lto=full"]),
        (["cc=gcc-12", "cfi=yes"], ["cc=gcc-12", "cfi=yes"], []),
        ([], ["autofdo=a.prof"], ["autofdo=a.prof"]),
    ],
)
def test_what_they_differ_in(before: list[str], after: list[str], words: list[str]) -> None:
    assert Facts(built={"base": before, "new": after}).intended("base", "new") == words


def test_options_of_the_config_that_follow_are_not_told_as_relevant() -> None:
    def config(*names: str) -> list[OptionDifference]:
        return [OptionDifference(name, {"base": "n", "new": "y"}) for name in names]

    known = Facts(
        configs=["base", "new"],
        config=config("CONFIG_LTO_CLANG_THIN", "CONFIG_PREEMPT"),
        built={"base": [], "new": ["lto=thin"]},
    )
    (aspect,) = [one for one in compared(known, "base", "new", 3) if "config" in one.text]
    assert aspect.text == "config: 2 options differ (1 relevant: PREEMPT n -> y)"
