"""Repeated string instructions count as hardware retires them: instructions of a known program."""

from collections.abc import Callable
from pathlib import Path

import pytest
from own_counts import own_counts
from repeated_instructions import check
from support import profdiff

from profdiff.collectors.guest.qemu import Qemu
from profdiff.session.session import Session

pytestmark = pytest.mark.guest


def test_each_counts_once(
    qemu: Qemu, new_kernel: Path, tmp_path: Path, compile_c: Callable[..., Path]
) -> None:
    check(qemu, new_kernel, tmp_path, compile_c)


def test_reports_show_both_numbers(recorded: Path) -> None:
    session = Session.open(recorded)
    told = []
    for label in ("base", "new"):
        run = session.finished(label, "exact")[0]
        counts, beside = own_counts(session, run)
        assert counts.each_iteration is not None
        assert run.instructions
        assert run.instructions.beside == beside
        assert run.instructions.each_iteration == counts.each_iteration.sum()
        assert run.instructions.kernel + run.instructions.user == counts.count.sum()
        assert run.instructions.each_iteration > counts.count.sum()
        told.append(f"{run.instructions.each_iteration:,} ({label})")
    shown = " ".join(profdiff("report", recorded).stdout.split())
    assert f"with each iteration counted: {', '.join(told)}" in shown
