"""How often a kind is right for mails that the rules were not made from, and that this is said."""

import re

import pytest
from click.testing import CliRunner
from fuzz.commands import profdiff as inside
from lkp.robot_mails import MAILS, likeliest
from lkp.test_kinds import ENDED, OTHERWISE
from support import ROOT, SHARED

from profdiff.cli import cli

FOLDER = SHARED / "robot-mails"
# The words by which the folder's table names what was said of a mail.
WORDS = {"instructions": "instructions", "lock": "lock", "waiting": "waiting", "not": "unknown"}


def table() -> dict[str, tuple[str, str]]:
    """What was said of each mail of the folder, and whether its thread agrees."""
    readme = FOLDER / "README.md"
    if not readme.exists():
        pytest.skip("the mails ../shared/robot-mails are absent")
    cells = re.findall(
        r"(?m)^\| ([0-9a-f]{10}) \|.*?\|.*?\| (\w+).*?\| (\w+).*\|$", readme.read_text()
    )
    return {name: (WORDS[given], judged) for name, given, judged in cells}


def test_the_kinds_are_those_that_were_judged() -> None:
    """The rate in the document holds for these rules; others are to be judged anew."""
    found = table()
    assert {*found} == {path.stem for path in FOLDER.glob("*.eml")}
    for name, (given, _) in found.items():
        assert likeliest(FOLDER / f"{name}.eml") == given, name
    named = [how for given, how in found.values() if given != "unknown" and how != "not"]
    assert len(named) == 10
    assert named.count("right") == 5


def test_the_document_says_what_was_found_out_of_sample() -> None:
    """First, and the rate of the rules' own sample as what it is."""
    text = (ROOT / "docs/lkp.md").read_text().partition("\n## How it was checked\n")[2]
    bold = re.findall(r"\*\*(.*?)\*\*", text)
    assert bold[0] == "The kind is right 7 times in 17."
    sample = f"{len(ENDED)} times in {len(ENDED) + len(OTHERWISE)}"
    assert bold[1].startswith("In the sample that the rules were made from") and sample in bold[1]


def test_the_rate_is_that_of_whoever_read_the_threads() -> None:
    table()
    said = " ".join((FOLDER / "README.md").read_text().split())
    assert "Out of sample it named the right kind 7 times in 17." in said


def test_each_judgement_comes_with_it() -> None:
    """In the text, and in the help, whose reader has not read the document."""
    for text in (
        inside("lkp", MAILS / "59faa4da7c.eml"),
        CliRunner().invoke(cli, ["lkp", "--help"]).output,
    ):
        assert "7 of 17 were right" in " ".join(text.split())
