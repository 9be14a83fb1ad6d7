"""How often a kind is right for mails that the rules were not made from, and that this is said."""

import io
import lzma
import re
import tarfile
import tomllib
from functools import cache
from typing import Any

import pytest
from click.testing import CliRunner
from fuzz.commands import profdiff as inside
from lkp.robot_mails import MAILS, likeliest, of
from lkp.test_kinds import ENDED, OTHERWISE
from support import ROOT, SHARED

from profdiff.cli import cli
from profdiff.evidence.lkp.kinds import Kind

FOLDER = SHARED / "robot-mails"
JUDGED = tomllib.loads((ROOT / "tests/lkp/judged.toml").read_text())["mail"]
UNTOLD = ("mixed", "unknown")
SAMPLES = ("first", "second", "third", "fourth")
# Few of its causes are sure: all are counted.
LAST = "fourth"
# What the folder's README says that the threads found, of mails whose cause is known.
SHARED_ENDED: dict[str, Kind] = {
    "8d59d2214c": "lines",
    "01d37228d3": "lock",
    "4c40d6efc8": "instructions",
    "345a4666a7": "instructions",
    "28270e25c6": "waiting",
    "bd4a633b6f": "waiting",
    "49b29a573d": "waiting",
    "8cf0c45999": "instructions",
    "665575cff0": "instructions",
    "cacded5e42": "instructions",
}


@cache
def mails() -> dict[str, bytes]:
    packed = lzma.decompress((ROOT / "tests/lkp/judged.tar.xz").read_bytes())
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        return {
            member.name.removesuffix(".eml"): file.read()
            for member in tar
            if (file := tar.extractfile(member)) is not None
        }


def named(sample: str) -> list[dict[str, Any]]:
    """The mails of a sample whose cause is sure, or of the last one all, and for which a kind was
    named at that time."""
    return [
        one
        for one in JUDGED
        if one["sample"] == sample
        and (sample == LAST or not one["weak"])
        and one["then"] not in UNTOLD
    ]


def rate(found: list[dict[str, Any]]) -> str:
    return f"{sum(one['then'] == one['ended'] for one in found)} times in {len(found)}"


@pytest.mark.parametrize("mail", JUDGED, ids=lambda mail: mail["commit"])
def test_a_mails_kind_is_what_was_written_down(mail: dict[str, Any]) -> None:
    """Rules that change say so here; the rate when they had not seen it stays."""
    assert of(mails()[mail["commit"]]) == mail["now"]


def test_the_mails_are_those_that_were_judged() -> None:
    assert {one["commit"] for one in JUDGED} <= {*mails()}
    assert {one["sample"] for one in JUDGED} == {*SAMPLES}
    # The rules were made from the first three; those that the fourth mended are not those that it
    # judged.
    assert not {one["commit"] for one in JUDGED} & ({*ENDED, *OTHERWISE, *SHARED_ENDED})


@pytest.mark.parametrize("name", SHARED_ENDED)
def test_mails_that_were_sorted_wrong_before(name: str) -> None:
    path = FOLDER / f"{name}.eml"
    if not path.exists():
        pytest.skip("the mails ../shared/robot-mails are absent")
    assert likeliest(path) == SHARED_ENDED[name]


def test_the_document_says_what_was_found_out_of_sample() -> None:
    """First, and the rate of the rules' own sample as what it is."""
    text = (ROOT / "docs/lkp.md").read_text().partition("\n## How it was checked\n")[2]
    bold = re.findall(r"\*\*(.*?)\*\*", text)
    assert bold[0] == f"The kind is right {rate(named(LAST))}."
    for sample in SAMPLES:
        assert rate(named(sample)) in text
    assert rate([one for one in named(LAST) if not one["weak"]]) in text
    own = f"{len(ENDED)} times in {len(ENDED) + len(OTHERWISE)}"
    assert bold[1].startswith("In the samples that the rules were made from") and own in text


def test_each_judgement_comes_with_it() -> None:
    """In the text, and in the help, whose reader has not read the document."""
    told = rate(named(LAST)).replace("times in", "of") + " were right"
    for text in (
        inside("lkp", MAILS / "59faa4da7c.eml"),
        CliRunner().invoke(cli, ["lkp", "--help"]).output,
    ):
        assert told in " ".join(text.split())


def test_a_wrong_kind_is_worse_than_none() -> None:
    """In all samples, as the rules stand: those that they were made from, so no rate of theirs."""
    told = [one for one in JUDGED if not one["weak"] and one["now"] not in UNTOLD]
    right = sum(one["now"] == one["ended"] for one in told)
    assert right / len(told) >= 14 / 17
    # Nor do they say *not known* to most.
    assert len(told) >= len([one for one in JUDGED if not one["weak"]]) / 2
