"""Shares as lkp-tests records them: of `perf report`, read by its own script or a plain reading."""

import os
import re
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from support import need_kernel, need_profile, need_program, profdiff

pytestmark = [pytest.mark.kernel, pytest.mark.kernel]

VERSIONS = ["v6.12.107", "v6.18.15"]
# What perf-profile/parse takes of ActiveSupport.
PARSE = """
module Kernel
  alias really_require require
  def require(name) = name.end_with?('lib/string') ? true : really_require(name)
end
class String
  def remove(*patterns) = patterns.inject(self) { |text, pattern| text.gsub(pattern, '') }
end
load "#{ENV.fetch('LKP_SRC')}/programs/perf-profile/parse"
"""


def plain(report: str) -> dict[str, float]:
    """Percent by kind and names: entries of two percentages, call chains of one."""
    found: Counter[str] = Counter()
    for line in report.splitlines():
        entry = re.match(r" +([\d.]+)% +([\d.]+)% .*\[[.k]\] (\S+) ", line)
        chain = re.match(r"([\d.]+)% (\S+)$", line)
        if entry:
            found[f"children.cpu-clock.{entry[3]}"] += float(entry[1])  # type: ignore[assignment]
            found[f"self.cpu-clock.{entry[3]}"] += float(entry[2])  # type: ignore[assignment]
        elif chain:
            names = ".".join(chain[2].split(";")[:5])
            found[f"calltrace.cpu-clock.{names}"] += float(chain[1])  # type: ignore[assignment]
    suffix = re.compile(r"\.(isra|constprop|part)\.\d+")
    merged: Counter[str] = Counter()
    for name, share in found.items():
        merged[suffix.sub("", name)] += share  # type: ignore[assignment]
    return {name: round(share, 2) for name, share in merged.items() if share >= 0.05}


def lkp_tests(report: str) -> dict[str, float]:
    """The same by lkp-tests' script."""
    if "LKP_TESTS" not in os.environ:
        pytest.skip("LKP_TESTS does not name a checkout of github.com/intel/lkp-tests")
    told = subprocess.run(
        [need_program("ruby"), "-e", PARSE],
        input=report,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "LKP_SRC": os.environ["LKP_TESTS"]},
    ).stdout
    pairs = (line.rsplit(": ", 1) for line in told.splitlines())
    return {name: float(share) for name, share in pairs}


def perf(*arguments: str | Path) -> str:
    """What perf prints."""
    return subprocess.run(["perf", *arguments], capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], str]:
    """Of the fixture profiles perf's reports, and our table of the stacks of perf script."""
    need_program("perf", "linux-perf")
    folder = tmp_path_factory.mktemp("perf")
    texts = []
    for version in VERSIONS:
        file = need_profile(version)
        elf = need_kernel(version) / "vmlinux"
        options = ["-i", file, "-k", elf, "--no-inline"]
        (folder / f"{version}.txt").write_text(perf("script", *options))
        layout = ["--header", "--children", "-g", "folded,0.5,callee", "--sort=dso,symbol"]
        texts.append(perf("report", *options, *layout))
    files = [folder / f"{version}.txt" for version in VERSIONS]
    return texts, profdiff("diff", *files, "--lkp", "-").stdout


@pytest.mark.parametrize("reader", [plain, lkp_tests])
def test_shares_are_those_of_perf_report(
    reports: tuple[list[str], str], reader: Callable[[str], dict[str, float]]
) -> None:
    base, other = (reader(report) for report in reports[0])
    ours = {}
    for line in reports[1].splitlines():
        row = re.match(r" +([\d.]+) {6} +([-+][\d.]+)  +([\d.]+) {8}perf-profile\.(\S+)", line)
        if row:
            ours[row[4]] = [float(row[at]) for at in (1, 3)]
    theirs = {
        name: [base.get(name, 0), other.get(name, 0)]
        for name in base.keys() | other.keys()
        # perf gives an address where it knows no name.
        if not re.search(r"\b(0x)?[0-9a-f]{6,}\b", name)
    }
    ours = {name: shares for name, shares in ours.items() if "[unknown]" not in name}
    # Rows that differ are shown; equal ones are not.
    assert len(ours) > 60
    differing = {name for name, (low, high) in theirs.items() if abs(high - low) > 0.011}
    assert differing <= ours.keys() <= theirs.keys()
    for name, shares in ours.items():
        # Call chains that end at different addresses are several to perf, which leaves out those
        # below 0.5%; they are one here, where an address has no name.
        cut = name.startswith("calltrace") and name.count(".") == 6
        for mine, share in zip(shares, theirs[name], strict=True):
            assert share - 0.011 <= mine <= share + (0.5 if cut else 0.011), name
