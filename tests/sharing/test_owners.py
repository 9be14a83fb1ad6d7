"""Whose lock, list or counter it is, where code has a pointer to that alone."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import made_sharing as made
import pytest
from made_accesses import LOAD, STORE, Layout, Site
from made_sharing import OPS, MadeLine, On
from synthetic import KERNEL_BASE

from profdiff.evidence.sharing import SharingRow, SharingTable
from profdiff.profile.sharing.names import Name
from profdiff.topics.sharing.measure import is_of

HEAP = 0xFFFF_8880_0100_0000
BOTH = frozenset({LOAD, STORE})
LOCK = "raw_lock.val.counter"
LAYOUTS: dict[str, Layout] = {
    "raw_spinlock": (4, {LOCK: (0, 4)}),
    "hand": (512, {f"lock.rlock.{LOCK}": (0, 4), "head.next": (16, 8), "number": (256, 8)}),
    "files": (512, {f"file_lock.rlock.{LOCK}": (64, 4), "next_fd": (72, 4), "fd": (80, 8)}),
    "zone": (1024, {f"lock.rlock.{LOCK}": (48, 4), "free": (56, 8)}),
    "memcg": (1024, {f"lru.lru_lock.rlock.{LOCK}": (80, 4), "lru.first": (64, 8), "id": (0, 8)}),
    "lru": (512, {f"lru_lock.rlock.{LOCK}": (16, 4), "first": (0, 8)}),
}
HAND, FILES, ZONE = (
    f"hand:lock.rlock.{LOCK}@0",
    f"files:file_lock.rlock.{LOCK}@64",
    f"zone:lock.rlock.{LOCK}@48",
)
UNKNOWN = "?"


def spin(*origins: str, function: str = "_raw_spin_lock") -> Site:
    """What takes locks, of which calls gave it some."""
    return Site(
        *(LOCK, 1, function),
        does=BOTH,
        type="raw_spinlock",
        nested=[f"qspinlock:{LOCK}"],
        origins=origins,
    )


def head(*origins: str) -> Site:
    """What looks at a list, of which nothing else is known."""
    return Site("", 1, "wake_up", does=BOTH).hidden()._replace(origins=origins)


def both(site: Site, offset: int, *, store: bool = True) -> list[On]:
    return [On(site, vcpu, offset, store=store, size=4) for vcpu in (0, 1)]


def rows(lines: Sequence[MadeLine], folder: Path, **more: object) -> dict[str, SharingRow]:
    """Of one kernel, by their names with all that they may be."""
    found = made.table({"base": lines}, folder, LAYOUTS, **more)  # type: ignore[arg-type]
    return by_name(found)


def by_name(found: SharingTable) -> dict[str, SharingRow]:
    return {" | ".join((one.name.title, *one.name.among)): one for one in found.rows()}


def test_the_only_object_that_fits_has_the_name(tmp_path: Path) -> None:
    assert set(rows([MadeLine(HEAP, both(spin(HAND), 8))], tmp_path)) == {"hand.lock"}
    # One that would begin at an address at which none does.
    assert set(rows([MadeLine(HEAP, both(spin(HAND, FILES), 4))], tmp_path)) == {"raw_spinlock"}
    # Another access on the line is of one of them.
    lines = [
        MadeLine(
            HEAP,
            [*both(spin(HAND, FILES, ZONE), 8), *both(head("hand:head.next@16"), 24, store=False)],
        )
    ]
    assert set(rows(lines, tmp_path)) == {"hand.lock"}
    fd = Site("fd", 1, "fget", type="files", offset=80)
    lines = [MadeLine(HEAP, [*both(spin(HAND, FILES), 0), On(fd, 0, 16, count=1)])]
    assert set(rows(lines, tmp_path)) == {"files.file_lock"}


def test_what_several_functions_agree_in_has_the_name(tmp_path: Path) -> None:
    unlock = spin(FILES, ZONE, function="_raw_spin_unlock")
    lines = [MadeLine(HEAP, [*both(spin(HAND, FILES), 8), *both(unlock, 8)])]
    assert set(rows(lines, tmp_path)) == {"files.file_lock"}


def test_what_may_be_of_several_says_so(tmp_path: Path) -> None:
    lines = [MadeLine(HEAP, both(spin(HAND, FILES), 8))]
    (row,) = rows(lines, tmp_path).values()
    assert (row.name.title, row.name.among) == ("files.file_lock", ("hand.lock",))
    assert row.alternatives == ["hand.lock"]
    # A condition on one of them does not count it.
    assert not is_of(row.name, "files.file_lock")


@pytest.mark.parametrize("lines", [0, 9])
def test_calls_that_are_not_known_leave_a_doubt(tmp_path: Path, lines: int) -> None:
    on = both(spin(HAND, UNKNOWN), 8)
    found = rows([MadeLine(HEAP, on, lines=lines)], tmp_path)
    assert set(found) == {"hand.lock | raw_spinlock"}
    # Of data of which nothing else is known there is no name.
    found = rows([MadeLine(HEAP, both(head("hand:number@256", UNKNOWN), 8), lines=lines)], tmp_path)
    assert set(found) == {""} and found[""].name.kind == "unnamed"


def test_summed_lines_have_all_that_calls_say(tmp_path: Path) -> None:
    found = rows([MadeLine(0, both(spin(HAND), 8), lines=9)], tmp_path)
    assert set(found) == {"hand.lock"}
    found = rows([MadeLine(0, both(spin(HAND, FILES), 8), lines=9)], tmp_path)
    assert set(found) == {"files.file_lock | hand.lock"}


def test_two_members_of_one_object_leave_none(tmp_path: Path) -> None:
    """No other call explains both."""
    on = [*both(spin(HAND, UNKNOWN), 8), *both(head("hand:head.next@16", UNKNOWN), 24, store=False)]
    assert set(rows([MadeLine(HEAP, on)], tmp_path)) == {"hand.lock"}


def test_an_object_that_is_known_by_another_line_is_there(tmp_path: Path) -> None:
    number = Site("number", 1, "count", does=BOTH, type="hand", offset=256)
    lines = [
        MadeLine(HEAP, both(spin(HAND, FILES, UNKNOWN), 8)),
        MadeLine(HEAP + 256, both(number, 8)),
    ]
    assert set(rows(lines, tmp_path)) == {"hand.lock", "hand.number"}


def test_records_within_others_have_their_own_name(tmp_path: Path) -> None:
    """Some calls are given a pointer to the inner one."""
    inner, outer = f"lru:lru_lock.rlock.{LOCK}@16", f"memcg:lru.lru_lock.rlock.{LOCK}@80"
    unlock = spin(inner, function="_raw_spin_unlock")
    lines = [MadeLine(HEAP, [*both(spin(outer), 16), *both(unlock, 16)])]
    assert set(rows(lines, tmp_path)) == {"lru.lru_lock"}


def test_alignment_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def declared(_: object) -> Iterator[tuple[str, int]]:
        yield "hand", 64

    monkeypatch.setattr("profdiff.profile.sharing.records._declared", declared)
    lines = [MadeLine(HEAP, both(spin(HAND, ZONE), 48))]
    assert set(rows(lines, tmp_path)) == {"zone.lock"}


def test_variables_have_their_place(tmp_path: Path) -> None:
    start = KERNEL_BASE + 0x200_0000
    variables = {"table_lock": (".data", start, 4), "jiffies": (".data", start + 64, 8)}
    jiffies = Site("", 1, "do_timer", does=BOTH, kind="global", type="long", symbol="jiffies")
    site = spin("table_lock+0", HAND)
    lines = [
        MadeLine(start, both(site, 0)),
        MadeLine(start + 64, both(jiffies, 0)),
        # No variable is there.
        MadeLine(HEAP, both(site, 8)),
    ]
    assert set(rows(lines, tmp_path, variables=variables)) == {"table_lock", "jiffies", "hand.lock"}


def test_what_is_known_by_the_whole_object_stays(tmp_path: Path) -> None:
    """A wrong call does not change what instructions say."""
    number = Site("number", 1, "count", does=BOTH, type="hand", offset=256)
    lines = [MadeLine(HEAP, [*both(number, 8), *both(number, 8), *both(spin(ZONE), 16)])]
    found = rows(lines, tmp_path)
    assert "hand.number" in found


def test_a_strangers_text_is_no_place(tmp_path: Path) -> None:
    for text in ("hand", "hand:lock", "hand:lock@", "@", "+", ":@1", "hand:lock@1e3", "x+y"):
        assert set(rows([MadeLine(HEAP, both(spin(text), 8))], tmp_path)) == {"raw_spinlock"}, text


def test_a_difference_has_what_may_be_the_same(tmp_path: Path) -> None:
    sure, either = MadeLine(HEAP, both(spin(HAND), 8)), MadeLine(HEAP, both(spin(HAND, FILES), 8))
    other = MadeLine(HEAP, both(spin(ZONE), 8))
    for new, is_sure in (([sure, sure], True), ([either], False), ([other], True)):
        found = by_name(made.table({"base": [sure], "new": new}, tmp_path, LAYOUTS))
        (change,) = found["hand.lock"].changes
        assert change.sure == is_sure
    assert Name("field", "a", path="b").may_be(Name("field", "a", path="b")) is False
    assert OPS
