"""The file of shared lines: what is read, and what a stranger may have written."""

import struct
from pathlib import Path

import made_sharing as made
import numpy as np
import pytest
from extent import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from made_accesses import STORE, Site
from made_sharing import Hold, MadeLine, On

from profdiff.base.errors import SessionError
from profdiff.collectors.sharing.lines import SharedLines

_SITE = Site("f", 1, does=frozenset({STORE}))
_LINES = [
    MadeLine(
        0xFFFF_8880_0000_1040,
        [On(_SITE, vcpu, 8, store=True) for vcpu in (0, 1)],
        holds=[Hold(_SITE, _SITE, None, 8, 9, 99)],
    ),
    MadeLine(0, [On(_SITE, 0, 0, store=True, misses=3)], transfers=7, lines=12),
    MadeLine(0x7F00_0000_0000, [On(_SITE, 1, 60, size=4, locked=True)], user=True),
]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(made.encoded(_LINES, ops=51))
    found = SharedLines.load(tmp_path / "file")
    assert (found.kind, found.ops_by, found.line_size) == ("marks", "marks", 64)
    assert found.ops.tolist() == [26, 25] and found.all_ops == 51
    assert found.line.tolist() == [one.address for one in _LINES]
    assert found.lines.tolist() == [1, 12, 1]
    assert found.summed.tolist() == [False, True, False]
    assert found.in_user.tolist() == [False, False, True]
    assert found.user.tolist() == [0, 0, 0x7F00_0000_0000]
    assert found.access_line.tolist() == [0, 0, 1, 2]
    assert found.locked.tolist() == [False, False, False, True]
    assert found.misses.sum() == 3
    assert found.instructions.tolist() == [5000, 5000]
    assert (found.hold_line.tolist(), found.hold_call.tolist()) == ([0], [-1])
    assert (found.hold_times.tolist(), found.hold_instructions.tolist()) == ([9], [99])


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="cannot read"):
        SharedLines.load(tmp_path / "none")


def test_any_cut_is_an_error(tmp_path: Path) -> None:
    whole = made.encoded(_LINES)
    for end in range(0, len(whole), 7):
        (tmp_path / "file").write_bytes(whole[:end])
        with pytest.raises(SessionError):
            SharedLines.load(tmp_path / "file")


@settings(max_examples=examples(400), deadline=None)
@given(changes=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=6))
def test_only_session_errors_come_of_other_bytes(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]]
) -> None:
    """And what is read is consistent enough to be summed."""
    data = bytearray(made.encoded(_LINES))
    for at, value in changes:
        data[at % len(data)] = value
    path = tmp_path_factory.mktemp("mutated") / "file"
    path.write_bytes(data)
    try:
        found = SharedLines.load(path)
    except SessionError:
        return
    assert (found.access_offset + found.access_size <= found.line_size).all()
    made.of_lines(found, _LINES)


def test_counts_that_would_overflow_are_refused(tmp_path: Path) -> None:
    data = bytearray(made.encoded(_LINES))
    # The operations of the first vCPU.
    struct.pack_into("<Q", data, 24 + 72, 2**63)
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(SessionError, match="impossible counts"):
        SharedLines.load(tmp_path / "file")


def test_the_columns_have_the_documented_size(tmp_path: Path) -> None:
    sizes = len(made.encoded([])) - len(made.encoded([], vcpus=1))
    assert sizes == 2 * np.dtype("<u8").itemsize
