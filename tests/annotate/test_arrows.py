"""The arrows beside a listing lead from every jump to its end."""

from hypothesis import given
from hypothesis import strategies as st

from profdiff.reports.annotation.columns import Gutter, Jump, gutter, jumps

# Where a line leaves a cell: up, down, left, right.
_EXITS = {
    " ": "",
    "│": "ud",
    "─": "lr",
    "╭": "dr",
    "╰": "ur",
    "├": "udr",
    "┼": "udlr",
    "┬": "dlr",
    "┴": "ulr",
    "▶": "lr",
}
_STEPS = {"u": (-1, 0, "d"), "d": (1, 0, "u"), "l": (0, -1, "r"), "r": (0, 1, "l")}
_LINES = 24
_jumps = st.lists(
    st.tuples(st.integers(0, _LINES - 1), st.integers(0, _LINES - 1)),
    unique_by=lambda one: one[0],
    max_size=12,
).map(lambda found: [Jump(*one) for one in found])


def reached(drawn: Gutter, line: int) -> set[int]:
    """The lines whose code a pen reaches from that of ``line``, without leaving the drawn ones."""
    cells = drawn.cells
    last = len(cells[0]) - 2
    waiting, seen = [(line, last)], set()
    while waiting:
        at = waiting.pop()
        if at in seen:
            continue
        seen.add(at)
        for way in _EXITS[cells[at[0]][at[1]]]:
            down, right, back = _STEPS[way]
            row, column = at[0] + down, at[1] + right
            inside = 0 <= row < len(cells) and 0 <= column <= last
            if inside and back in _EXITS[cells[row][column]]:
                waiting.append((row, column))
    return {row for row, column in seen if column == last}


@given(_jumps, st.integers(1, 5))
def test_each_jump_leads_to_its_end(found: list[Jump], tracks: int) -> None:
    drawn = gutter(_LINES, found, tracks)
    assert len(drawn.cells) == _LINES
    assert len(set(map(len, drawn.cells))) == 1
    connected = [jump for jump in found if any(drawn.cells) and jump.end in reached(drawn, jump[0])]
    assert len(connected) >= len(found) - drawn.left_out
    if any(drawn.cells):
        heads = {line for line, text in enumerate(drawn.cells) if text[-2] == "▶"}
        touched = {line for line, text in enumerate(drawn.cells) if text[-2] != " "}
        assert heads <= {jump.end for jump in found}
        assert touched <= {line for jump in found for line in jump}
        if not drawn.left_out:
            assert heads == {jump.end for jump in found}
            assert touched == {line for jump in found for line in jump}
        assert all(len(text) <= tracks + 2 for text in drawn.cells)


@given(_jumps)
def test_with_room_for_all_none_is_left_out(found: list[Jump]) -> None:
    assert gutter(_LINES, found, len(found) + 1).left_out == 0


@given(_jumps, st.integers(1, 5))
def test_ascii_has_the_same_shape(found: list[Jump], tracks: int) -> None:
    drawn, plain = gutter(_LINES, found, tracks), gutter(_LINES, found, tracks, ascii_only=True)
    assert "".join(plain.cells).isascii()
    blank = [[character == " " for character in cell] for cell in drawn.cells]
    assert [[character == " " for character in cell] for cell in plain.cells] == blank


def test_a_loop_with_a_way_out() -> None:
    drawn = gutter(6, [Jump(1, 5), Jump(4, 0), Jump(3, 0)], 5)
    assert drawn.cells == [" ╭▶ ", "╭┼─ ", "││  ", "│├─ ", "│╰─ ", "╰─▶ "]
    assert gutter(6, [], 5).cells == [""] * 6


def test_jumps_are_found_by_kernel() -> None:
    """Code that both have is at other addresses; the newest kernel's jump counts."""
    addresses = [{"a": "0x10", "b": "0x20"}, {"b": "0x24"}, {"a": "0x14", "b": "0x28"}]
    targets = [{"a": "0x14", "b": "0x24"}, {"b": "0x999"}, {"a": "0x10"}]
    assert jumps(addresses, targets, ["a", "b"]) == [Jump(0, 1), Jump(2, 0)]
    assert jumps(addresses, targets, ["a"]) == [Jump(0, 2), Jump(2, 0)]
