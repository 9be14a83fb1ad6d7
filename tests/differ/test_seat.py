"""The seat of a change: the deepest function that holds at least half of it."""

from collections.abc import Sequence

import pytest
from synthetic import Row, compare, findings, frame

from profdiff.profile.comparison import Comparison
from profdiff.profile.seat import Seats
from profdiff.reports.text import session
from profdiff.topics.functions.selection import Selection
from profdiff.views.claims.answers import answers
from profdiff.views.claims.claim import claim
from profdiff.views.profile import Seat, seats, seats_by_label


def _row(names: str, *counts: int, kernel: bool = True, inlined: bool = False) -> Row:
    """What ran in the last of ``names``, each called (or inlined) by the one before."""
    words = names.split()
    owner = "vmlinux" if kernel else "work"
    frames = [frame(name, inlined=inlined and n > 0, owner=owner) for n, name in enumerate(words)]
    return frames, words[0], kernel, counts


ENTRY = "entry_SYSCALL_64 do_syscall_64"


def _spread(each: int) -> list[Row]:
    """``store`` calls forty functions, which execute as much each; ``copy`` calls three of them."""
    below = [f"{ENTRY} mmap store {'copy ' if n < 3 else ''}f{n}" for n in range(40)]
    return [_row(path, each + n) for n, path in enumerate(below)] + [_row(f"{ENTRY} mmap", 500)]


def _only(comparison: Comparison) -> Seat | None:
    (found,) = seats(comparison)
    return found


def test_a_change_that_spreads_has_one() -> None:
    """No function itself makes a twentieth of it."""
    comparison = compare({"base": _spread(100), "new": _spread(200)})
    found = _only(comparison)
    assert found is not None
    assert (found.name, found.delta, found.part, found.self_part) == ("store", 4000, 1.0, 0.0)
    assert [(one.name, one.delta) for one in found.below] == [("copy", 300)]
    told = "100% of the increase (+4,000) is in store and its callees (copy: 8%)"
    assert answers(comparison)[0].sentence.endswith(f"; {told}.")
    assert claim(findings([comparison])).more[0] == f"{told}."
    assert seats_by_label(comparison) == {"new": found}


def test_its_number_is_in_the_table() -> None:
    """Also where it has no instructions of its own, and others fill the table."""
    comparison = compare({"base": _spread(100), "new": _spread(200)})
    text = session.render(findings([comparison]), Selection(top=2), width=100)
    rows = [line.split() for line in text.splitlines()]
    shown = [row[-1] for row in rows if row[-2:-1] in (["+100"], ["+4,000"])]
    assert shown == ["f39", "f38", "store", "all"]


def test_self_counts_say_it_where_one_function_holds_half() -> None:
    comparison = compare(
        {
            "base": [_row(f"{ENTRY} mmap walk", 100), _row(f"{ENTRY} mmap", 100)],
            "new": [_row(f"{ENTRY} mmap walk", 190), _row(f"{ENTRY} mmap", 110)],
        }
    )
    found = _only(comparison)
    assert found is not None and found.name == "walk" and found.alone
    assert answers(comparison)[0].sentence.endswith("; 100% of the increase is in walk and mmap.")


@pytest.mark.parametrize(
    ("base", "new", "name"),
    [
        pytest.param(
            {"mmap a": 100, "mmap b": 100}, {"mmap a": 140, "mmap b": 160}, "b", id="larger"
        ),
        pytest.param(
            {"mmap a": 100, "mmap b": 100}, {"mmap a": 150, "mmap b": 150}, "a", id="tie: by name"
        ),
        pytest.param(
            {"mmap a": 100, "munmap a": 100, "read": 100},
            {"mmap a": 130, "munmap a": 130, "read": 140},
            "a",
            id="from several callers",
        ),
        pytest.param(
            {"mmap a": 100, "mmap b": 100, "mmap c": 100},
            {"mmap a": 300, "mmap b": 0, "mmap c": 110},
            "mmap",
            id="offset: a holds 182%, which explains nothing",
        ),
        pytest.param(
            {"mmap a": 100, "mmap b": 100},
            {"mmap a": 230, "mmap b": 70},
            "a",
            id="offset by less than a half",
        ),
        pytest.param(
            {"mmap old leaf": 1000, "mmap other": 100},
            {"mmap young leaf": 1060, "mmap other": 140},
            "leaf",
            id="a caller was renamed: neither is a change of 1,060",
        ),
        pytest.param(
            {"mmap old": 1000, "mmap other": 100},
            {"mmap young": 1060, "mmap other": 110},
            "mmap",
            id="a function was renamed",
        ),
        pytest.param(
            {"mmap toggle batch flush": 10, "mmap flush": 10, "mmap": 100},
            {"mmap toggle batch flush": 40, "mmap toggle batch": 25, "mmap flush": 45, "mmap": 100},
            "flush",
            id="batch is deeper and holds 61%, flush inside it and elsewhere 72%",
        ),
        pytest.param(
            {"mmap toggle batch flush": 10, "mmap flush": 10, "mmap": 100},
            {"mmap toggle batch flush": 15, "mmap toggle batch": 60, "mmap flush": 40, "mmap": 100},
            "batch",
            id="batch holds more than flush inside it",
        ),
        pytest.param(
            {"fault": 10, "fault copy walk": 10, "fault copy walk fault": 5},
            {"fault": 50, "fault copy walk": 60, "fault copy walk fault": 15},
            "walk",
            id="a caller that is called inside as well is not below",
        ),
        pytest.param({"mmap": 100}, {"mmap": 100, "mmap new deep": 50}, "deep", id="new"),
        pytest.param({"mmap": 100, "mmap gone": 50}, {"mmap": 100}, "gone", id="vanished"),
        pytest.param(
            {"mmap walk walk walk": 100, "mmap": 90},
            {"mmap walk walk walk": 200, "mmap": 140},
            "walk",
            id="recursive: once",
        ),
        pytest.param({"a": 30, "b": 30, "c": 30}, {"a": 50, "b": 50, "c": 50}, "", id="none"),
        pytest.param({"a": 30, "b": 30}, {"a": 40, "b": 20}, "", id="no change"),
    ],
)
def test_which_function_it_is(base: dict[str, int], new: dict[str, int], name: str) -> None:
    rows = {
        label: [_row(f"{ENTRY} {path}", count) for path, count in own.items()]
        for label, own in (("base", base), ("new", new))
    }
    found = _only(compare(dict(rows)))
    assert (found.name if found else "") == name
    # The other way round it is the same.
    back = _only(compare({"new": rows["new"], "base": rows["base"]}))
    assert (back.name if back else "") == name


def test_each_side_has_its_own() -> None:
    """What the kernel does for a program is none of the program's functions'."""

    def rows(user: int, kernel: int) -> list[Row]:
        return [
            _row("_start main loop", user, kernel=False),
            _row(f"{ENTRY} mmap", kernel),
            _row(f"{ENTRY} munmap", kernel),
        ]

    comparison = compare({"base": rows(100, 100), "new": rows(110, 150)})
    assert [one and one.name for one in seats(comparison, "user")] == ["loop"]
    found = Seats(comparison)
    assert found.seat(1) is None


def test_without_callers_there_is_none() -> None:
    """What inlines is no caller: self counts are named, as ever."""

    def rows(each: int) -> list[Row]:
        return [_row(f"mmap f{n}", each, inlined=True) for n in range(9)]

    comparison = compare({"base": rows(10), "new": rows(20)})
    assert seats(comparison) == [None]
    assert "33% of the increase is in" in answers(comparison)[0].sentence


def test_from_kernel_to_kernel() -> None:
    kernels: dict[str, Sequence[Row]] = {
        "base": [_row("mmap a", 10), _row("mmap b", 10), _row("read", 10)],
        "mid": [_row("mmap a", 90), _row("mmap b", 10), _row("read", 10)],
        "new": [_row("mmap a", 90), _row("mmap b", 30), _row("read", 10)],
    }
    comparison = compare(dict(kernels))
    found = Seats(comparison)
    step, whole = found.seat(2, since=1), found.seat(2)
    assert step and comparison.functions[step.function].name == "b" and step.delta == 20
    assert whole and comparison.functions[whole.function].name == "a" and whole.delta == 80


def test_half_of_a_small_change_among_large_ones_is_no_seat() -> None:
    """What others changed by offsets itself, and the seat's part is chance."""
    quiet = compare({"base": [_row(f"{ENTRY} walk", 100)], "new": [_row(f"{ENTRY} walk", 160)]})
    assert [one and one.name for one in seats(quiet)] == ["walk"]
    rows = {
        label: [_row(f"{ENTRY} walk", walk), _row(f"{ENTRY} {old}", 400)]
        for label, walk, old in (("base", 100, "charge"), ("new", 160, "account"))
    }
    assert seats(compare(rows)) == [None]


def test_a_function_under_a_new_name_is_no_seat() -> None:
    """``__alloc_pages`` became a wrapper of what has its code."""
    rows = {
        "base": [_row(f"{ENTRY} fault __alloc_pages", 100)],
        "new": [
            _row(f"{ENTRY} fault __alloc_frozen_pages", 130),
            _row(f"{ENTRY} fault __alloc_pages", 5),
            _row(f"{ENTRY} fault charge", 150),
        ],
    }
    (found,) = seats(compare(rows))
    assert found and found.name != "__alloc_frozen_pages"
