"""What documents and help say of perf, of KernelCI and of real regressions is what was measured."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from perfs import bench, perf_of
from support import ROOT, need_kernel, need_profile, need_program

from profdiff.cli import cli
from profdiff.commands import COMMANDS

DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*/*.md")])
# Sentences that were there, and are not true: of any perf, of KernelCI's jobs, of counts.
FALSE = [
    r"perf (report`? )?(does not|cannot|never) (expand|show)s? inlined",
    r"`perf report` and `perf diff` never show",
    r"pull lab\W*, as KernelCI has",
    r"by how much, and why\?",
]


def slug(heading: str) -> str:
    """The anchor that GitHub makes of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_what_is_not_true_is_not_said(document: Path) -> None:
    text = " ".join(document.read_text().split())
    for sentence in FALSE:
        assert not re.search(sentence, text), sentence


def test_what_is_not_true_is_not_said_in_the_help() -> None:
    for command in ([], *([name] for name in COMMANDS)):
        text = " ".join(CliRunner().invoke(cli, [*command, "--help"]).output.split())
        for sentence in FALSE:
            assert not re.search(sentence, text), (command, sentence)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_into_documents_lead_to_a_heading(document: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", document.read_text()):
        text = (document.parent / target).read_text() if target else document.read_text()
        headings = re.findall(r"(?m)^#+ (.*)$", text)
        assert anchor in map(slug, headings), f"{target}#{anchor}"


def test_the_causes_of_the_sampled_regressions_add_up() -> None:
    """31 commits, each with one cause; README says how many of them counts explain."""
    text = (ROOT / "docs/exact-collector.md").read_text()
    section = text.partition("## Which regressions counts explain")[2].partition("\n## ")[0]
    rows = re.findall(r"(?m)^\| [a-z].* \| (.*) \| (\d+) \((\d+)%\) \| .*\|$", section)
    found = [re.findall(r"\b[0-9a-f]{10}\b", commits) for commits, _, _ in rows]
    commits = [commit for row in found for commit in row]
    assert [len(row) for row in found] == [int(number) for _, number, _ in rows]
    assert all(round(int(n) / 31 * 100) == int(share) for _, n, share in rows)
    assert len(commits) == len(set(commits)) == 31
    readme = (ROOT / "README.md").read_text().partition("## What it does not show")[2]
    readme = " ".join(readme.split())
    assert f"Of {len(commits)} regressions" in readme
    assert f"a third ({len(found[0])})" in readme
    assert "contended locks" in readme


@pytest.mark.kernel
@pytest.mark.parametrize("suite", ["", "trixie-backports"])
def test_perf_shows_what_is_documented(suite: str, tmp_path: Path) -> None:
    """The installed perf, and the newest that Debian has for its stable release."""
    inlines = bench()
    need_program("zstd")
    for kernel in inlines.KERNELS:
        need_kernel(kernel)
        need_profile(kernel)
    shown = inlines.measure(perf_of(suite), tmp_path)
    assert shown.is_as_documented(), shown.text()
    document = (ROOT / "docs/perf.md").read_text()
    if f"perf {shown.version} |" in document and shown.inlined_frames:
        (sites, wrong), (frames, wrong_frames) = shown.sites, shown.callers
        for words in (
            f"| {shown.inlined_frames:,} |",
            f"| {shown.function_frames:,} |",
            f"| {shown.rows}, of {shown.names} functions |",
            f"| {wrong} of {sites} call sites, {wrong_frames / frames:.1%} of {frames:,} frames |",
        ):
            assert words in document, words
