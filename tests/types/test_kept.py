"""What a session keeps of accesses: with the kernels that ran, in merged sessions, and moved."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_accesses import Layout, Site, accesses
from msgspec.structs import replace
from support import profdiff

from profdiff.base.errors import SessionError
from profdiff.evidence.findings import LazyFindings
from profdiff.profile.code.classes import instruction_classes
from profdiff.profile.data.table import DataTable
from profdiff.session.session import Session
from profdiff.symbolization.data_accesses import DataAccesses
from profdiff.symbolization.joined import joined_accesses

LAYOUTS: dict[str, Layout] = {
    "thing": (40, {"a": (0, 8), "b": (8, 8)}),
    "inner": (8, {"e": (0, 8)}),
    "third": (16, {"x": (0, 4), "y": (4, 4)}),
}


def told(one: DataAccesses) -> tuple[list[object], ...]:
    """The rows of each of its tables, with their texts."""
    texts = {
        name: [one.strings[row] for row in getattr(one, name).tolist()]
        for name in DataAccesses.TEXTS
    }

    def column(name: str) -> Sequence[object]:
        if name == "field_type":
            return [texts["layout_type"][row] for row in one.field_type.tolist()]
        return texts.get(name) or getattr(one, name).tolist()

    return tuple(
        list(zip(*(column(name) for name in names), strict=True))
        for names in DataAccesses.GROUPS.values()
    )


def part(whole: DataAccesses, wanted: Sequence[bool], types: Sequence[bool]) -> DataAccesses:
    """Some of its accesses and types, and with other strings."""
    rows, kinds = np.array(wanted, np.bool_), np.array(types, np.bool_)
    made = {name: getattr(whole, name)[rows] for name in DataAccesses.GROUPS["address"]}
    made |= {name: getattr(whole, name)[kinds] for name in DataAccesses.GROUPS["layout_type"]}
    theirs = kinds[whole.field_type]
    made |= {name: getattr(whole, name)[theirs] for name in DataAccesses.GROUPS["field_type"]}
    number = np.cumsum(kinds, dtype=np.uint32) - np.uint32(1)
    made["field_type"] = number[whole.field_type[theirs]]
    strings = ["", *reversed(whole.strings[1:])]
    for name in DataAccesses.TEXTS:
        own = made.get(name, getattr(whole, name))
        moved = np.array([strings.index(text) for text in whole.strings], np.uint32)
        made[name] = moved[own]
    return replace(whole, strings=strings, **made)


PARTS = st.lists(st.lists(st.booleans(), min_size=12, max_size=12), min_size=1, max_size=4)
KINDS = st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=4, max_size=4)


@given(PARTS, KINDS)
def test_what_several_recordings_kept_is_joined(
    parts: list[list[bool]], types: list[list[bool]]
) -> None:
    sites = [Site(path, 1, type=of) for path in "abcd" for of in LAYOUTS]
    whole = accesses(sites, LAYOUTS)
    shards = [part(whole, wanted, kinds) for wanted, kinds in zip(parts, types, strict=False)]
    joined = joined_accesses(shards)
    some = np.array(parts).any(axis=0)
    kinds = np.array(types[: len(parts)]).any(axis=0)
    wanted = told(part(whole, some.tolist(), kinds.tolist()))
    found = told(joined)
    assert found[0] == wanted[0]
    for one, other in zip(found[1:], wanted[1:], strict=True):
        assert sorted(map(str, one)) == sorted(map(str, other))


def test_a_variable_is_accessed_if_one_recording_accessed_it() -> None:
    base = accesses([Site("a", 1)], {})

    def one(accessed: int) -> DataAccesses:
        columns = {
            "global_name": np.array([1], np.uint32),
            "global_section": np.array([2], np.uint32),
            "global_address": np.array([64], np.uint64),
            "global_size": np.array([8], np.uint32),
            "global_accessed": np.array([accessed], np.uint8),
        }
        return replace(base, **columns)  # type: ignore[arg-type]

    joined = joined_accesses([one(0), one(1), one(0)])
    assert joined.global_accessed.tolist() == [1]
    assert joined.__struct_fields__ == base.__struct_fields__


def test_what_calls_gave_is_joined() -> None:
    """Each recording knows the calls that it executed."""

    def one(*origins: Sequence[str]) -> DataAccesses:
        return accesses([Site("a", 1, origins=texts) for texts in origins], {})

    def joined(*every: DataAccesses) -> list[str]:
        found = joined_accesses(every)
        return [found.strings[row] for row in found.origins.tolist()]

    assert joined(one(["b:l@8"], []), one(["a:l@0"], [])) == ["a:l@0|b:l@8", ""]
    assert joined(one(["b:l@8", "?"]), one(["a:l@0"])) == ["a:l@0|b:l@8|?"]
    # A recording without a call that is known.
    assert joined(one([]), one(["a:l@0"])) == ["a:l@0|?"]
    many = [f"t{number:02}:l@0" for number in range(40)]
    assert joined(one(many[:20]), one(many[20:])) == ["|".join([*many[:32], "?"])]


def test_a_file_without_a_column_is_damaged(tmp_path: Path) -> None:
    found = accesses([Site("a", 1, origins=["b:l@8"])], LAYOUTS)
    found.save(tmp_path / "new.npz")
    assert told(DataAccesses.load(tmp_path / "new.npz")) == told(found)
    with np.load(tmp_path / "new.npz") as file:
        columns = {name: file[name] for name in file if name != "origins"}
    np.savez(tmp_path / "damaged.npz", **columns)
    with pytest.raises(SessionError, match="damaged"):
        DataAccesses.load(tmp_path / "damaged.npz")


@pytest.mark.guest
def test_every_load_and_store_that_executed_is_in_a_row(recorded: Path, tmp_path: Path) -> None:
    """As many as there are of these classes of instructions; and what is kept is enough."""
    session = Session.open(recorded)
    for kernel in session.manifest.kernels:
        assert kernel.accesses
        assert (recorded / kernel.accesses).stat().st_size < 1_000_000
    comparison = LazyFindings.of(session).findings.comparisons[0]
    classes = instruction_classes(comparison)
    assert classes
    rows = DataTable.of(comparison, session).rows()
    for name, store in (("loads", False), ("stores", True)):
        executed = classes.counts[classes.rows("kernel"), classes.names.index(name)].sum(axis=0)
        of = [row.counts for row in rows if row.store == store]
        assert [sum(one) for one in zip(*of, strict=True)] == executed.tolist()
    assert not [row for row in rows if row.reason == "not-covered"]
    said = profdiff("report", recorded, "--types").stdout
    moved = tmp_path / "moved.profdiff"
    shutil.copytree(recorded, moved)
    gone = [msgspec.structs.replace(k, debug_elf="/nowhere") for k in session.manifest.kernels]
    Session.open(moved).save(msgspec.structs.replace(session.manifest, kernels=gone))
    assert profdiff("report", moved, "--types").stdout == said
    for kernel in session.manifest.kernels:
        assert kernel.accesses
        (moved / kernel.accesses).unlink()
    assert "its debug ELF is gone" in profdiff("report", moved, "--types", status=2).stderr
    Session.open(moved).save(session.manifest)
    assert profdiff("report", moved, "--types").stdout == said
