"""The stock Debian pair, end to end: the newest of two suites, with inlined functions."""

import json
from pathlib import Path

import pytest
from support import EXAMPLE, RESTORED, need_debian, profdiff

from profdiff.base.errors import ProfdiffError
from profdiff.collectors.kernels.apt import Apt
from profdiff.collectors.kernels.debian import kernel_packages

pytestmark = [pytest.mark.guest, pytest.mark.network]


def test_the_stock_pair_shows_inlined_functions(tmp_path: Path, qemu: object) -> None:
    try:
        Apt(("trixie-backports",))
    except ProfdiffError as error:
        pytest.skip(f"Debian's archive cannot be reached: {error}")
    session = tmp_path / "pair.profdiff"
    # A recording holds a processor: not while it downloads.
    for suite in ("bookworm", "trixie"):
        need_debian(f"debian:{suite}-backports")
    profdiff(
        *("record", *RESTORED, "--kernel", "base=debian:bookworm-backports"),
        *("--kernel", "new=debian:trixie-backports", "--ops", "40000", "-o", session),
        *("--", EXAMPLE, "400", "200", "4000", "20"),
    )
    result = json.loads(profdiff("report", session, "--json", "-").stdout)
    assert all(kernel["inlines_visible"] for kernel in result["kernels"])
    assert result["kernels"][0]["release"].startswith("6.12.")
    metric = result["metrics"][0]
    rows = {row["name"]: row for row in metric["functions"] if row["object"] == "vmlinux"}
    # Batching came in 6.17 and stayed; 6.12 decides for each PTE.
    assert rows["prot_commit_flush_ptes"]["self"]["base"] == 0
    assert rows["prot_commit_flush_ptes"]["self"]["new"] >= 40_000
    assert rows["can_change_pte_writable"]["self"]["base"] >= 40_000
    lost = sum(row["self"]["new"] for row in metric["unresolved"])
    assert lost < 0.001 * metric["totals"]["new"]


def test_a_kernel_without_debug_symbols_says_so(tmp_path: Path, qemu: object) -> None:
    """A version whose -dbg package has left the archive: functions from kallsyms."""
    try:
        apt = Apt(("trixie-backports",))
    except ProfdiffError as error:
        pytest.skip(f"Debian's archive cannot be reached: {error}")
    names = {package.name for package in kernel_packages(apt, "amd64")}
    if "linux-image-6.17.13+deb13-cloud-amd64" not in names:
        pytest.skip("6.17.13 has left the archive")
    session = tmp_path / "pair.profdiff"
    result = profdiff(
        *("record", "--kernel", "a=debian:6.17.13", "--kernel", "b=debian:6.17.13"),
        *("--no-call-tree", *RESTORED, "-o", session, "--", EXAMPLE, "400", "20"),
    )
    assert "inlined functions will not be visible" in result.stderr
    text = profdiff("report", session).stdout
    assert "a, b: no debug ELF, so inlined functions are not visible" in text
    assert "change_pte_range" in profdiff("report", session, "--sort", "self").stdout
