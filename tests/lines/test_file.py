"""The file of the lines collector: what is read, and what a stranger may have written."""

from pathlib import Path

import pytest
from extent import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from profdiff.base.errors import InputError, SessionError
from profdiff.collectors.architecture import ARCHITECTURES, X86_64
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.lines.counts import REGIONS, TYPED, LineCounts
from profdiff.collectors.registry import collector


def text(typed: int = 1) -> str:
    lines = [f"lines {region} {number}" for number, region in enumerate(REGIONS)]
    return "\n".join(["window 2 1 1 0", f"types {typed}", *lines, ""])


def test_what_is_written_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text(text())
    found = LineCounts.load(tmp_path / "file")
    assert (found.kind, found.opened, found.closed, found.misplaced) == ("marks", 1, 1, 0)
    assert found.lines == {region: number for number, region in enumerate(REGIONS)}


def test_a_kernel_that_tells_no_types_has_no_such_regions(tmp_path: Path) -> None:
    (tmp_path / "file").write_text(text(typed=0))
    assert REGIONS.keys() - LineCounts.load(tmp_path / "file").lines.keys() == {*TYPED}


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="cannot read"):
        LineCounts.load(tmp_path / "none")


def test_any_cut_is_an_error(tmp_path: Path) -> None:
    whole = text()
    for end in range(len(whole)):
        (tmp_path / "file").write_text(whole[:end])
        with pytest.raises(SessionError, match="cut short"):
            LineCounts.load(tmp_path / "file")


@settings(max_examples=examples(200), deadline=None)
@given(at=st.integers(0, len(text()) - 1), byte=st.binary(min_size=1, max_size=1))
def test_any_bytes_are_counts_or_an_error(
    tmp_path_factory: pytest.TempPathFactory, at: int, byte: bytes
) -> None:
    whole = text().encode()
    path = tmp_path_factory.mktemp("lines") / "file"
    path.write_bytes(whole[:at] + byte + whole[at + 1 :])
    try:
        found = LineCounts.load(path)
    except SessionError:
        return
    assert all(0 <= lines < 10**15 for lines in found.lines.values())


def test_what_cannot_be_recorded_is_said() -> None:
    lines = collector("lines")
    assert lines.refusal(X86_64) is None
    assert "cannot record a machine" in (lines.refusal(None) or "")
    others = [one for one in ARCHITECTURES if one is not X86_64]
    assert others and all("does not know the regions" in (lines.refusal(o) or "") for o in others)
    with pytest.raises(InputError, match="old has no debug ELF: name IMAGE,vmlinux=ELF"):
        lines.refuse([KernelFiles("old", "SPEC")], {}, None)
